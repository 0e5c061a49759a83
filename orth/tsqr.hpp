#pragma once

#include <blockvec/on_host.hpp>
#include <blockvec/transfer.hpp>

#include "orth/reduce.hpp"
#include "orth/row_tree.hpp"

namespace blockvec::orth {

/// This rank's rows of a block on the host: where they lie, or a copy in staging memory.
template <class Scalar, class Layout, class Space>
class RowsOnHost {
 public:
  RowsOnHost(WorkspaceScope<StagingSpaceOf<Space>>& scope, const BlockVector<Scalar, Layout, Space>& w)
      : w_(w), lines_(by_rows ? w.local_rows() : w.width()), length_(by_rows ? w.width() : w.local_rows()) {
    if constexpr (is_host_space<Space>) {
      data_ = w.data();
      ld_ = w.ld();
    } else {
      data_ = scope.template take<Scalar>(static_cast<std::size_t>(lines_ * length_));
      ld_ = length_;
      transfer(w.data(), w.ld(), data_, ld_);
      w.context().template fence<Space>();
    }
  }
  Scalar* data() const { return data_; }
  std::int64_t row_step() const { return by_rows ? ld_ : 1; }
  std::int64_t column_step() const { return by_rows ? 1 : ld_; }
  void write_back() const {
    if constexpr (!is_host_space<Space>) transfer(data_, ld_, w_.data(), w_.ld());
  }

 private:
  static constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  void transfer(const Scalar* from, std::int64_t from_ld, Scalar* to, std::int64_t to_ld) const {
    const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(Scalar); };
    detail::copy_lines<Space>(w_.context(), from, bytes(from_ld), to, bytes(to_ld), bytes(length_),
                              static_cast<std::size_t>(lines_));
  }
  const BlockVector<Scalar, Layout, Space>& w_;
  std::int64_t lines_, length_;
  Scalar* data_ = nullptr;
  std::int64_t ld_ = 0;
};

/// Powers of two that bring columns of these squared lengths to lengths of about 1.
template <class Real>
void unit_scales(const Real* squares, std::int64_t b, Real* scales) {
  for (std::int64_t j = 0; j < b; ++j) {
    const Real square = squares[j];
    scales[j] = square > 0 ? std::ldexp(Real(1), -std::ilogb(std::sqrt(square))) : Real(1);
  }
}

/// W <- Q and the factor R by Householder reflections: of chunks of rows, of their R's, and so on, and at last of the
/// ranks' R's, which all ranks gather and factorise alike. Orthonormal to rounding for any W, dependent columns
/// included: those get some direction, not one that keeps off V; so where escalation is allowed, W is left to the
/// strong method. One reduction of b^2 words a rank; 4b words. On the host, wherever W lies. Without a metric. Source:
/// Demmel, Grigori, Hoemmen, Langou 2012.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> tsqr_sweep(Call<Scalar, Layout, Space>& call) {
  const auto& block = call.block;
  using Real = RealOf<Scalar>;
  const std::int64_t b = block.b;
  const auto& rows = block.w.rows();
  const auto rows_of = [&](int rank) { return std::min(rows.begin(rank + 1) - rows.begin(rank), b); };
  std::int64_t stacked = 0, mine = 0;
  for (int rank = 0; rank < rows.ranks(); ++rank) {
    if (rank == block.context.communicator().rank()) mine = stacked;
    stacked += rows_of(rank);
  }
  WorkspaceScope<StagingSpaceOf<Space>> staging(block.context);
  WorkspaceScope<> scope(block.context);
  Real* const scales = scope.take<Real>(static_cast<std::size_t>(b));
  on_host([&](const auto& squares) { unit_scales(squares.data(), b, scales); }, reads(call.products.squares));

  const RowsOnHost<Scalar, Layout, Space> tall(staging, block.w);
  RowTree<Scalar> tree(scope, tall.data(), block.w.local_rows(), b, tall.row_step(), tall.column_step());
  tree.factor(scales);
  Scalar* const stack = scope.take<Scalar>(static_cast<std::size_t>(stacked * b));
  std::fill_n(stack, stacked * b, Scalar(0));
  std::copy_n(tree.root(), tree.root_rows() * b, stack + mine * b);
  block.context.sum(stack, stacked * b, static_cast<std::uint64_t>(stacked * b) * 31 + 7);  // others add zeros: exact
  RowTree<Scalar> top(scope, stack, stacked, b, b, 1);
  top.factor(nullptr);

  // R with a real diagonal that is not negative; Q's columns follow.
  const std::int64_t rank_rows = top.root_rows();
  Scalar* const first = scope.take<Scalar>(static_cast<std::size_t>(rank_rows * b));
  std::fill_n(first, rank_rows * b, Scalar(0));
  on_host(
      [&](const auto& r) {
        dense::fill(r, Scalar(0));
        for (std::int64_t k = 0; k < rank_rows; ++k) {
          Scalar* const row = top.root() + k * b;
          first[k * b + k] = householder::make_positive(row, k, b);
          for (std::int64_t j = k; j < b; ++j) dense::at(r, k, j) = row[j] / scales[j];
        }
      },
      writes(call.factor.r));
  call.findings.words += 4 * b;
  call.products.forget();
  call.set_reference();
  dense::column_squares(call.factor.r, call.lengths.parts);
  const auto found = dense::inspect_factor(call.factor.r, block.tolerance, call.lengths.reference);
  top.form(first);
  tree.form(stack + mine * b);
  tall.write_back();
  call.coefficients.divide(call.factor.r);
  if (found.rank < b && block.options.escalate) {
    call.findings.note(Reason::ill_conditioned);
    return {};
  }
  call.findings.note_condition(found.condition_estimate);
  call.findings.note_rank(found.rank);
  if (found.rank < b) {
    call.findings.note(Reason::rank_deficient);
    return {true, 1, std::numeric_limits<Real>::infinity(), 0};
  }
  dense::triangular_inverse(call.factor.r, call.factor.inverse);
  return {true, 1, dense::amplification(call.lengths.parts, call.factor.inverse), 0};
}

}  // namespace blockvec::orth
