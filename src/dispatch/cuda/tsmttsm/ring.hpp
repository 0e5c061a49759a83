#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// Candidates of tsmttsm that a multistage pipeline (ring of stages) in shared memory feeds. The load modes (feeds) of
/// their operands are flat pieces, TMA tiles (boxes), or pieces of columns.
namespace blockvec::kernels::dispatch {

/// The bytes that are moved for a row of `width` numbers, on average. Memory moves 64 bytes at a time.
double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes);

// Load modes (feeds). Lines are the rows of a row-major matrix or the columns of a column-major one. Lengths count real
// numbers.

/// What a product needs of an operand in a stage.
struct CudaFeedRequest {
  std::int64_t width;    ///< real columns
  std::int64_t pitch;    ///< real numbers from line to line in memory
  std::int64_t reached;  ///< columns that the warps' tiles cover; some lanes read beyond the width
  int rows;              ///< rows of a chunk
  int step;              ///< panels are multiples of `step` columns
  int lead;              ///< misalignment: the most numbers between a multiple of 16 bytes and the start of a line
  int real_bytes;
  int apart = 0;       ///< padding between columns in TMA tiles, so that lanes meet different banks
  bool flips = false;  ///< lanes read re or im of complex numbers in 4 rows of 4 columns (tsmttsm/ring.hpp)
};

/// The feed for columns, each a piece by itself, with `parts` real numbers per scalar. `lines` counts the columns.
CudaFeed column_feed(const CudaFeedRequest& request, int parts);

/// How many narrow rows are taken as one (folded). They must follow one another without a gap.
int usual_fold(const CudaTsmttsmProblem& p);

inline bool in_boxes_a(int feeds) { return feeds == boxes_a || feeds == boxes_both; }
inline bool in_boxes_b(int feeds) { return feeds == boxes_b || feeds == boxes_both; }

/// The usual load modes. Rows come as TMA tiles if they are not read in flat pieces.
int usual_feeds(const CudaTsmttsmProblem& p);
bool feeds_serve(const CudaTsmttsmProblem& p, int feeds);

/// The misalignment that TMA tiles allow for: the most numbers in front of a line's first one, for this pitch.
int lead_of(const CudaTsmttsmProblem& p, std::int64_t pitch);

/// Whether a stage holds rows once because B is A. Sections (CTA tiles) need different columns, so they hold both.
bool comes_once(const CudaTsmttsmProblem& p, const RingTsmttsm& c);

/// The number of classes of rows. It is the same for both operands.
int row_classes(const CudaTsmttsmProblem& p, const RingTsmttsm& c);

/// Sets the feeds of both operands from the rows of a chunk.
void feed_rows(const CudaTsmttsmProblem& p, RingTsmttsm& c);
void feed_columns(const CudaTsmttsmProblem& p, RingTsmttsm& c);

// Results that are too large for one block: which CTA tiles (sections) of them the blocks take.
//
// Of a Gram matrix, blocks compute only what is on and above the diagonal. First come the squares on it, in pairs: a
// block with two of them loads as much as any other block. Then come the squares above the diagonal.

/// Whether blocks take pairs of squares of a Gram matrix.
inline bool takes_pairs(const RingTsmttsm& c) { return c.gram() && c.sections_m > 1; }

/// Bytes that are moved for `entries` entries of partial sums. Complex numbers take twice as many.
constexpr std::int64_t moved_sums(const CudaTsmttsmProblem& p, std::int64_t entries) {
  return 2 * p.parts * entries * std::int64_t{sizeof(double)};
}
/// The part of repeated reads that comes from memory. Sections read most of what they read again from the cache.
inline constexpr double read_again = 0.3;
/// The columns that `sections` sections of m x n load again, as a fraction of all columns of the operands.
inline double columns_again(const CudaTsmttsmProblem& p, double sections, double m, double n) {
  return sections * (m + n) / static_cast<double>(p.m + (p.same ? 0 : p.n)) - 1;
}

/// Thread blocks, if the rows are divided into `parts` parts (for squares on the diagonal).
inline std::int64_t block_count(const RingTsmttsm& c, std::int64_t parts) {
  return takes_pairs(c) ? SquarePairs(c.sections_m, parts).blocks() : parts * c.sections_m * c.sections_n;
}

