#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <cstdint>
#include <type_traits>

#include "src/dispatch/cuda_configuration.hpp"

/// Products of a caller's matrices as the configuration sees them: in real numbers.
namespace blockvec::kernels::dispatch {

template <class T>
inline constexpr int parts = std::is_floating_point_v<T> ? 1 : 2;
template <class T>
inline constexpr int real_bytes = static_cast<int>(sizeof(T)) / parts<T>;

template <class T>
CudaTsmttsmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b) {
  const bool same = a.data == b.data && a.ld == b.ld && a.columns == b.columns;
  return {a.rows,          parts<T> * a.columns, parts<T> * b.columns,          parts<T> * a.ld,
          parts<T> * b.ld, real_bytes<T>,        a.layout == Layout::row_major, same};
}

template <class T>
CudaTsmmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b, bool reads_output) {
  return {a.rows,        parts<T> * a.columns,          parts<T> * b.columns, parts<T> * a.ld, parts<T> * b.ld,
          real_bytes<T>, a.layout == Layout::row_major, a.data == b.data,     reads_output,
          parts<T>,      reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0,
          false,         reinterpret_cast<std::uintptr_t>(b.data) % 32 == 0};
}

}  // namespace blockvec::kernels::dispatch
