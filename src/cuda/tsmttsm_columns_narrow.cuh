#pragma once

#include <cstdint>

#include "src/cuda/scalar.cuh"
#include "src/cuda/tsmttsm_columns_narrow.hpp"

/// What the kernel of tsmttsm_columns_narrow.cu takes.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmNarrow {
  const Real* a;
  const Real* b;
  std::int64_t k;
  std::int64_t distance_a, distance_b;  ///< from column to column, in scalars
  double sign;                          ///< of A's imaginary parts
  Coefficient<Real> alpha;
  double* partial;  ///< [block][real view of the result]
};

}  // namespace blockvec::kernels::cuda
