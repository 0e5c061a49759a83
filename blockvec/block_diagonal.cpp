#include <blockvec/block_diagonal.hpp>
#include <blockvec/instantiate.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/timer.hpp>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"

namespace blockvec {
namespace {

template <class Scalar, class Layout>
struct RowOfBlock {
  Entries<Scalar, Layout> d, v;
  std::int64_t size, rows;
  KOKKOS_FUNCTION Scalar operator()(Position position) const {
    const std::int64_t begin = position.row / size * size;
    const std::int64_t count = begin + size <= rows ? size : rows - begin;
    Scalar sum(0);
    for (std::int64_t i = 0; i < count; ++i) sum += *d.at(position.row, i) * *v.at(begin + i, position.column);
    return sum;
  }
};

}  // namespace

template <class Scalar, class Layout, class Space>
void multiply_block_diagonal(const BlockVector<Scalar, Layout, Space>& d, const BlockVector<Scalar, Layout, Space>& v,
                             const BlockVector<Scalar, Layout, Space>& w) {
  constexpr const char* operation = "multiply_block_diagonal";
  require_same_rows(operation, d, v);
  require_same_rows(operation, v, w);
  require_apart(operation, v, w);
  if (v.width() != w.width() || d.width() == 0) {
    throw ShapeError(std::string(operation) + ": D = " + d.describe() + ", V = " + v.describe() +
                     " and W = " + w.describe() + ": expected V and W of the same width, and columns in D");
  }
  const std::int64_t rows = w.local_rows();
  const OperationTimer<Space> timer(
      w.context(), Operation::axpby, Cost<Scalar>::passes_bytes(rows, d.width() + 2 * w.width()),
      Cost<Scalar>::passes_bytes(rows, 2 * d.width() * w.width()) / static_cast<std::int64_t>(sizeof(Scalar)));
  assign<Space>(w.context(), rows, w.width(), entries(w),
                RowOfBlock<Scalar, Layout>{entries(d), entries(v), d.width(), rows});
}

#define BLOCKVEC_BLOCK_DIAGONAL(Scalar, Layout, Space)                             \
  template void multiply_block_diagonal(const BlockVector<Scalar, Layout, Space>&, \
                                        const BlockVector<Scalar, Layout, Space>&, \
                                        const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_BLOCK_DIAGONAL)

}  // namespace blockvec
