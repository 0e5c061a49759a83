#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// Candidates of tsmttsm that a multistage pipeline (ring of stages) in shared memory feeds.
namespace blockvec::kernels::dispatch {

/// The most entries of a block's partial sum if several narrow rows are taken as one.
inline constexpr std::int64_t most_folded_sums = 16 * 16;

/// The work of a configuration, for the model.
CudaWork ring_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const RingTsmttsm& c);

}  // namespace blockvec::kernels::dispatch
