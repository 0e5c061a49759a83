#pragma once

#include <cstdint>

#include "src/cuda/operands/matrix.cuh"

namespace blockvec::kernels::cuda {

/// What tsmm's kernels have in common whose blocks share out chunks of rows.
template <class Real>
struct TsmmTask {
  Small<Real> small;  ///< C
  Coefficient<Real> alpha, beta;
  unsigned* tickets;  ///< zero at the start
  std::uint32_t chunks;
  std::uint32_t chunks_per_ticket;
};

}  // namespace blockvec::kernels::cuda