/// Whether partial sums take much time compared with the operands. They are written to the cache and read again. With
/// few rows this matters if every multiprocessor has a sum of all of P. Then blocks take sections of P, although one
/// block could hold it. Operands of less than `least` bytes take too little time for it to matter.
inline bool sums_weigh(const CudaDevice& device, const CudaTsmttsmProblem& p) {
  constexpr std::int64_t least = std::int64_t{1} << 25;
  const std::int64_t operands = p.k * (p.m + p.n) * p.real_bytes;
  return p.row_major && !p.same && operands >= least &&
         8 * moved_sums(p, device.multiprocessors * p.m * p.n) > operands;
}

/// A square of a Gram matrix. 8 warps with full tiles cover one above the diagonal. The warps of two of the largest
/// compiled Gram shapes cover two on the diagonal.
inline constexpr GramShape pair_gram = tsmttsm_gram_shapes[std::size(tsmttsm_gram_shapes) - 1];
inline constexpr int pair_side = 8 * pair_gram.blocks;
inline bool is_pair_section(const RingTsmttsm& c) {
  return c.tile_m == pair_tile.m && c.tile_n == pair_tile.n && c.warps_m == pair_warps_m && c.warps_n == pair_warps_n;
}
static_assert(pair_side == 16 * pair_tile.m * pair_warps_m && pair_side == 8 * pair_tile.n * pair_warps_n);

// Bank conflicts. Shared memory has 32 banks of 4 bytes. Numbers of one bank that a warp reads at a time come one
// after the other.

/// The map for columns of this pitch, of which a lane reads one number at a time.
constexpr RowMap column_map(std::int64_t pitch) { return pitch % 2 != 0 ? RowMap{4, 1, 2} : RowMap{1, 4, 8}; }
/// The map for columns of which a lane reads complex numbers of 16 bytes. If columns are an odd number of these apart,
/// lanes that take every other row meet different banks.
constexpr RowMap complex_column_map(std::int64_t pitch) {
  return pitch / 2 % 2 != 0 ? RowMap{2, 1, 8} : RowMap{1, 4, 8};
}
/// The bit of a lane's number that flips the lane, for rows or columns of this pitch. Lanes read real and imaginary
/// parts of complex numbers separately. Half of them are flipped: they read the imaginary part first, so that all four
/// rows are in different banks.
constexpr int flipping_bit(std::int64_t pitch, bool row_major) {
  return pitch / 2 % 2 != 0 || (row_major && pitch / 2 % 4 != 0) ? 1 : 2;
}
/// The map for columns of which a lane reads 16 bytes at a time, or for columns of several classes, which together fill
/// 16 bytes.
constexpr RowMap wide_column_map(std::size_t bytes) { return bytes == 4 ? RowMap{4, 1, 2} : RowMap{2, 1, 8}; }

/// The map for rows in tsmttsm, whose lanes read 8 columns of 4 rows. The banks hold twice as many numbers of 4 bytes
/// as of 8. A and B may need different maps; the operand that is read more often decides.
constexpr RowMap row_map_of(const RingTsmttsm& c, std::int64_t pitch_a, std::int64_t pitch_b, std::size_t real_bytes) {
  const bool by_a = c.whole_warpgroups() || c.warps_n * c.tile_m * 2 >= c.warps_m * c.tile_n;
  const std::int64_t pitch = by_a ? pitch_a : pitch_b;
  if (c.whole_warpgroups() && pitch % 2 != 0) return {8, 1, 2};
  return row_map(real_bytes == 4 && pitch % 2 == 0 ? pitch / 2 : pitch);
}

/// Whether half of gram's lanes may be `turned`: they read their columns in another order than the other lanes, which
/// halves the clocks if all rows begin in one bank or in two. This wants a chunk of one segment and one group per
/// stage.
constexpr bool lanes_turn(const RingTsmttsm& c) {
  return c.a.pitch % 16 == 0 && c.split == 1 && c.rows == c.segment && c.gram() && may_turn(c.tile_m);
}

/// Clocks in which a warp reads one number per lane for the fragments of tsmttsm. Lane l reads row by_lane (l % 4) of
/// column l / 4.
int fragment_read_clocks(const RowMap& map, std::int64_t pitch, int real_bytes);

}  // namespace blockvec::kernels::dispatch
