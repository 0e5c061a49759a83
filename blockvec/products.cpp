#include <algorithm>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/transfer.hpp>
#include <optional>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/reproducible.hpp"
#include "blockvec/timer.hpp"

namespace blockvec {
namespace {

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

template <class Scalar>
struct SetZero {
  Scalar* to;
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t i) const { to[i] = Scalar(0); }
};

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

}  // namespace

template <class Scalar, class Layout, class Space>
void gram_schmidt_sweep(std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* s,
                        const BlockVector<Scalar, Layout, Space>& w,
                        const std::type_identity_t<SmallMatrix<Scalar, Space>>* x, kernels::Triangle triangle) {
  require_sweep<Scalar, Layout, Space, Space>(v, s, w, x);
  if constexpr (is_host_space<Space>) {
    if (v.size() <= most_pieces) return local_sweep<Scalar, Layout, Space>(v, s, w, x, triangle, nullptr, nullptr);
  }
  if (s != nullptr) {
    for_pieces<Scalar, Layout, Space, Space>(
        v, *s, [&](const auto& piece, const auto& rows) { update(Scalar(-1), piece, rows, Scalar(1), w); });
  }
  if (x != nullptr) multiply_in_place(w, *x, triangle);
}

template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void gram_schmidt_sweep(
    std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
    const std::type_identity_t<SmallMatrix<Scalar>>* s, const BlockVector<Scalar, Layout, Space>& w,
    const std::type_identity_t<SmallMatrix<Scalar>>* x, kernels::Triangle triangle) {
  require_sweep<Scalar, Layout, Space, Kokkos::HostSpace>(v, s, w, x);
  WorkspaceScope<Space> scope(w.context());
  const auto all = s != nullptr ? joined<Scalar, Layout, Space>(v, w) : std::nullopt;
  if (all) {
    const std::int64_t m = all->width() - w.width(), b = w.width(), k = w.local_rows();
    WorkspaceScope<> host_scope(w.context());
    const auto c = SmallMatrix<Scalar>::scratch(host_scope, m + b, b);
    set_sweep_factor(*s, x, triangle, c);
    const OperationTimer<Space> timer(w.context(), Operation::gram_schmidt_sweep,
                                      Cost<Scalar>::sweep_bytes(k, m, b, true),
                                      Cost<Scalar>::product_flops(k, m + b, b));
    kernels::tsmm_inplace<KernelScalar<Scalar>>(all->matrix(), kernel_matrix(detail::on_device(scope, c)),
                                                kernels::Triangle::general, tsmm_execution(scope, *all, b), m);
    return;
  }
  const auto there = [&](const SmallMatrix<Scalar>* a) {
    return a != nullptr ? detail::on_device(scope, *a) : SmallMatrix<Scalar, Space>();
  };
  const SmallMatrix<Scalar, Space> s_there = there(s), x_there = there(x);
  gram_schmidt_sweep(v, s != nullptr ? &s_there : nullptr, w, x != nullptr ? &x_there : nullptr, triangle);
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::require(const BlockVector<Scalar, Layout, Space>& v,
                                                   const BlockVector<Scalar, Layout, Space>& w,
                                                   const SmallMatrix<Scalar, Space>& c, int products) const {
  constexpr const char* name = "inner_product";
  require_same_rows(name, v, w);
  require_small(name, "C", c, v.width(), w.width(), v, w);
  if (!v.context().same(context_))
    throw ShapeError(std::string(name) + ": V = " + v.describe() + " belongs to another context");
  require_room(products);
  require_reproducible_space<Space>(name, context_);
  if (context_.is_reproducible() && count_ > 0 && !(rows_ == v.rows())) {
    throw ShapeError(std::string(name) + ": V = " + v.describe() +
                     ": expected the distribution of rows of the products before it, " + rows_.describe());
  }
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::record_reproducible(const BlockVector<Scalar, Layout, Space>& v,
                                                               const BlockVector<Scalar, Layout, Space>& w,
                                                               const DoubleDoubleMatrix<Scalar, Space>& c) {
  rows_ = v.rows();
  v_[count_] = v.matrix();
  w_[count_] = w.matrix();
  record(c, rows_);
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::record(const DoubleDoubleMatrix<Scalar, Space>& c,
                                                  const RowDistribution& rows) {
  tag_ = tag_ * 1000003 + rows.fingerprint();
  record(c);
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::record(const DoubleDoubleMatrix<Scalar, Space>& c) {
  const auto mix = [&](std::int64_t number) { tag_ = tag_ * 1000003 + static_cast<std::uint64_t>(number); };
  mix(c.rows());
  mix(c.columns() + 1);
  mix(c.low.columns());
  results_[count_++] = c;
  words_ += c.rows() * c.columns();
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add(
    const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
    const SmallMatrix<Scalar, Space>& c) {
  context_.collective([&] {
    require(v, w, c, 1);
    if (context_.is_reproducible()) return record_reproducible(v, w, {c, {}});
    const std::int64_t k = v.local_rows();
    const OperationTimer<Space> timer(context_, Operation::inner_product,
                                      Cost<Scalar>::inner_product_bytes(k, v.width(), w.width(), same_block(v, w)),
                                      Cost<Scalar>::product_flops(k, v.width(), w.width()));
    local_inner_product(v, w, c);
    record({c, {}}, v.rows());
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_swept(
    std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar, Space>* s,
    const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar, Space>* x, kernels::Triangle triangle,
    const SmallMatrix<Scalar, Space>* p, const SmallMatrix<Scalar, Space>& g) {
  context_.collective([&] {
    require_sweep(v, s, w, x);
    if (p != nullptr) {
      require_small("inner_product", "P", *p, total_width(v), w.width(), w);
      require_room(static_cast<int>(v.size()) + 1);
    }
    require(w, w, g, 1);
    if (!is_host_space<Space> || context_.is_reproducible() || v.size() > most_pieces) {
      gram_schmidt_sweep(v, s, w, x, triangle);
      if (p != nullptr) {
        for_pieces(v, *p, [&](const auto& piece, const auto& rows) { add(piece, w, rows); });
      }
      add(w, w, g);
      return;
    }
    if constexpr (is_host_space<Space>) {
      local_sweep(v, s, w, x, triangle, p, &g);
      if (p != nullptr) record({*p, {}}, w.rows());
      record({g, {}}, w.rows());
    }
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_dd(
    const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
    const DoubleDoubleMatrix<Scalar, Space>& c) {
  context_.collective([&] {
    require(v, w, c.high, 1);
    require(v, w, c.low, 1);
    if (context_.is_reproducible()) return record_reproducible(v, w, c);
    const std::int64_t k = v.local_rows();
    const OperationTimer<Space> timer(context_, Operation::inner_product,
                                      Cost<Scalar>::inner_product_bytes(k, v.width(), w.width(), same_block(v, w)),
                                      Cost<Scalar>::product_flops(k, v.width(), w.width()));
    local_inner_product_dd(v, w, c);
    record(c, v.rows());
    double_double_ = true;
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_share(
    const SmallMatrix<Scalar, Space>& c) {
  context_.collective([&] {
    if (!c.context().same(context_)) throw ShapeError("inner_product: C belongs to another context");
    if (context_.is_reproducible()) {
      throw Error("inner_product: a rank's share depends on its rows, and a reproducible Context has no sum for it");
    }
    require_room(1);
    record({c, {}});
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::require_room(int products) const {
  if (count_ + products <= max_products) return;
  throw ShapeError("inner_product: more than " + std::to_string(max_products) + " products in one reduction");
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::forget() noexcept {
  if (any_on_host_) std::fill_n(on_host_, count_, OnHost{});
  count_ = 0;
  words_ = 0;
  tag_ = 0;
  double_double_ = any_on_host_ = false;
}

template <class Scalar, class Layout, class Space>
Scalar* InnerProducts<Scalar, Layout, Space>::in_one_piece() const {
  const Scalar* next = results_[0].high.data();
  const auto follows = [&](const SmallMatrix<Scalar, Space>& c, std::int64_t rows, std::int64_t columns) {
    const bool adjacent =
        c.data() == next && c.rows() == rows && c.columns() == columns && (c.ld() == rows || columns == 1);
    next += rows * columns;
    return adjacent;
  };
  for (int half = 0; half < (double_double_ ? 2 : 1); ++half) {
    for (int i = 0; i < count_; ++i) {
      const auto& result = results_[i];
      if (!follows(half == 0 ? result.high : result.low, result.rows(), result.columns())) return nullptr;
    }
  }
  return results_[0].high.data();
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::reduce() {
  if (count_ == 0) return;
  struct AtTheEnd {
    InnerProducts& products;
    ~AtTheEnd() { products.forget(); }
  };
  const AtTheEnd forgets{*this};
  if constexpr (is_host_space<Space>) {
    if (context_.is_reproducible()) return reduce_reproducibly();
  }
  const bool alone = context_.communicator().size() == 1;
  if (alone && !any_on_host_) return context_.sum_in<Space>(static_cast<Scalar*>(nullptr), words_, tag_);
  const auto words = static_cast<std::size_t>(double_double_ ? 2 * words_ : words_);
  WorkspaceScope<Space> scope(context_);
  WorkspaceScope<StagingSpaceOf<Space>> staging(context_);
  Scalar* sums = nullptr;     // all results as they are packed: high parts, then low parts words_ later
  Scalar* on_host = nullptr;  // the same where some are wanted on the host
  const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(Scalar); };
  // body(result i, where it is packed)
  const auto for_results = [&](Scalar* packed, auto body) {
    for (int i = 0; i < count_; packed += results_[i].rows() * results_[i].columns(), ++i) body(i, packed);
  };
  const auto pack = [&](const SmallMatrix<Scalar, Space>& c, Scalar* packed) {
    detail::copy_lines<Space>(context_, c.data(), bytes(c.ld()), packed, bytes(c.rows()), bytes(c.rows()),
                              static_cast<std::size_t>(c.columns()));
  };
  const auto unpack = [&](const Scalar* packed, const SmallMatrix<Scalar, Space>& c) {
    detail::copy_lines<Space>(context_, packed, bytes(c.rows()), c.data(), bytes(c.ld()), bytes(c.rows()),
                              static_cast<std::size_t>(c.columns()));
  };
  const auto pack_result = [&](int i, Scalar* at) {
    const auto& result = results_[i];
    pack(result.high, at);
    if (!double_double_) return;
    pack(result.low, at + words_);
    if (result.low.columns() > 0) return;
    for_entries<Space, RowMajor>(context_, 1, result.rows() * result.columns(), SetZero<Scalar>{at + words_});
  };
  const auto copy_all = [&](const Scalar* from, Scalar* to) {
    const std::size_t whole = words * sizeof(Scalar);
    detail::copy_lines<Space>(context_, from, whole, to, whole, whole, 1);
  };
  Scalar* const piece = in_one_piece();
  bool in_place = false;
  context_.collective([&] {
    const bool there = is_host_space<Space> || context_.sums_on_device<Space>();
    in_place = there && piece != nullptr;
    if (in_place) {
      sums = piece;
    } else {
      sums = there ? scope.template take<Scalar>(words) : staging.template take<Scalar>(words);
      piece != nullptr ? copy_all(piece, sums) : for_results(sums, pack_result);
    }
    if (there) {
      context_.sum_in<Space>(sums, words_, tag_, double_double_);
      if (!any_on_host_) return;
      on_host = staging.template take<Scalar>(words);
      copy_all(sums, on_host);
      return context_.fence<Space>();
    }
    // From here on the host may write: no copy out of this memory is under way any more, be it an earlier call's.
    context_.fence<Space>();
    on_host = sums;
    context_.sum_in<Kokkos::HostSpace>(sums, words_, tag_, double_double_);
  });
  if (any_on_host_) {
    for_results(on_host, [&](int i, const Scalar* at) {
      if (on_host_[i].asked) hand_over(on_host_[i], at, at + words_);
    });
  }
  if (in_place || alone) return;
  for_results(sums, [&](int i, const Scalar* at) {
    if (any_on_host_ && on_host_[i].asked) return;
    unpack(at, results_[i].high);
    if (double_double_) unpack(at + words_, results_[i].low);
  });
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::hand_over(const OnHost& to, const Scalar* high, const Scalar* low) const {
  const std::int64_t above = to.above.rows(), rows = above + to.below.rows();
  const auto copy = [&](const SmallMatrix<Scalar>& c, const Scalar* from) {
    for (std::int64_t j = 0; j < c.columns(); ++j) std::copy_n(from + j * rows, c.rows(), c.data() + j * c.ld());
  };
  copy(to.above.high, high);
  copy(to.above.low, low);
  copy(to.below, high + above);
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add(
    const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
    const SmallMatrix<Scalar>& c) requires(!is_host_space<Space>) {
  context_.collective([&] {
    require_small("inner_product", "C", c, v.width(), w.width(), v, w);
    add(v, w, SmallMatrix<Scalar, Space>::scratch(scope(), c.rows(), c.columns()));
    want_on_host({{c, {}}, {}});
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_dd(
    const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
    const DoubleDoubleMatrix<Scalar>& c) requires(!is_host_space<Space>) {
  context_.collective([&] {
    require_small("inner_product", "C", c.high, v.width(), w.width(), v, w);
    require_small("inner_product", "C", c.low, v.width(), w.width(), v, w);
    add_dd(v, w, DoubleDoubleMatrix<Scalar, Space>::scratch(scope(), c.rows(), c.columns()));
    want_on_host({c, {}});
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_share(
    const SmallMatrix<Scalar>& c) requires(!is_host_space<Space>) {
  context_.collective([&] {
    add_share(detail::on_device(scope(), c));
    want_on_host({{c, {}}, {}});
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_swept(
    std::span<const BlockVector<Scalar, Layout, Space>> v, const SmallMatrix<Scalar>* s,
    const BlockVector<Scalar, Layout, Space>& w, const SmallMatrix<Scalar>* x, kernels::Triangle triangle,
    const SmallMatrix<Scalar>* p, const SmallMatrix<Scalar>& g) requires(!is_host_space<Space>) {
  context_.collective([&] {
    require_sweep(v, s, w, x);
    require_small("inner_product", "G", g, w.width(), w.width(), w);
    if (p != nullptr) {
      require_small("inner_product", "P", *p, total_width(v), w.width(), w);
      require_room(static_cast<int>(v.size()) + 1);
    }
    gram_schmidt_sweep(v, s, w, x, triangle);
    const auto all = p != nullptr ? joined(v, w) : std::nullopt;
    if (all) {
      add(*all, w, SmallMatrix<Scalar, Space>::scratch(scope(), all->width(), w.width()));
      return want_on_host({{*p, {}}, g});
    }
    if (p != nullptr) {
      for_pieces(v, *p, [&](const auto& piece, const auto& rows) { add(piece, w, rows); });
    }
    add(w, w, g);
  });
  return *this;
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::want_on_host(const OnHost& to) {
  on_host_[count_ - 1] = to;
  on_host_[count_ - 1].asked = any_on_host_ = true;
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::reduce_reproducibly() {
  RowProduct<Scalar> products[max_products];
  double bytes = 0, flops = 0;
  std::int64_t words = 0;
  for (int i = 0; i < count_; ++i) {
    const bool is_double_double = results_[i].low.columns() > 0;
    const auto& product = products[i] = {v_[i], w_[i], is_double_double ? Wanted::double_double : Wanted::product};
    bytes += Cost<Scalar>::inner_product_bytes(product.v.rows, product.v.columns, product.w.columns, product.same());
    flops += Cost<Scalar>::product_flops(product.v.rows, product.v.columns, product.w.columns);
    words += product.words();
  }
  const OperationTimer<Space> timer(context_, Operation::inner_product, bytes, flops);
  WorkspaceScope<> scope(context_);
  const Scalar* sums = context_.collective([&] {
    auto* const to = scope.template take<Scalar>(static_cast<std::size_t>(words));
    const std::span<const RowProduct<Scalar>> all(products, static_cast<std::size_t>(count_));
    sum_reproducibly(context_, rows_, all, tag_, to);
    return to;
  });
  for (int i = 0; i < count_; ++i) {
    const SmallMatrix<Scalar, Space>* const halves[] = {&results_[i].high, &results_[i].low};
    for (const auto* c : halves) {
      for (std::int64_t j = 0; j < c->columns(); ++j, sums += c->rows()) {
        std::copy_n(sums, c->rows(), c->data() + j * c->ld());
      }
    }
  }
}

template <class Scalar, class Layout, class Space>
void inner_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                   const SmallMatrix<Scalar, Space>& c) {
  InnerProducts<Scalar, Layout, Space>(v.context()).add(v, w, c).reduce();
}

template <class Scalar, class Layout, class Space>
void inner_product_dd(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                      const DoubleDoubleMatrix<Scalar, Space>& c) {
  InnerProducts<Scalar, Layout, Space>(v.context()).add_dd(v, w, c).reduce();
}

template <class Scalar, class Layout, class Space>
void update(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c, Scalar beta,
            const BlockVector<Scalar, Layout, Space>& w) {
  constexpr const char* name = "update";
  require_same_rows(name, v, w);
  require_apart(name, v, w);
  require_small(name, "C", c, v.width(), w.width(), v, w);
  const std::int64_t k = v.local_rows();
  const OperationTimer<Space> timer(v.context(), Operation::update,
                                    Cost<Scalar>::update_bytes(k, v.width(), w.width(), beta != Scalar(0)),
                                    Cost<Scalar>::product_flops(k, v.width(), w.width()));
  WorkspaceScope<Space> scope(v.context());
  kernels::tsmm<KernelScalar<Scalar>>(kernel_value(alpha), v.matrix(), kernel_matrix(c), kernel_value(beta), w.matrix(),
                                      kernels::Triangle::general, tsmm_execution(scope, v, w.width()));
}

template <class Scalar, class Layout, class Space>
void multiply_in_place(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c,
                       kernels::Triangle triangle, std::int64_t first) {
  constexpr const char* name = "multiply_in_place";
  if (first < 0 || c.rows() != v.width() || c.columns() > v.width() - first) {
    throw ShapeError(std::string(name) + ": V = " + v.describe() + ": C is " + std::to_string(c.rows()) + " x " +
                     std::to_string(c.columns()) + " for columns from " + std::to_string(first) + " on, expected " +
                     std::to_string(v.width()) + " rows and no more columns than V has there");
  }
  require_same_context(name, "C", c, v);
  const std::int64_t k = v.local_rows();
  const OperationTimer<Space> timer(v.context(), Operation::multiply_in_place,
                                    Cost<Scalar>::multiply_in_place_bytes(k, v.width(), c.columns()),
                                    Cost<Scalar>::product_flops(k, v.width(), c.columns()));
  WorkspaceScope<Space> scope(v.context());
  kernels::tsmm_inplace<KernelScalar<Scalar>>(v.matrix(), kernel_matrix(c), triangle,
                                              tsmm_execution(scope, v, c.columns()), first);
}

template <class Scalar>
double Cost<Scalar>::inner_product_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool same) {
  return kernels::tsmttsm_bytes<typename ScalarTraits<Scalar>::Kernel>(rows, m, b, same);
}
template <class Scalar>
double Cost<Scalar>::update_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool reads_output) {
  return kernels::tsmm_bytes<typename ScalarTraits<Scalar>::Kernel>(rows, m, b, reads_output);
}
template <class Scalar>
double Cost<Scalar>::multiply_in_place_bytes(std::int64_t rows, std::int64_t m, std::int64_t n) {
  return update_bytes(rows, m, n, false);
}
template <class Scalar>
double Cost<Scalar>::sweep_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool writes) {
  return update_bytes(rows, m, b, writes);
}
template <class Scalar>
double Cost<Scalar>::product_flops(std::int64_t rows, std::int64_t m, std::int64_t b) {
  return kernels::product_flops<typename ScalarTraits<Scalar>::Kernel>(rows, m, b);
}
template <class Scalar>
double Cost<Scalar>::passes_bytes(std::int64_t rows, std::int64_t words_per_row) {
  return static_cast<double>(rows) * static_cast<double>(words_per_row) * static_cast<double>(sizeof(Scalar));
}

#define BLOCKVEC_COST(Scalar) template struct Cost<Scalar>;
BLOCKVEC_FOR_SCALARS(BLOCKVEC_COST)

#define BLOCKVEC_PRODUCTS(Scalar, Layout, Space)                                                                       \
  template class InnerProducts<Scalar, Layout, Space>;                                                                 \
  template void inner_product(const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,    \
                              const SmallMatrix<Scalar, Space>&);                                                      \
  template void inner_product_dd(const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&, \
                                 const DoubleDoubleMatrix<Scalar, Space>&);                                            \
  template void update(Scalar, const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&, Scalar,   \
                       const BlockVector<Scalar, Layout, Space>&);                                                     \
  template void gram_schmidt_sweep(std::span<const BlockVector<Scalar, Layout, Space>>,                                \
                                   const SmallMatrix<Scalar, Space>*, const BlockVector<Scalar, Layout, Space>&,       \
                                   const SmallMatrix<Scalar, Space>*, kernels::Triangle);                              \
  template void multiply_in_place(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<Scalar, Space>&,        \
                                  kernels::Triangle, std::int64_t);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_PRODUCTS)

#if BLOCKVEC_HAVE_CUDA_SPACE
#define BLOCKVEC_PRODUCTS_ON_HOST(Scalar, Layout)                                                                     \
  template void gram_schmidt_sweep(std::span<const BlockVector<Scalar, Layout, Kokkos::CudaSpace>>,                   \
                                   const SmallMatrix<Scalar>*, const BlockVector<Scalar, Layout, Kokkos::CudaSpace>&, \
                                   const SmallMatrix<Scalar>*, kernels::Triangle);
#define BLOCKVEC_PRODUCTS_OF_LAYOUTS(Scalar) \
  BLOCKVEC_PRODUCTS_ON_HOST(Scalar, RowMajor) BLOCKVEC_PRODUCTS_ON_HOST(Scalar, ColumnMajor)
BLOCKVEC_FOR_SCALARS(BLOCKVEC_PRODUCTS_OF_LAYOUTS)
#endif

}  // namespace blockvec
