#include <algorithm>
#include <cstdint>
#include <limits>

#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

int columns_of(const Tf32Warpgroup& c) { return 8 * c.tile_n; }

// Bytes of C, high and low. The first and second rows of pairs are stored separately, 8 pairs in a step.
std::int64_t small_bytes(const CudaTsmmProblem& p, const Tf32Warpgroup& c) {
  return round_up(p.m, 16) * 2 * columns_of(c) * std::int64_t{sizeof(float)};
}

// Bytes of a stage. Results replace A's rows, or B's old values.
std::int64_t bytes_of_stage(const CudaTsmmProblem& p) {
  const auto bytes = [&](std::int64_t pitch) { return stage_bytes(warpgroup_rows, pitch, p.real_bytes); };
  return p.reads_output ? bytes(p.pitch_a) + bytes(p.pitch_b) : bytes(std::max(p.pitch_a, p.n));
}

// Whether pairs are read and written at once. If both distances from row to row are odd, numbers are read and written
// singly.
bool in_pairs(const CudaTsmmProblem& p) { return (p.m | p.n | p.pitch_a | p.pitch_b) % 2 == 0; }
bool singly(const CudaTsmmProblem& p) { return p.pitch_a % 2 == 1 && p.pitch_b % 2 == 1; }

bool complete_tf32_warpgroup(const CudaDevice& device, const CudaTsmmProblem& p, Tf32Warpgroup& c) {
  const bool serves = device.warpgroups && p.real_bytes == 4 && p.may_split && p.row_major && p.m > 0 &&
                      !p.may_skip_a && streams(p.m, p.pitch_a) && p.aligned && p.aligned_output &&
                      (!p.reads_output || streams(p.n, p.pitch_b)) && (in_pairs(p) || singly(p)) &&
                      p.pitch_b <= std::numeric_limits<std::int32_t>::max();  // the kernel counts it in 32 bits
  if (!serves || p.n > p.parts * columns_of(c)) return false;
  c.rows = warpgroup_rows;
  c.output_in_ring = p.reads_output;
  const std::int64_t room = device.shared_bytes - static_bytes - small_bytes(p, c);
  const std::int64_t stage = bytes_of_stage(p);
  if (c.stages == 0) {
    c.stages = static_cast<int>(std::clamp<std::int64_t>(room / stage, 0, 32));
    if (c.stages * tsmm_warpgroups > max_stages) c.stages = whole_groups(c.stages, tsmm_warpgroups);
  }
  // One stage is filled or stored while the warpgroups have the others. Stages of updates are long, so that three are
  // enough.
  if (c.stages < (p.reads_output ? 3 : tsmm_warpgroups + 1) || c.stages * stage > room) return false;
  if (full_barriers(c.stages, tsmm_warpgroups) > max_stages) return false;
  c.shared_bytes = static_cast<int>(small_bytes(p, c) + c.stages * stage);
  set_tickets(device, ceil_div(p.k, c.rows), chunks_of_ticket(c.rows * (p.pitch_a + p.n) * p.real_bytes), c);
  return true;
}

CudaWork tf32_warpgroup_work(const CudaDevice& device, const CudaTsmmProblem& p, const Tf32Warpgroup& c) {
  const double rows = rows_of_block(p, c);
  CudaWork work = tsmm_work(device, p, c, 1);
  const std::int64_t crossings = p.reads_output ? 2 : 1;  // of B
  work.bytes = static_cast<double>(p.k) * static_cast<double>(p.pitch_a + crossings * p.n) * p.real_bytes;
  // A's rows are stored in shared memory, read, and replaced by results.
  work.shared_clocks = rows * static_cast<double>(p.m + crossings * p.n) * 2 / 32;
  add_tf32_clocks(work, p, rows, columns_of(c));
  work.overlap = 0.8;
  work.bytes_in_flight = static_cast<double>((c.stages - 1) * bytes_of_stage(p));
  return work;
}

void add_tf32_warpgroup(const TsmmCandidates& to) {
  using C = Tf32Warpgroup;
  const CudaTsmmProblem& p = to.problem;
  const bool few = splits_few_columns(p);
  for (const Columns& tile : tsmm_tf32_warpgroup_shapes) {
    if (few && 8 * p.parts * (tile.n - 1) >= p.n) continue;  // a narrower tile is enough
    const bool ring_is_as_fast = tile.n <= 2 && p.m < 64 && !p.reads_output;
    if (!to.all && ring_is_as_fast) continue;
    C c{};
    c.tile_n = tile.n;
    to.add(c, {{&C::stages, {4, 6, 8}}, {&C::chunks_per_ticket, {1, 2, 4}}});
  }
}

bool is_compiled(const CudaTsmmProblem& p, const Tf32Warpgroup& c) {
  return is_among(tsmm_tf32_warpgroup_compiled, p.real_bytes, c.tile_n, p.pitch_a % 2 == 0, p.reads_output, p.parts);
}

constexpr Field<Tf32Warpgroup> fields[] = {{"tile", &Tf32Warpgroup::tile_n},
                                           {"stages", &Tf32Warpgroup::stages},
                                           {"ticket", &Tf32Warpgroup::chunks_per_ticket}};

}  // namespace

const TsmmEntry<Tf32Warpgroup> Tf32Warpgroup::entry{fields, is_compiled, complete_tf32_warpgroup, tf32_warpgroup_work,
                                                    add_tf32_warpgroup};

}  // namespace blockvec::kernels::dispatch
