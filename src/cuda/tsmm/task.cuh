#pragma once

#include <cstdint>

#include "src/cuda/operands/matrix.cuh"

namespace blockvec::kernels::cuda {

/// What all tsmm kernels share whose blocks take row tiles (chunks) from a ticket.
template <class Real>
struct TsmmTask {
  Small<Real> small;  ///< the operand C
  Coefficient<Real> alpha, beta;
  unsigned* tickets;  ///< counter of the tile scheduler: the number of the next ticket; zero at the start
  std::uint32_t chunks;
  /// A ticket stands for this many consecutive chunks.
  std::uint32_t chunks_per_ticket;
};

}  // namespace blockvec::kernels::cuda
