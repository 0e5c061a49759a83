#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <cstdint>
#include <type_traits>

#include "src/dispatch/cuda/configuration.hpp"

/// A caller's product as a problem, which counts real numbers.
namespace blockvec::kernels::dispatch {

template <class T>
inline constexpr int parts = std::is_floating_point_v<T> ? 1 : 2;
template <class T>
inline constexpr int real_bytes = static_cast<int>(sizeof(T)) / parts<T>;

/// Makes single columns row-major, because the kernels for rows serve them best.
template <class T>
void prefer_rows(Matrix<const T>& a, Matrix<const T>& b) {
  if (a.layout == Layout::row_major || a.columns != 1 || b.columns != 1) return;
  a = {a.data, a.rows, 1, 1, Layout::row_major};
  b = {b.data, b.rows, 1, 1, Layout::row_major};
}

/// Whether the operands of tsmttsm are one, so that the product is a Gram matrix.
template <class T>
bool are_same(const Matrix<const T>& a, const Matrix<const T>& b) {
  return a.data == b.data && a.ld == b.ld && a.columns == b.columns;
}

template <class T>
CudaTsmttsmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b) {
  const auto beyond = [](const Matrix<const T>& x) { return reinterpret_cast<std::uintptr_t>(x.data) % 16; };
  const bool columns = a.layout == Layout::column_major && std::is_same_v<T, double>;
  return {a.rows,
          parts<T> * a.columns,
          parts<T> * b.columns,
          parts<T> * a.ld,
          parts<T> * b.ld,
          real_bytes<T>,
          a.layout == Layout::row_major,
          are_same(a, b),
          parts<T>,
          (beyond(a) | beyond(b)) == 0,
          true,
          columns && a.ld % 2 == 0 && b.ld % 2 == 0 && beyond(a) == 8 && beyond(b) == 8};
}

template <class T>
CudaTsmmProblem problem_of(const Matrix<const T>& a, const Matrix<const T>& b, bool reads_output) {
  const auto address = [](const Matrix<const T>& x) { return reinterpret_cast<std::uintptr_t>(x.data); };
  constexpr bool whole = sizeof(T) == 16;  // entries of B have 16 bytes, which may be misaligned as well
  return {a.rows,
          parts<T> * a.columns,
          parts<T> * b.columns,
          parts<T> * a.ld,
          parts<T> * b.ld,
          real_bytes<T>,
          a.layout == Layout::row_major,
          a.data == b.data,
          reads_output,
          parts<T>,
          (address(a) | (whole ? address(b) : 0)) % 16 == 0,
          false,
          address(b) % 32 == 0};
}

}  // namespace blockvec::kernels::dispatch
