#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// Candidates of tsmttsm that a multistage pipeline (ring of stages) in shared memory feeds. The load modes (feeds) of
/// their operands are flat pieces, TMA tiles (boxes), or pieces of columns.
namespace blockvec::kernels::dispatch {

/// The most entries of a block's partial sum if several narrow rows are taken as one.
inline constexpr std::int64_t most_folded_sums = 16 * 16;

/// The work of a configuration, for the model.
CudaWork ring_work(const CudaDevice& device, const CudaTsmttsmProblem& p, const RingTsmttsm& c);
/// The bytes that are moved for a row of `width` numbers, on average. Memory moves 64 bytes at a time.
double touched_bytes(std::int64_t width, std::int64_t pitch, int real_bytes);

/// Whether several narrow rows may be taken as one (folded): they must follow one another without a gap.
bool folds(const CudaTsmttsmProblem& p);
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

}  // namespace blockvec::kernels::dispatch
