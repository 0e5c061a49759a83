#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/tuning/rows.hpp"

/// The time of a configuration: a start, and then the slower of memory and multiprocessors.
/// Bandwidths are those that plain kernels reach. Each kind of kernel counts the clocks of a multiprocessor.
namespace blockvec::kernels::dispatch {

/// What a kind of kernel tells the model about one of its configurations.
struct CudaWork {
  double bytes;            ///< bytes that cross the memory's interface
  double bandwidth;        ///< bytes/s that they can reach
  double product_clocks;   ///< products on the busiest multiprocessor, were it one of an H200
  double shared_clocks;    ///< reads from shared memory on that multiprocessor
  double overlap;          ///< part of the shorter of both times that hides behind the longer
  double multiprocessors;  ///< that have work
  double bytes_in_flight;  ///< bytes that each of them has on their way
  double launches;         ///< kernels, and fills of memory
  double waits;            ///< waits for memory, one after the other, that nothing hides
  CudaProducts products;   ///< their kind
};

/// The start of a tsmm kernel's work: it moves A and B, and reaches this share of the bandwidth of copies.
inline CudaWork tsmm_work(const CudaDevice& device, const CudaTsmmProblem& p, const TsmmCommon& c, double share,
                          int launches = 2) {
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = share * device.copy_bandwidth;
  work.multiprocessors = static_cast<double>(std::min<std::int64_t>(c.blocks, device.multiprocessors));
  work.launches = launches;
  work.waits = 2;
  return work;
}

/// The rows that the busiest block of tsmm computes. Row tiles (chunks) share `overlap` rows with the ones before them.
inline double rows_of_block(const CudaTsmmProblem& p, const TsmmCommon& c, int overlap = 0) {
  return static_cast<double>(ceil_div(ceil_div(p.k, c.rows - overlap), c.blocks) * c.rows);
}

/// Adds the clocks of tsmm's products by 3xTF32, for `columns` columns of scalars. 3xTF32 makes three products on
/// tensor cores, which multiply 1024 numbers per clock. A complex product takes four real ones. Tensor cores read C
/// again for every 64 rows.
inline void add_tf32_clocks(CudaWork& work, const CudaTsmmProblem& p, double rows, int columns) {
  const double products = rows * static_cast<double>(round_up(p.m, 16)) * columns * (p.parts == 2 ? 6 : 3);
  work.product_clocks = products / 1024;
  work.shared_clocks += products / 2048;
  work.products = CudaProducts::tf32_tensor;
}

inline constexpr double launch_seconds = 2.0e-6;
inline constexpr double memory_latency = 0.8e-6;

inline CudaPrediction predict(const CudaDevice& device, const CudaWork& work) {
  const double in_flight = std::min(work.bytes, work.multiprocessors * work.bytes_in_flight);
  const double flow = std::min(work.bandwidth, in_flight / memory_latency);
  const double memory = work.bytes / flow;
  const auto kind = static_cast<std::size_t>(work.products);
  const double product_clocks = work.product_clocks * (device.product_clocks[kind] / h200_product_clocks[kind]);
  const double longer = std::max(product_clocks, work.shared_clocks);
  const double shorter = std::min(product_clocks, work.shared_clocks);
  const double busy = (longer + (1 - work.overlap) * shorter) / device.clock;
  const double start = work.launches * launch_seconds + work.waits * memory_latency;
  CudaBound bound = CudaBound::memory;
  if (busy > memory) {
    const bool tensor_cores = work.products == CudaProducts::f64_tensor || work.products == CudaProducts::tf32_tensor;
    bound = work.shared_clocks > product_clocks ? CudaBound::shared_memory
            : tensor_cores                      ? CudaBound::tensor_cores
                                                : CudaBound::arithmetic;
  }
  if (start > std::max(memory, busy)) bound = CudaBound::latency;
  return {start + std::max(memory, busy), bound, busy, work.products};
}

/// What `choose` minimizes. Where memory limits the time, fewer busy clocks are still better: clocks cost power, and
/// power lowers the clock rate.
inline double cost(const CudaPrediction& prediction) { return prediction.seconds + 0.05 * prediction.busy_seconds; }

/// What costs least by the model; of equal costs the first.
template <class Configuration, class Problem>
CudaChoice<Configuration> cheapest(const CudaDevice& device, const Problem& problem,
                                   const std::vector<Configuration>& found) {
  CudaChoice<Configuration> choice{};
  for (const Configuration& c : found) {
    const CudaPrediction prediction = predict(device, problem, c);
    if (&c == found.data() || cost(prediction) < cost(choice.prediction)) choice = {c, prediction, {}};
  }
  return choice;
}

/// Returns what a call runs: the measured row that covers it, or else the cheapest of what collect(found) finds. A
/// search takes microseconds, and a solver asks for few products again and again: each thread keeps its last choices.
template <class Configuration, class Problem, class Collect>
CudaChoice<Configuration> row_or_best(const CudaDevice& device, const Problem& problem, Collect&& collect) {
  constexpr std::size_t most = 256;
  thread_local CudaDevice device_of_last{};
  thread_local std::map<Problem, CudaChoice<Configuration>> last;
  if (device_of_last != device) {
    last.clear();
    device_of_last = device;
  }
  if (const auto known = last.find(problem); known != last.end()) return known->second;
  CudaChoice<Configuration> choice{};
  if (const tuning::Row* const row = tuning::find(device, problem, choice.configuration)) {
    choice.prediction = predict(device, problem, choice.configuration);
    choice.row = row->place;
  } else {
    std::vector<Configuration> found;
    collect(found);
    choice = cheapest(device, problem, found);
  }
  if (last.size() == most) last.clear();
  last.emplace(problem, choice);
  return choice;
}

// The rules of each product are read in order; of the configurations that they find the model takes the cheapest.

/// What a rule's kernels are to those that the rules before it have found.
enum class Place : std::uint8_t {
  beside,           ///< the model decides between them
  if_none,          ///< they are tried only where nothing has been found
  unless_previous,  ///< they are tried only where the rule before found nothing
  instead           ///< where they are found, no other rule is read
};

/// The kinds of a rule, if it has only one.
template <CudaKernel kernel, Policy policy = Policy::usual>
inline constexpr CudaKind only[] = {{kernel, policy}};

template <class Problem>
struct Rule {
  std::span<const CudaKind> kinds;
  Place place;
  std::string_view serves;  ///< when, in words
  bool (*applies)(const CudaDevice& device, const Problem& problem);
  std::string_view measured;  ///< what justifies it: files stand in bench/results/h200
};

/// The predicate of kernels that serve all that is legal for them.
template <class Problem>
bool always(const CudaDevice&, const Problem&) {
  return true;
}

/// Adds the candidates of a call to `found`, or for Search::all those of every kernel, whatever the rules say.
template <class Any, class Problem, std::size_t count>
void add_candidates(const Rule<Problem> (&rules)[count], const CudaDevice& device, const Problem& problem,
                    Search search, std::vector<Any>& found) {
  if (search == Search::all) {
    return for_each_kind<Any>([&](const auto& c) { c.entry.add({c, device, problem, true, found}); });
  }
  std::size_t by_previous = 0;
  for (const auto& rule : rules) {
    const std::size_t before = found.size();
    const bool reads = rule.applies(device, problem) && (rule.place != Place::if_none || found.empty()) &&
                       (rule.place != Place::unless_previous || by_previous == 0);
    for (const CudaKind& kind : rule.kinds) {
      for_each_kind<Any>([&](const auto& c) {
        if (reads && kind == c) c.entry.add({c, device, problem, false, found});
      });
    }
    by_previous = found.size() - before;
    if (rule.place == Place::instead && by_previous > 0) return;
  }
}

/// Whether memory waits for products in double precision, on a device that makes them more slowly than an H200: `tiles`
/// MMA tiles of 16 x 8 that are 16 deep for each row of `bytes` bytes, besides the multiprocessors' other work.
bool waits_for_double(const CudaDevice& device, double tiles, double bytes);
/// Whether tsmm in single precision waits so, and may be made in single precision.
bool waits_for_double(const CudaDevice& device, const CudaTsmmProblem& p);
/// Whether the rows of a view A can come as TMA tiles, one per row tile (tsmm/row_ring.cpp).
bool boxes_a_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Rows of A of any stride, few columns of it and of B: every warp for itself.
bool prefers_per_warp(const CudaTsmmProblem& p);
/// Single precision, rows, at most 16 real columns of B: split products although memory would wait for them anyway.
bool splits_few_columns(const CudaTsmmProblem& p);

}  // namespace blockvec::kernels::dispatch
