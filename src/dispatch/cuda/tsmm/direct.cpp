#include <algorithm>
#include <limits>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// Candidates of the kernels without a pipeline (src/cuda/tsmm/direct.cuh): `direct` for few columns of B, and
/// `general` for what nothing else takes.
namespace blockvec::kernels::dispatch {
namespace {

constexpr int threads = 256;
bool sums_in_single(const DirectTsmm& c) { return c.policy == Policy::f32; }

constexpr int general_tile = 32;  // rows and columns of B that a block of `general` computes at a time

bool complete_direct(const CudaDevice& device, const CudaTsmmProblem& p, DirectTsmm& c) {
  if (p.n > p.parts * c.tile_n || (sums_in_single(c) && !p.may_split)) return false;
  c.rows = c.blocks_n * threads;
  c.blocks = ceil_div(p.k, c.rows);
  const std::int64_t bytes = round_up(p.m, c.panel * p.parts) * c.tile_n * std::int64_t{sizeof(double)};
  if (c.blocks > std::numeric_limits<std::int32_t>::max() || bytes > device.shared_bytes) return false;
  c.shared_bytes = static_cast<int>(bytes);
  return true;
}

void add_direct(const TsmmCandidates& to) {
  const CudaTsmmProblem& p = to.problem;
  bool taken = false;
  for (const ThreadShape& shape : tsmm_direct_shapes) {
    auto c = start<DirectTsmm>({shape.rows, shape.columns});
    static_cast<CudaKind&>(c) = to.kind;
    c.panel = shape.panel;
    // The usual shape is the narrowest one that holds all columns. A thread with two rows loads more at a time.
    const bool two_rows = sums_in_single(c) || (p.real_bytes == 4 && p.parts == 1) || p.m > 256 * p.parts;
    // If A has many columns, there would be too few blocks of many rows.
    const bool usual = !taken && (!p.row_major || shape.rows == 1) && (shape.columns != 1 || p.m <= 256 * p.parts) &&
                       (p.row_major || shape.columns != 8 || (shape.rows == 2) == two_rows);
    if (to.all || usual) taken = to.add(c) || taken;
  }
}

CudaWork direct_work(const CudaDevice& device, const CudaTsmmProblem& p, const DirectTsmm& c) {
  const double rows = static_cast<double>(ceil_div(c.blocks, device.multiprocessors) * c.rows);
  const double products = static_cast<double>(p.m) * p.parts * c.tile_n;
  CudaWork work = tsmm_work(device, p, c, 0.97, 1);
  work.product_clocks = rows * products / (sums_in_single(c) ? 128 : 64);
  work.products = sums_in_single(c) ? CudaProducts::f32_fma : CudaProducts::f64_fma;
  work.shared_clocks = rows * static_cast<double>(p.m) * c.tile_n / (64.0 * c.blocks_n);
  // Lanes load from as many rows. Each of these lines takes the cache a clock.
  if (sums_in_single(c) && p.row_major) work.shared_clocks += rows * static_cast<double>(p.m);
  work.overlap = 0.9;
  work.bytes_in_flight =
      2.0 * 1024 * c.blocks_n * static_cast<double>(std::min<std::int64_t>(c.panel, p.m)) * p.real_bytes;
  return work;
}

bool is_compiled(const CudaTsmmProblem& p, const DirectTsmm& c) {
  if (sums_in_single(c)) {
    return is_among(tsmm_direct_f32_compiled, p.real_bytes, c.blocks_n, c.tile_n, c.panel, p.parts);
  }
  return is_among(tsmm_direct_compiled, p.real_bytes, c.blocks_n, c.tile_n, c.panel, p.parts);
}

constexpr Field<DirectTsmm> fields[] = {{"tile", &DirectTsmm::blocks_n, &DirectTsmm::tile_n},
                                        {"panel", &DirectTsmm::panel}};

bool complete_general(const CudaDevice& device, const CudaTsmmProblem& p, GeneralTsmm& c) {
  if (p.in_place) return false;
  c.blocks = std::min<std::int64_t>(ceil_div(p.k, general_tile), 8 * device.multiprocessors);
  return true;
}

CudaWork general_work(const CudaDevice& device, const CudaTsmmProblem& p, const GeneralTsmm& c) {
  const auto tiles = static_cast<double>(ceil_div(p.n, general_tile));
  CudaWork work = tsmm_work(device, p, c, 0.5, 1);
  work.bytes += static_cast<double>(p.k) * static_cast<double>(p.m) * (tiles - 1) * p.real_bytes;
  const double pieces = static_cast<double>(ceil_div(ceil_div(p.k, general_tile), c.blocks)) *
                        static_cast<double>(c.blocks) / work.multiprocessors;
  const double depth = static_cast<double>(p.m);
  work.product_clocks = pieces * tiles * depth * 16;
  work.shared_clocks = pieces * tiles * (depth * 48 + 32 * 32);
  work.bytes_in_flight = 65536;
  work.waits = 1 + 3 * static_cast<double>(ceil_div(p.m, 32)) * tiles;
  return work;
}

}  // namespace

const TsmmEntry<DirectTsmm> DirectTsmm::entry{fields, is_compiled, complete_direct, direct_work, add_direct};
const TsmmEntry<GeneralTsmm> GeneralTsmm::entry{{},
                                                [](const CudaTsmmProblem&, const GeneralTsmm&) { return true; },
                                                complete_general,
                                                general_work,
                                                [](const TsmmCandidates& to) { to.add(GeneralTsmm{}); }};

}  // namespace blockvec::kernels::dispatch
