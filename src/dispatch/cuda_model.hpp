#pragma once

#include <algorithm>
#include <vector>

#include "src/dispatch/cuda_configuration.hpp"
#include "src/tuning/rows.hpp"

/// What a configuration takes: the slowest of memory and multiprocessors, once they run, after a start.
/// Bandwidths are those that plain kernels reach; clocks of a multiprocessor are counted by each kind of kernel.
namespace blockvec::kernels::dispatch {

/// What a kind of kernel knows about one of its configurations.
struct CudaWork {
  double bytes;            ///< that cross the memory's interface
  double bandwidth;        ///< that they can have
  double product_clocks;   ///< of the multiprocessor that has most to do: tensor cores, or FMA
  double shared_clocks;    ///< and its reads from shared memory
  double overlap;          ///< part of the shorter one of both that hides behind the longer one
  double parts;            ///< multiprocessors that work
  double bytes_in_flight;  ///< that each of them asks for ahead
  double launches;         ///< kernels, and fills of memory
  double waits;            ///< for memory, one after the other, that nothing hides
  bool tensor_cores;
};

inline constexpr double launch_seconds = 2.0e-6;
inline constexpr double memory_latency = 0.8e-6;

inline CudaPrediction predict(const CudaDevice& device, const CudaWork& work) {
  const double in_flight = std::min(work.bytes, work.parts * work.bytes_in_flight);
  const double flow = std::min(work.bandwidth, in_flight / memory_latency);
  const double memory = work.bytes / flow;
  const double longer = std::max(work.product_clocks, work.shared_clocks);
  const double shorter = std::min(work.product_clocks, work.shared_clocks);
  const double busy = (longer + (1 - work.overlap) * shorter) / device.clock;
  const double start = work.launches * launch_seconds + work.waits * memory_latency;
  CudaBound bound = CudaBound::memory;
  if (busy > memory) {
    bound = work.shared_clocks > work.product_clocks ? CudaBound::shared_memory
            : work.tensor_cores                      ? CudaBound::tensor_cores
                                                     : CudaBound::arithmetic;
  }
  if (start > std::max(memory, busy)) bound = CudaBound::latency;
  return {start + std::max(memory, busy), bound, busy};
}

/// The less the better. Where memory takes as long, so do fewer clocks: they cost power, and with it the clock itself.
inline double cost(const CudaPrediction& prediction) { return prediction.seconds + 0.05 * prediction.busy_seconds; }

/// The candidate of the least cost, the first one of equals.
template <class Problem, class Configuration>
CudaChoice<Configuration> best_candidate(const CudaDevice& device, const Problem& problem,
                                         const std::vector<Configuration>& candidates) {
  CudaChoice<Configuration> best{};
  bool first = true;
  for (const Configuration& c : candidates) {
    const CudaPrediction prediction = predict(device, problem, c);
    if (!first && cost(prediction) >= cost(best.prediction)) continue;
    best = {c, prediction, {}};
    first = false;
  }
  return best;
}

/// What a call runs: the measured row that covers it, else the best of what collect(found) finds.
template <class Configuration, class Problem, class Collect>
CudaChoice<Configuration> row_or_best(const CudaDevice& device, const Problem& problem, Collect&& collect) {
  Configuration measured{};
  if (const tuning::Row* const row = tuning::find(device, problem, measured)) {
    return {measured, predict(device, problem, measured), row->place};
  }
  thread_local std::vector<Configuration> found;  // kept: a call allocates nothing once it is warm
  found.clear();
  collect(found);
  return best_candidate(device, problem, found);
}

}  // namespace blockvec::kernels::dispatch
