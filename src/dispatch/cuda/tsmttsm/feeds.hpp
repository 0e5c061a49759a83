#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// How the operands of tsmttsm come into its ring: in flat pieces, in boxes, or as pieces of columns.
namespace blockvec::kernels::dispatch {

/// Whether narrow rows may be taken several at a time: where they follow one another without a gap.
bool folds(const CudaTsmttsmProblem& p);
int usual_fold(const CudaTsmttsmProblem& p);

inline bool in_boxes_a(int feeds) { return feeds == boxes_a || feeds == boxes_both; }
inline bool in_boxes_b(int feeds) { return feeds == boxes_b || feeds == boxes_both; }

/// Boxes where rows are not read in flat pieces.
int usual_feeds(const CudaTsmttsmProblem& p);
bool feeds_serve(const CudaTsmttsmProblem& p, int feeds);

/// Numbers that boxes of this pitch may have in front of their first one.
int lead_of(const CudaTsmttsmProblem& p, std::int64_t pitch);

/// Where B is A, a stage holds its rows once, but for sections, which want different columns.
bool comes_once(const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

/// Rows of both operands are dealt into one number of classes.
int row_classes(const CudaTsmttsmProblem& p, const CudaTsmttsm& c);

/// What follows for the operands from a chunk's rows.
void feed_rows(const CudaTsmttsmProblem& p, CudaTsmttsm& c);
void feed_columns(const CudaTsmttsmProblem& p, CudaTsmttsm& c);

}  // namespace blockvec::kernels::dispatch
