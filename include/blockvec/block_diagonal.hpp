#pragma once

#include <blockvec/block_vector.hpp>

namespace blockvec {

/// W = D V for a D of square blocks along the diagonal, s rows each, the last block of a rank's rows maybe fewer. D is
/// given by rows, as a block vector with s columns: row i of it holds the entries of D's row i within the block. Blocks
/// begin at each rank's first row; in a block of fewer rows the last columns do not count. V and W are as wide, and do
/// not overlap. One pass over D, s of V that the caches serve: K (s + 2 m) words from memory, K s m products. Throws
/// ShapeError naming the operands. For block vectors as in operations.hpp.
template <class Scalar, class Layout, class Space>
void multiply_block_diagonal(const BlockVector<Scalar, Layout, Space>& d, const BlockVector<Scalar, Layout, Space>& v,
                             const BlockVector<Scalar, Layout, Space>& w);

}  // namespace blockvec
