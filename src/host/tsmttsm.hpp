#pragma once

#include <blockvec/kernels/tall_skinny.hpp>
#include <cstdint>

#include "src/dispatch/host/configuration.hpp"
#include "src/host/real.hpp"

namespace blockvec::kernels::host {

/// C = alpha A^op B + beta C for operands that have been checked, with alpha != 0, none of K, M, N zero, and scratch of
/// configuration.workspace_bytes less its alignment.
template <class T>
void tsmttsm(Op op, T alpha, const Matrix<const T>& a, const Matrix<const T>& b, T beta, const Matrix<T>& c,
             const dispatch::TsmttsmConfiguration& configuration, int threads, real_t<T>* scratch);

}  // namespace blockvec::kernels::host
