#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// tsmttsm's results that are too large for one block: which sections of them blocks take.
///
/// Of a Gram matrix only what is on and above the diagonal: first the squares on it, two by two, whose blocks load as
/// much as any other, then the squares above it.
namespace blockvec::kernels::dispatch {

inline bool takes_pairs(const CudaTsmttsm& c) { return c.kernel == TsmttsmKernel::gram_wide; }

/// Such squares, and in how many parts the rows are shared out: blocks for two squares on the diagonal have 17/16 of
/// the products of one above it, and as many more parts.
struct SquarePairs {
  int on_diagonal, above;
  int parts, parts_above;

  SquarePairs(int side, std::int64_t parts_of_rows)
      : on_diagonal((side + 1) / 2),
        above(side * (side - 1) / 2),
        parts(static_cast<int>(parts_of_rows)),
        parts_above((16 * parts + 16) / 17) {}
  std::int64_t blocks() const { return std::int64_t{on_diagonal} * parts + std::int64_t{above} * parts_above; }
};

/// Bytes that so many entries of partial sums move; sums of complex numbers take as much again.
constexpr std::int64_t moved_sums(const CudaTsmttsmProblem& p, std::int64_t entries) {
  return 2 * p.parts * entries * std::int64_t{sizeof(double)};
}
/// What sections read again comes from the cache for the most part: the rest of it.
inline constexpr double read_again = 0.3;
/// How many of the operands' columns so many sections of m x n load again, as part of all.
inline double columns_again(const CudaTsmttsmProblem& p, double sections, double m, double n) {
  return sections * (m + n) / static_cast<double>(p.m + (p.same ? 0 : p.n)) - 1;
}

/// Blocks of threads, where `parts` (of the squares on the diagonal) share the rows.
inline std::int64_t block_count(const CudaTsmttsm& c, std::int64_t parts) {
  return takes_pairs(c) ? SquarePairs(c.sections_m, parts).blocks() : parts * c.sections_m * c.sections_n;
}

/// Partial sums are written to the cache and read again. Where every multiprocessor has one of all of P, rows may be so
/// few that this weighs against the operands: then blocks take sections of P although one block would hold it. Operands
/// of less than `least` bytes take too little time for it to matter.
inline bool sums_weigh(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  constexpr std::int64_t least = std::int64_t{1} << 25;
  const std::int64_t operands = p.k * (p.m + p.n) * p.real_bytes;
  return p.row_major && !p.same && operands >= least &&
         8 * moved_sums(p, device.multiprocessors * p.m * p.n) > operands;
}

/// Such a section is covered by full tiles of 8 warps, or by the warps of two of the largest Gram matrices.
inline constexpr TileShape pair_tile{4, 4};
inline constexpr int pair_warps_m = 2;
inline constexpr int pair_warps_n = 4;
inline constexpr GramShape pair_gram = tsmttsm_gram_shapes[std::size(tsmttsm_gram_shapes) - 1];
inline constexpr int pair_side = 8 * pair_gram.blocks;
inline bool is_pair_section(const CudaTsmttsm& c) {
  return c.tile_m == pair_tile.m && c.tile_n == pair_tile.n && c.warps_m == pair_warps_m && c.warps_n == pair_warps_n;
}
static_assert(pair_side == 16 * pair_tile.m * pair_warps_m && pair_side == 8 * pair_tile.n * pair_warps_n);

}  // namespace blockvec::kernels::dispatch
