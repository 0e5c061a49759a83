#pragma once

#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <optional>
#include <span>

#include "blockvec/checks.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/timer.hpp"

/// A sweep of block Gram-Schmidt on this rank's rows: what gram_schmidt_sweep and InnerProducts::add_swept share.
namespace blockvec {

template <class Scalar, class Layout, class Space>
std::int64_t total_width(std::span<const BlockVector<Scalar, Layout, Space>> v) {
  std::int64_t m = 0;
  for (const auto& piece : v) m += piece.width();
  return m;
}

template <class Scalar, class Layout, class Space, class SmallSpace>
void require_sweep(std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar, SmallSpace>* s,
                   const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar, SmallSpace>* x) {
  constexpr const char* name = "gram_schmidt_sweep";
  for (const auto& piece : v) {
    require_same_rows(name, piece, w);
    require_apart(name, piece, w);
  }
  if (s != nullptr) require_small(name, "S", *s, total_width(v), w.width(), w);
  if (x != nullptr) require_small(name, "X", *x, w.width(), w.width(), w);
}

/// body(piece, the rows of A that belong to it).
template <class Scalar, class Layout, class Space, class SmallSpace, class Body>
void for_pieces(std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar, SmallSpace>& a,
                Body body) {
  std::int64_t begin = 0;
  for (const auto& piece : v) {
    body(piece, a.block(begin, begin + piece.width(), 0, a.columns()));
    begin += piece.width();
  }
}

/// All of V and W as one view, if their columns are neighbours in one block vector.
template <class Scalar, class Layout, class Space>
std::optional<BlockVector<Scalar, Layout, Space>> joined(std::span<const BlockVector<Scalar, Layout, Space>> v,
                                                         const BlockVector<Scalar, Layout, Space>& w) {
  std::optional<BlockVector<Scalar, Layout, Space>> all;
  const auto join = [&](const auto& next) {
    if (!all) {
      all = next;
      return true;
    }
    if (!all->precedes(next)) return false;
    all = all->joined(next);
    return true;
  };
  for (const auto& piece : v) {
    if (piece.width() > 0 && !join(piece)) return std::nullopt;
  }
  if (!join(w)) return std::nullopt;
  return all;
}

/// C = [-S X; X], by which [V W] becomes (W - V S) X. A null X stands for the identity.
template <class Scalar>
void set_sweep_factor(const SmallMatrix<Scalar>& s, const SmallMatrix<Scalar>* x, kernels::Triangle triangle,
                      const SmallMatrix<Scalar>& c) {
  const std::int64_t m = s.rows(), b = s.columns();
  for (std::int64_t j = 0; j < b; ++j) {
    Scalar* const to = c.data() + j * c.ld();
    std::fill_n(to, m + b, Scalar(0));
    for (std::int64_t i = 0; i < b; ++i) {
      const bool counts =
          triangle == kernels::Triangle::upper ? i <= j : triangle != kernels::Triangle::lower || i >= j;
      if (x == nullptr ? i != j : !counts) continue;
      const Scalar factor = x == nullptr ? Scalar(1) : x->data()[i + j * x->ld()];
      const Scalar* const from = s.data() + i * s.ld();
      for (std::int64_t l = 0; l < m; ++l) to[l] -= factor * from[l];
      to[m + i] = factor;
    }
  }
}

/// Block vectors that the host sweeps in one pass; more are taken one after the other, as on a device.
constexpr std::size_t most_pieces = 4;

/// Small matrices that are null are left out.
template <class Scalar, class Layout, class Space>
void local_sweep(std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar, Space>* s,
                 const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar, Space>* x,
                 kernels::Triangle triangle, const SmallMatrix<Scalar, Space>* p, const SmallMatrix<Scalar, Space>* g) {
  using Kernel = KernelScalar<Scalar>;
  kernels::Matrix<const Kernel> pieces[most_pieces];
  std::int64_t widths[most_pieces];
  for (std::size_t i = 0; i < v.size(); ++i) {
    pieces[i] = v[i].matrix();
    widths[i] = v[i].width();
  }
  const std::int64_t k = w.local_rows(), m = total_width(v), b = w.width();
  const bool writes = s != nullptr || x != nullptr;
  const std::int64_t terms =
      (s != nullptr ? m : 0) + (x != nullptr ? b : 0) + (p != nullptr ? m : 0) + (g != nullptr ? b : 0);
  const OperationTimer<Space> timer(w.context(), writes ? Operation::gram_schmidt_sweep : Operation::inner_product,
                                    Cost<Scalar>::sweep_bytes(k, m, b, writes),
                                    Cost<Scalar>::product_flops(k, terms, b));
  const auto small = [](const SmallMatrix<Scalar, Space>* a) {
    return a != nullptr ? kernel_matrix(*a) : kernels::Matrix<Kernel>{nullptr, 0, 0, 1, kernels::Layout::column_major};
  };
  WorkspaceScope<Space> scope(w.context());
  const auto bytes = kernels::gram_schmidt_sweep_workspace<Kernel>(k, {widths, v.size()}, b, p != nullptr, g != nullptr,
                                                                   kernel_layout<Layout>, w.context().threads());
  kernels::gram_schmidt_sweep<Kernel>({pieces, v.size()}, small(s), w.matrix(), small(x), triangle, small(p), small(g),
                                      kernel_execution(scope, bytes));
}

}  // namespace blockvec
