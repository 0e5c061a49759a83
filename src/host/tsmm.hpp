#pragma once

#include <blockvec/kernels/tall_skinny.hpp>
#include <cstdint>

#include "src/dispatch/host/configuration.hpp"
#include "src/host/real.hpp"

namespace blockvec::kernels::host {

/// B = alpha A C + beta B for operands that have been checked, K and N not zero (alpha or M may be), and scratch of
/// configuration.workspace_bytes less its alignment. B may be A's first columns.
template <class T>
void tsmm(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b, Triangle triangle,
          const dispatch::TsmmConfiguration& configuration, real_t<T>* scratch);

}  // namespace blockvec::kernels::host
