#include "src/dispatch/cuda/dense_candidates.hpp"

#include <algorithm>

namespace blockvec::kernels::dispatch {
namespace {

constexpr int fewest_stages = 2;

/// The model's choices for all kernels that are wide enough, each from `configure(columns)`.
template <class Configure>
auto of_all_widths(int columns, int most, Configure&& configure) {
  std::vector<decltype(configure(columns))> found;
  for (int width = columns; width <= most; width = found.back().columns() + 1) found.push_back(configure(width));
  return found;
}

/// Calls f(blocks) for the model's number of thread blocks and for half, two and four times as many.
template <class F>
void for_block_counts(std::int64_t blocks, std::int64_t units, F&& f) {
  f(blocks);
  if (blocks >= 2) f(blocks / 2);
  for (const std::int64_t more : {2 * blocks, 4 * blocks}) {
    if (more <= units) f(more);
  }
}

/// Calls f(stages) for at most so many stages, the most first.
template <class F>
void for_stages(int most, F&& f) {
  for (int stages = most; stages >= fewest_stages; --stages) f(stages);
  if (most == 1) f(1);
}

}  // namespace

std::vector<GemmConfiguration> gemm_candidates(const CudaDevice& device, const DenseLines& lines, bool by_rows,
                                               int columns) {
  std::vector<GemmConfiguration> found;
  const auto configure = [&](int width) { return configure_gemm(device, lines, by_rows, width); };
  for (const GemmConfiguration& model : of_all_widths(columns, gemm_columns, configure)) {
    for_block_counts(model.blocks, model.tiles * model.steps, [&](std::int64_t blocks) {
      for_stages(model.stages, [&](int stages) {
        GemmConfiguration& c = found.emplace_back(model);
        c.stages = stages;
        c.blocks = blocks;
      });
    });
  }
  return found;
}

std::vector<HemmConfiguration> hemm_candidates(const CudaDevice& device, const DenseLines& lines, int parts, bool lower,
                                               int columns) {
  std::vector<HemmConfiguration> found;
  const auto configure = [&](int width) { return configure_hemm(device, lines, parts, lower, width); };
  const auto add = [&](const HemmConfiguration& model, int exchanges) {
    // Each further exchange takes the place of stages.
    const int more = std::max(0, exchanges - model.exchanges) * model.exchange_bytes;
    const int most = model.stages - static_cast<int>(ceil_div(more, model.stage_bytes));
    for_block_counts(model.blocks, model.units.count(), [&](std::int64_t blocks) {
      for_stages(most, [&](int stages) {
        HemmConfiguration& c = found.emplace_back(model);
        c.exchanges = exchanges;
        c.stages = stages;
        c.blocks = blocks;
      });
    });
  };
  for (const HemmConfiguration& model : of_all_widths(columns, hemm_columns, configure)) {
    add(model, model.exchanges);
    for (int exchanges = 1; exchanges <= hemm_exchanges; ++exchanges) {
      if (exchanges != model.exchanges) add(model, exchanges);
    }
  }
  return found;
}

}  // namespace blockvec::kernels::dispatch
