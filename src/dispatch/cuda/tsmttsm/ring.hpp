#pragma once

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

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

}  // namespace blockvec::kernels::dispatch
