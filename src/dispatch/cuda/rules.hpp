#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/dispatch/cuda/configuration.hpp"

/// The list at a glance: which kernels a call chooses from. Rules are read in order (rules_tsmttsm.cpp,
/// rules_tsmm.cpp); among the configurations that they find, the model (model.hpp) takes the one that costs least.
namespace blockvec::kernels::dispatch {

/// What a rule's kernels are to those that the rules before it have found.
enum class Place : std::uint8_t {
  beside,           ///< the model decides between them
  if_none,          ///< they are tried only where nothing has been found
  unless_previous,  ///< they are tried only where the rule before found nothing
  instead           ///< where they are found, no other rule is read
};

template <class Kernel, class Problem>
struct Rule {
  std::span<const Kind<Kernel>> kinds;
  Place place;
  std::string_view serves;  ///< when, in words
  bool (*applies)(const CudaDevice& device, const Problem& problem);
  std::string_view measured;  ///< what justifies it: files stand in bench/results/h200
};

std::span<const Rule<TsmttsmKernel, CudaTsmttsmProblem>> tsmttsm_rules();
std::span<const Rule<TsmmKernel, CudaTsmmProblem>> tsmm_rules();

/// Adds the candidates of a call to `found`, or for Search::all those of every kernel, whatever the rules say.
template <class Any, class Kernel, class Problem>
void add_candidates(std::span<const Rule<Kernel, Problem>> rules, const CudaDevice& device, const Problem& problem,
                    Search search, std::vector<Any>& found) {
  const bool all = search == Search::all;
  std::size_t by_previous = 0;
  std::bitset<32 * std::size(policies)> seen;  // a bit for each kind
  for (const auto& rule : rules) {
    const std::size_t before = found.size();
    const bool reads = all || (rule.applies(device, problem) && (rule.place != Place::if_none || found.empty()) &&
                               (rule.place != Place::unless_previous || by_previous == 0));
    for (const Kind<Kernel>& kind : rule.kinds) {
      const auto number =
          std::size(policies) * static_cast<std::size_t>(kind.kernel) + static_cast<std::size_t>(kind.policy);
      if (!reads || (all && seen[number])) continue;
      seen[number] = true;
      with_configuration_of<Any>(kind, [&](const auto& c) { c.entry.add({kind, device, problem, all, found}); });
    }
    by_previous = found.size() - before;
    if (!all && rule.place == Place::instead && by_previous > 0) return;
  }
}

/// Whether memory waits for products in double precision, on a device that makes them more slowly than an H200: `tiles`
/// MMA tiles of 16 x 8 that are 16 deep for each row, which has `bytes`. Other work of the multiprocessors takes time
/// besides.
bool waits_for_double(const CudaDevice& device, double tiles, double bytes);
/// Whether tsmm in single precision waits so, and may be made in single precision.
bool waits_for_double(const CudaDevice& device, const CudaTsmmProblem& p);
/// Whether a kernel of tsmttsm that saves products has enough to save: m n / (m + n) products a number, beyond which
/// memory would wait for the FP64 tensor cores. Narrower results are refused, whoever asks.
bool has_enough_products(const TsmttsmKind& kind, const CudaTsmttsmProblem& p);
/// Whether the rows of a view A can come as TMA tiles, one per row tile (tsmm/row_ring.cpp).
bool boxes_a_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Rows of A of any stride, few columns of it and of B: every warp for itself.
bool prefers_per_warp(const CudaDevice& device, const CudaTsmmProblem& p);
/// Single precision, rows, at most 16 real columns of B: split products although memory would wait for them anyway.
bool splits_few_columns(const CudaTsmmProblem& p);

}  // namespace blockvec::kernels::dispatch
