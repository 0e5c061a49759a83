#pragma once

#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/timer.hpp>
#include <optional>
#include <span>

#include "blockvec/checks.hpp"
#include "blockvec/kernel_calls.hpp"

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

/// How many views V and W are where columns that are neighbours in one block vector are taken as one.
template <class Scalar, class Layout, class Space>
std::int64_t views_of(std::span<const BlockVector<Scalar, Layout, Space>> v,
                      const BlockVector<Scalar, Layout, Space>& w) {
  std::int64_t views = 0;
  const BlockVector<Scalar, Layout, Space>* last = nullptr;
  const auto add = [&](const BlockVector<Scalar, Layout, Space>& next) {
    if (last == nullptr || !last->precedes(next)) ++views;
    last = &next;
  };
  for (const auto& piece : v) {
    if (piece.width() > 0) add(piece);
  }
  add(w);
  return views;
}

/// C = [-S X; X], by which [V W] becomes (W - V S) X. A null S stands for zero, a null X for the identity.
template <class Scalar>
void set_sweep_factor(const SmallMatrix<Scalar>* s, const SmallMatrix<Scalar>* x, kernels::Triangle triangle,
                      const SmallMatrix<Scalar>& c) {
  const std::int64_t b = c.columns(), m = c.rows() - b;
  for (std::int64_t j = 0; j < b; ++j) {
    Scalar* const to = c.data() + j * c.ld();
    std::fill_n(to, m + b, Scalar(0));
    for (std::int64_t i = 0; i < b; ++i) {
      const bool counts =
          triangle == kernels::Triangle::upper ? i <= j : triangle != kernels::Triangle::lower || i >= j;
      if (x == nullptr ? i != j : !counts) continue;
      const Scalar factor = x == nullptr ? Scalar(1) : x->data()[i + j * x->ld()];
      to[m + i] = factor;
      if (s == nullptr) continue;
      const Scalar* const from = s->data() + i * s->ld();
      for (std::int64_t l = 0; l < m; ++l) to[l] -= factor * from[l];
    }
  }
}

/// Block vectors that are swept in one pass; more are taken one after the other.
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

/// V's matrices and their widths as kernels take them.
template <class Scalar, class Layout, class Space>
struct SweepPieces {
  kernels::Matrix<const KernelScalar<Scalar>> matrix[most_pieces];
  std::int64_t width[most_pieces];
  std::size_t count = 0;

  explicit SweepPieces(std::span<const BlockVector<Scalar, Layout, Space>> v) {
    for (const auto& piece : v) {
      matrix[count] = piece.matrix();
      width[count++] = piece.width();
    }
  }
  std::span<const kernels::Matrix<const KernelScalar<Scalar>>> matrices() const { return {matrix, count}; }
  std::span<const std::int64_t> widths() const { return {width, count}; }
};

/// Whether a device changes W, forms products of it, or both, in one pass.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) bool sweeps_in_one_pass(std::span<const BlockVector<Scalar, Layout, Space>> v,
                                                        const BlockVector<Scalar, Layout, Space>& w, bool changes,
                                                        bool multiplies) {
  if (v.size() > most_pieces) return false;
  return kernels::cuda_sweeps_in_one_pass<KernelScalar<Scalar>>(SweepPieces<Scalar, Layout, Space>(v).matrices(),
                                                                w.matrix(), changes, multiplies);
}

/// Words a row that such a sweep moves.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) std::int64_t
    words_on_device(std::span<const BlockVector<Scalar, Layout, Space>> v, const BlockVector<Scalar, Layout, Space>& w,
                    bool changes, bool multiplies) {
  const std::int64_t m = total_width(v), b = w.width(), views = views_of(v, w);
  if (sweeps_in_one_pass(v, w, changes, multiplies)) return m + (changes ? 2 * b : b);
  return (changes ? m + 2 * b * views : 0) + (multiplies ? m + b * views : 0);
}

/// On a device, up to four block vectors: the change, if S or X is not null, which lie on the host; then [V W]^H W of
/// the new W, if `products` is not null.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void sweep_on_device(std::span<const BlockVector<Scalar, Layout, Space>> v,
                                                     const SmallMatrix<Scalar>* s,
                                                     const BlockVector<Scalar, Layout, Space>& w,
                                                     const SmallMatrix<Scalar>* x, kernels::Triangle triangle,
                                                     const SmallMatrix<Scalar, Space>* products) {
  using Kernel = KernelScalar<Scalar>;
  const SweepPieces<Scalar, Layout, Space> pieces(v);
  const std::int64_t k = w.local_rows(), m = total_width(v), b = w.width();
  const bool changes = s != nullptr || x != nullptr;
  WorkspaceScope<Space> scope(w.context());
  WorkspaceScope<> host_scope(w.context());
  kernels::Matrix<const Kernel> c;
  if (changes) {
    const auto factor = SmallMatrix<Scalar>::scratch(host_scope, m + b, b);
    set_sweep_factor(s, x, triangle, factor);
    c = kernel_matrix(detail::on_device(scope, factor));
  }
  const OperationTimer<Space> timer(
      w.context(), changes ? Operation::gram_schmidt_sweep : Operation::inner_product,
      Cost<Scalar>::passes_bytes(k, words_on_device(v, w, changes, products != nullptr)),
      Cost<Scalar>::product_flops(k, ((changes ? 1 : 0) + (products != nullptr ? 1 : 0)) * (m + b), b));
  const auto bytes = kernels::cuda_gram_schmidt_sweep_workspace<Kernel>(k, pieces.widths(), b);
  kernels::gram_schmidt_sweep<Kernel>(pieces.matrices(), c, w.matrix(),
                                      products != nullptr ? kernel_matrix(*products) : kernels::Matrix<Kernel>{},
                                      kernel_execution(scope, bytes));
}

}  // namespace blockvec
