#pragma once

#include <blockvec/on_host.hpp>
#include <blockvec/transfer.hpp>
#include <optional>

#include "orth/reduce.hpp"
#include "orth/row_tree.hpp"
#include "orth/team_tree.hpp"

namespace blockvec::orth {

/// The tree over this rank's rows on the host: where they lie, or from a device in a copy in staging memory.
template <class Scalar, class Layout, class Space>
class TreeOnHost {
 public:
  using RealSmall = SmallMatrix<RealOf<Scalar>>;

  explicit TreeOnHost(const BlockVector<Scalar, Layout, Space>& w)
      : w_(w),
        lines_(by_rows ? w.local_rows() : w.width()),
        length_(by_rows ? w.width() : w.local_rows()),
        staging_(w.context()),
        scope_(w.context()) {
    if constexpr (is_host_space<Space>) {
      data_ = w.data();
      ld_ = w.ld();
    } else {
      data_ = staging_.template take<Scalar>(static_cast<std::size_t>(lines_ * length_));
      ld_ = length_;
      transfer(w.data(), w.ld(), data_, ld_);
      w.context().template fence<Space>();
    }
    tree_.emplace(scope_, data_, w.local_rows(), w.width(), by_rows ? ld_ : 1, by_rows ? 1 : ld_);
  }
  /// W diag(scales) = Q R. Returns R, min(rows, b) x b, row by row.
  const Scalar* factor(const RealSmall& scales) {
    tree_->factor(scales.data());
    return tree_->root();
  }
  /// W becomes Q T for a T of R's shape on the host.
  void form(const Scalar* t) {
    tree_->form(t);
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
  WorkspaceScope<StagingSpaceOf<Space>> staging_;
  WorkspaceScope<> scope_;
  Scalar* data_ = nullptr;
  std::int64_t ld_ = 0;
  std::optional<RowTree<Scalar>> tree_;
};

/// The same on the device where W lies. factor() waits for R; nothing else waits.
template <class Scalar, class Layout, class Space>
class TreeOnDevice {
 public:
  using RealSmall = SmallMatrix<RealOf<Scalar>>;

  explicit TreeOnDevice(const BlockVector<Scalar, Layout, Space>& w)
      : context_(w.context()),
        scope_(context_),
        staging_(context_),
        tree_(scope_, w.data(), w.local_rows(), w.width(), by_rows ? w.ld() : 1, by_rows ? 1 : w.ld()),
        bytes_(static_cast<std::size_t>(tree_.root_rows() * w.width()) * sizeof(Scalar)) {}
  const Scalar* factor(const RealSmall& scales) {
    tree_.factor(detail::on_device(scope_, scales).data(), team_tree::RunTeams<Space>{context_});
    auto* const root = staging_.template take<Scalar>(bytes_ / sizeof(Scalar));
    detail::copy_lines<Space>(context_, tree_.root(), bytes_, root, bytes_, bytes_, 1);
    context_.template fence<Space>();
    return root;
  }
  void form(const Scalar* t) {
    detail::copy_lines<Space>(context_, t, bytes_, tree_.root(), bytes_, bytes_, 1);
    tree_.form(team_tree::RunTeams<Space>{context_});
  }

 private:
  static constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  const Context context_;
  WorkspaceScope<Space> scope_;
  WorkspaceScope<StagingSpaceOf<Space>> staging_;
  TeamTree<Scalar, Space> tree_;
  std::size_t bytes_;
};

/// Powers of two that bring columns of these squared lengths to lengths of about 1.
template <class Real>
void unit_scales(const SmallMatrix<Real>& squares, const SmallMatrix<Real>& scales) {
  for (std::int64_t j = 0; j < squares.columns(); ++j) {
    const Real square = dense::entry(squares, 0, j);
    dense::at(scales, 0, j) = square > 0 ? std::ldexp(Real(1), -std::ilogb(std::sqrt(square))) : Real(1);
  }
}

/// W <- Q and the factor R with the tree over this rank's rows: see tsqr_sweep.
template <class Scalar, class Layout, class Space, class Tree>
Trust<RealOf<Scalar>> tsqr_sweep_by(Call<Scalar, Layout, Space>& call, Tree&& tree) {
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
  WorkspaceScope<> scope(block.context);
  const auto scales = SmallMatrix<Real>::scratch(scope, 1, b);
  unit_scales(call.products.squares, scales);

  const Scalar* const root = tree.factor(scales);
  Scalar* const stack = scope.take<Scalar>(static_cast<std::size_t>(stacked * b));
  std::fill_n(stack, stacked * b, Scalar(0));
  std::copy_n(root, std::min(block.w.local_rows(), b) * b, stack + mine * b);
  block.context.sum(stack, stacked * b, static_cast<std::uint64_t>(stacked * b) * 31 + 7);  // others add zeros: exact
  RowTree<Scalar> top(scope, stack, stacked, b, b, 1);
  top.factor(nullptr);

  // R with a real diagonal that is not negative; Q's columns follow.
  const std::int64_t rank_rows = top.root_rows();
  Scalar* const first = scope.take<Scalar>(static_cast<std::size_t>(rank_rows * b));
  std::fill_n(first, rank_rows * b, Scalar(0));
  dense::fill(call.factor.r, Scalar(0));
  for (std::int64_t k = 0; k < rank_rows; ++k) {
    Scalar* const row = top.root() + k * b;
    first[k * b + k] = householder::make_positive(row, k, b);
    for (std::int64_t j = k; j < b; ++j) dense::at(call.factor.r, k, j) = row[j] / dense::entry(scales, 0, j);
  }
  call.findings.words += 4 * b;
  call.products.forget();
  call.set_reference();
  dense::column_squares(call.factor.r, call.lengths.parts);
  const auto found = dense::inspect_factor(call.factor.r, block.tolerance, call.lengths.reference);
  top.form(first);
  tree.form(stack + mine * b);
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

/// W <- Q and the factor R by Householder reflections: of chunks of rows, of their R's, and so on, and at last of the
/// ranks' R's, which all ranks gather and factorise alike on the host. Orthonormal to rounding for any W, dependent
/// columns included: those get some direction, not one that keeps off V; so where escalation is allowed, W is left to
/// the strong method. One reduction of b^2 words a rank; 4b words. On a device up to team_tree::most_columns columns
/// stay there, and the host waits for this rank's R; beyond, W is copied to the host and back. Without a metric.
/// Source: Demmel, Grigori, Hoemmen, Langou 2012.
template <class Scalar, class Layout, class Space>
Trust<RealOf<Scalar>> tsqr_sweep(Call<Scalar, Layout, Space>& call) {
  if constexpr (!is_host_space<Space>) {
    if (call.block.b <= team_tree::most_columns) {
      return tsqr_sweep_by(call, TreeOnDevice<Scalar, Layout, Space>(call.block.w));
    }
  }
  return tsqr_sweep_by(call, TreeOnHost<Scalar, Layout, Space>(call.block.w));
}

}  // namespace blockvec::orth
