#include <algorithm>
#include <iterator>
#include <limits>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

/// Candidates of the kernels without a pipeline (src/cuda/tsmm/direct.cuh): `direct` for few columns of B, and
/// `general` for what nothing else takes.
namespace blockvec::kernels::dispatch {
namespace {

constexpr int threads = 256;
constexpr int general_tile = 32;  // rows and columns of B that a block of `general` computes at a time

}  // namespace

static bool complete_direct(const CudaDevice& device, const CudaTsmmProblem& p, DirectTsmm& c) {
  if (p.n > p.parts * c.tile_n) return false;
  c.rows = c.blocks_n * threads;
  c.parts = ceil_div(p.k, c.rows);
  const std::int64_t bytes = round_up(p.m, c.panel * p.parts) * c.tile_n * std::int64_t{sizeof(double)};
  if (c.parts > std::numeric_limits<std::int32_t>::max() || bytes > device.shared_bytes) return false;
  c.shared_bytes = static_cast<int>(bytes);
  return true;
}

static void add_direct(const TsmmKind&, const CudaDevice& device, const CudaTsmmProblem& p, Search search,
                       std::vector<CudaTsmm>& to) {
  bool taken = false;
  for (const ThreadShape& shape : tsmm_direct_shapes) {
    DirectTsmm c{};
    c.kernel = TsmmKernel::direct;
    c.tile_n = shape.columns;
    c.blocks_n = shape.rows;
    c.panel = shape.panel;
    // The usual shape is the narrowest one that holds all columns. A thread with two rows loads more at a time.
    const bool two_rows = (p.real_bytes == 4 && p.parts == 1) || p.m > 256 * p.parts;
    // If A has many columns, there would be too few blocks of many rows.
    const bool usual = !taken && (!p.row_major || shape.rows == 1) && (shape.columns != 1 || p.m <= 256 * p.parts) &&
                       (p.row_major || shape.columns != 8 || (shape.rows == 2) == two_rows);
    if ((search == Search::usual && !usual) || !complete(device, p, c)) continue;
    taken = true;
    to.push_back(c);
  }
}

static CudaWork direct_work(const CudaDevice& device, const CudaTsmmProblem& p, const DirectTsmm& c) {
  const double rows = static_cast<double>(ceil_div(c.parts, device.multiprocessors) * c.rows);
  const double products = static_cast<double>(p.m) * p.parts * c.tile_n;
  CudaWork work{};
  work.bytes = tall_bytes(p);
  work.bandwidth = 0.97 * device.copy_bandwidth;
  work.product_clocks = rows * products / 64;
  work.shared_clocks = rows * static_cast<double>(p.m) * c.tile_n / (64.0 * c.blocks_n);
  work.overlap = 0.9;
  work.parts = static_cast<double>(std::min<std::int64_t>(c.parts, device.multiprocessors));
  work.bytes_in_flight =
      2.0 * 1024 * c.blocks_n * static_cast<double>(std::min<std::int64_t>(c.panel, p.m)) * p.real_bytes;
  work.launches = 1;
  work.waits = 2;
  return work;
}

static bool is_compiled(const CudaTsmmProblem& p, const DirectTsmm& c) {
  return is_among(tsmm_direct_compiled, p.real_bytes, c.blocks_n, c.tile_n, c.panel, p.parts);
}

static std::span<const Field<DirectTsmm>> fields(const TsmmKind&) {
  using C = DirectTsmm;
  static constexpr Field<C> all[] = {{"tile", &C::blocks_n, &C::tile_n}, {"panel", &C::panel}};
  return all;
}

const TsmmEntry<DirectTsmm> DirectTsmm::entry{fields, is_compiled, complete_direct, direct_work, add_direct};

static bool complete_general(const CudaDevice& device, const CudaTsmmProblem& p, GeneralTsmm& c) {
  if (p.in_place) return false;
  c = {};
  c.kernel = TsmmKernel::general;
  c.parts = std::min<std::int64_t>(ceil_div(p.k, general_tile), 8 * device.multiprocessors);
  return true;
}

static CudaWork general_work(const CudaDevice& device, const CudaTsmmProblem& p, const GeneralTsmm& c) {
  const auto tiles = static_cast<double>(ceil_div(p.n, general_tile));
  CudaWork work{};
  work.bytes = tall_bytes(p) + static_cast<double>(p.k) * static_cast<double>(p.m) * (tiles - 1) * p.real_bytes;
  work.bandwidth = device.copy_bandwidth / 2;
  work.parts = std::min<double>(device.multiprocessors, static_cast<double>(c.parts));
  const double pieces =
      static_cast<double>(ceil_div(ceil_div(p.k, general_tile), c.parts)) * static_cast<double>(c.parts) / work.parts;
  const double depth = static_cast<double>(p.m);
  work.product_clocks = pieces * tiles * depth * 16;
  work.shared_clocks = pieces * tiles * (depth * 48 + 32 * 32);
  work.bytes_in_flight = 65536;
  work.launches = 1;
  work.waits = 1 + 3 * static_cast<double>(ceil_div(p.m, 32)) * tiles;
  return work;
}

static void add_general(const TsmmKind& kind, const CudaDevice& device, const CudaTsmmProblem& p, Search,
                        std::vector<CudaTsmm>& to) {
  GeneralTsmm c{};
  static_cast<TsmmKind&>(c) = kind;
  if (complete_general(device, p, c)) to.push_back(c);
}

const TsmmEntry<GeneralTsmm> GeneralTsmm::entry{[](const TsmmKind&) { return std::span<const Field<GeneralTsmm>>{}; },
                                                [](const CudaTsmmProblem&, const GeneralTsmm&) { return true; },
                                                complete_general, general_work, add_general};

}  // namespace blockvec::kernels::dispatch
