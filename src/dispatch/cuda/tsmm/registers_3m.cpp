#include "src/dispatch/cuda/model.hpp"
#include "src/dispatch/cuda/stages.hpp"

namespace blockvec::kernels::dispatch {
namespace {

constexpr int numbers_of_line = 16;
constexpr int sector_bytes = 32;

// Whether B is one contiguous piece of whole rows, so that results can be staged.
bool stages_rows(const CudaTsmmProblem& p) { return p.row_major && p.aligned_output && p.pitch_b == p.n; }

bool complete_registers_3m(const CudaDevice& device, const CudaTsmmProblem& p, Registers3m& c) {
  // Complex numbers are read as a whole, so they must be aligned.
  if (!boxes_serve(device, p) || p.parts != 2 || p.real_bytes != 8 || !p.aligned) return false;
  if (p.m > 8 * c.blocks_n || p.n > 32 * c.tile_n) return false;
  c.classes = 1;
  c.groups = 1;
  c.small_in_ring = false;
  c.warps = gauss_register_warps(c.tile_n);
  if (c.row_warps == 0) c.row_warps = !p.row_major ? 4 : gauss_row_pairs(c.tile_n) > 1 ? 2 : c.blocks_n <= 14 ? 6 : 4;
  c.rows = 16 * c.row_warps;
  if (c.row_warps % gauss_row_pairs(c.tile_n) != 0) return false;
  const int panel = 8 * c.blocks_n;  // columns that products read; they are zero beyond A
  if (c.panel != 0 && c.panel != panel) return false;
  c.panel = panel;
  // Four lanes read four neighbours of a row, or of two columns. The next four lanes meet other banks: the pitch of
  // rows is an odd number of half lines.
  constexpr int apart = numbers_of_line / 2;
  c.pitch = p.row_major ? c.panel + (c.panel / apart % 2 != 0 ? 0 : apart) : 2 * c.rows + numbers_of_line / 4;
  if (c.pitch > longest_box) return false;
  const std::int64_t stage = std::int64_t{p.row_major ? c.rows : c.panel / 2} * c.pitch * p.real_bytes;
  if (stage % line_bytes != 0) return false;
  if (c.staged != 0 && !stages_rows(p)) return false;
  c.staged_pitch = c.staged != 0 ? static_cast<int>(p.n) : 0;
  const std::int64_t beside =
      std::int64_t{c.warps / 2} * gauss_pair_bytes + 2 * std::int64_t{c.rows} * c.staged_pitch * p.real_bytes;
  if (!fit_stages(device, beside, stage, 32, c)) return false;
  set_blocks(device, p, c);
  return true;
}

void add_registers_3m(const TsmmCandidates& to) {
  using C = Registers3m;
  const CudaTsmmProblem& p = to.problem;
  // As measured on an H200, other kernels are better for fewer columns.
  if (p.parts == 1 || p.real_bytes != 8 || p.m <= 64 || p.n <= 32) return;
  // Columns that begin inside sectors of memory had better be stored in longer pieces, if products leave time for that.
  const bool in_sectors = p.row_major || p.pitch_b * p.real_bytes % sector_bytes == 0;
  if (!to.all && !in_sectors && p.m <= 96 && p.n <= 96) return;
  for (const TileShape& tile : tsmm_registers_3m_shapes) {  // narrow tiles come first
    // Without staging, rows that begin inside sectors of memory would be written in parts of sectors.
    const bool staged = stages_rows(p) && p.n / 2 % 2 != 0 && gauss_row_pairs(tile.n) > 1;
    auto c = start<C>(tile);
    c.staged = staged ? 1 : 0;
    if (to.add(c, {{&C::row_warps, {1, 2, 3, 4, 6}}, {&C::staged, {0, 1}}}) && !to.all) return;
  }
}

CudaWork registers_3m_work(const CudaDevice& device, const CudaTsmmProblem& p, const Registers3m& c) {
  CudaWork work = work_of(device, p, c, 0.97);
  // Products of depth 4 that the warps make for all sets of 8 rows. A multiprocessor makes four of them in 16 clocks,
  // and adds sums besides.
  const double products = rows_of_block(p, c) / 8 * c.tile_n * 3 * c.blocks_n;
  work.product_clocks = products * 4 * 1.15;
  work.shared_clocks = products * 2.2;
  work.overlap = 0.95;
  return work;
}

bool is_compiled(const CudaTsmmProblem& p, const Registers3m& c) {
  return p.real_bytes == 8 && p.parts == 2 &&
         is_among(tsmm_registers_3m_compiled, p.real_bytes, c.blocks_n, c.tile_n, !p.row_major);
}

constexpr Field<Registers3m> fields[] = {{"tile", &Registers3m::blocks_n, &Registers3m::tile_n},
                                         {"warps", &Registers3m::row_warps, &Registers3m::warps},
                                         {"panel", &Registers3m::panel},
                                         {"staged", &Registers3m::staged},
                                         {"stages", &Registers3m::stages},
                                         {"ticket", &Registers3m::chunks_per_ticket}};

}  // namespace

const TsmmEntry<Registers3m> Registers3m::entry{fields, is_compiled, complete_registers_3m, registers_3m_work,
                                                add_registers_3m};

}  // namespace blockvec::kernels::dispatch
