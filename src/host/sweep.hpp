#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/dispatch/host/configuration.hpp"
#include "src/host/real.hpp"

namespace blockvec::kernels::host {

/// The operands of gram_schmidt_sweep (tall_skinny.hpp), checked. Steps whose small matrix has no columns are left out.
template <class T>
struct Sweep {
  std::span<const Matrix<const T>> v;
  Matrix<const T> s;
  Matrix<T> w;
  Matrix<const T> x;
  Triangle triangle;
  Matrix<T> p, g;
};

/// K and N not zero, and scratch of configuration.workspace_bytes less its alignment.
template <class T>
void gram_schmidt_sweep(const Sweep<T>& sweep, const dispatch::SweepConfiguration& configuration, real_t<T>* scratch);

}  // namespace blockvec::kernels::host
