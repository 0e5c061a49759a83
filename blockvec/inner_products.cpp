#include <algorithm>
#include <blockvec/operations.hpp>
#include <blockvec/small_on_host.hpp>
#include <blockvec/timer.hpp>
#include <blockvec/transfer.hpp>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"
#include "blockvec/kernel_calls.hpp"
#include "blockvec/local_dots.hpp"
#include "blockvec/reproducible.hpp"
#include "blockvec/sweep.hpp"

namespace blockvec {
namespace {

constexpr const char* name = "inner_product";
constexpr std::uint64_t dots_tag = 0x646f7473u;

template <class Scalar>
struct SetZero {
  Scalar* to;
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t i) const { to[i] = Scalar(0); }
};

}  // namespace

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::require(const BlockVector<Scalar, Layout, Space>& v,
                                                   const BlockVector<Scalar, Layout, Space>& w,
                                                   const SmallMatrix<Scalar, Space>& c, int products) const {
  require_same_rows(name, v, w);
  require_small(name, "C", c, v.width(), w.width(), v, w);
  require_operands(v, products);
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::require_operands(const BlockVector<Scalar, Layout, Space>& v,
                                                            int products) const {
  if (!v.context().same(context_))
    throw ShapeError(std::string(name) + ": V = " + v.describe() + " belongs to another context");
  require_room(products);
  if (context_.is_reproducible() && count_ > 0 && !(rows_ == v.rows())) {
    throw ShapeError(std::string(name) + ": V = " + v.describe() +
                     ": expected the distribution of rows of the products before it, " + rows_.describe());
  }
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::record_reproducible(const BlockVector<Scalar, Layout, Space>& v,
                                                               const BlockVector<Scalar, Layout, Space>& w,
                                                               const DoubleDoubleMatrix<Scalar, Space>& c,
                                                               bool diagonal) {
  rows_ = v.rows();
  v_[count_] = v.matrix();
  w_[count_] = w.matrix();
  diagonal_[count_] = diagonal;
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
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_dots(
    const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
    const SmallMatrix<Scalar, Space>& dots) {
  context_.collective([&] {
    require_same_width(name, v, w);
    require_small(name, "dots", dots, 1, v.width(), v);
    require_operands(v, 1);
    tag_ ^= dots_tag;  // a product of the same shape is something else
    if (context_.is_reproducible()) return record_reproducible(v, w, {dots, {}}, true);
    const std::int64_t rows = v.local_rows(), width = v.width();
    const OperationTimer<Space> timer(context_, Operation::column_dots,
                                      Cost<Scalar>::passes_bytes(rows, same_block(v, w) ? width : 2 * width),
                                      Cost<Scalar>::product_flops(rows, width, 1));
    WorkspaceScope<Space> temporary(context_);
    auto* const values = temporary.template take<Scalar>(static_cast<std::size_t>(width));
    local_dots(v, w, values);
    const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(Scalar); };
    detail::copy_lines<Space>(context_, values, bytes(1), dots.data(), bytes(dots.ld()), bytes(1),
                              static_cast<std::size_t>(width));
    record({dots, {}}, v.rows());
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
  if (context_.is_reproducible()) return reduce_reproducibly();
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
  return add_share(detail::on_device(scope(), c), c);
}

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add_share(
    const SmallMatrix<Scalar, Space>& share, const SmallMatrix<Scalar>& c) requires(!is_host_space<Space>) {
  context_.collective([&] {
    if (c.rows() != share.rows() || c.columns() != share.columns()) {
      throw ShapeError("inner_product: C is " + std::to_string(c.rows()) + " x " + std::to_string(c.columns()) +
                       " for a share of " + std::to_string(share.rows()) + " x " + std::to_string(share.columns()));
    }
    add_share(share);
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
    if (context_.is_reproducible() || v.size() > most_pieces) {
      gram_schmidt_sweep(v, s, w, x, triangle);
      if (p != nullptr) {
        for_pieces(v, *p, [&](const auto& piece, const auto& rows) { add(piece, w, rows); });
      }
      add(w, w, g);
      return;
    }
    using Pieces = std::span<const BlockVector<Scalar, Layout, Space>>;
    const auto v_if = [&](bool wanted) { return wanted ? v : Pieces(); };
    const auto add_pass = [&](Pieces pieces, const SmallMatrix<Scalar>* s_here, const SmallMatrix<Scalar>* x_here) {
      const std::int64_t m = total_width(pieces), b = w.width();
      const auto products = SmallMatrix<Scalar, Space>::scratch(scope(), m + b, b);
      const auto own = products.block(m, m + b, 0, b);
      require(w, w, own, 1);
      sweep_on_device(pieces, s_here, w, x_here, triangle, &products);
      record({p != nullptr ? products : own, {}}, w.rows());
      p != nullptr ? want_on_host({{*p, {}}, g}) : want_on_host({{g, {}}, {}});
    };
    const Pieces pieces = v_if(s != nullptr || p != nullptr);
    const bool changes = s != nullptr || x != nullptr;
    if (!changes || sweeps_in_one_pass(pieces, w, true, true)) return add_pass(pieces, s, x);
    gram_schmidt_sweep(v, s, w, x, triangle);
    add_pass(v_if(p != nullptr), nullptr, nullptr);
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
    const auto wanted = diagonal_[i]                    ? Wanted::diagonal
                        : results_[i].low.columns() > 0 ? Wanted::double_double
                                                        : Wanted::product;
    const auto& product = products[i] = {v_[i], w_[i], wanted};
    bytes += Cost<Scalar>::inner_product_bytes(product.v.rows, product.v.columns, product.w.columns, product.same());
    flops += Cost<Scalar>::product_flops(product.v.rows, product.v.columns, product.w.columns);
    words += product.words();
  }
  const OperationTimer<Space> timer(context_, Operation::inner_product, bytes, flops);
  WorkspaceScope<Space> scope(context_);
  WorkspaceScope<StagingSpaceOf<Space>> staging(context_);
  Scalar *sums = nullptr, *here = nullptr;
  context_.collective([&] {
    sums = scope.template take<Scalar>(static_cast<std::size_t>(words));
    if (any_on_host_) here = staging.template take<Scalar>(static_cast<std::size_t>(words));
    const std::span<const RowProduct<Scalar>> all(products, static_cast<std::size_t>(count_));
    sum_reproducibly<Space>(context_, rows_, all, tag_, sums, here);
  });
  const auto as_bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(Scalar); };
  std::int64_t first = 0;
  for (int i = 0; i < count_; first += products[i++].words()) {
    const std::int64_t entries = products[i].entries();
    if (any_on_host_ && on_host_[i].asked) {
      hand_over(on_host_[i], here + first, here + first + entries);
      continue;
    }
    const Scalar* from = sums + first;
    for (const auto* c : {&results_[i].high, &results_[i].low}) {
      detail::copy_lines<Space>(context_, from, as_bytes(c->rows()), c->data(), as_bytes(c->ld()), as_bytes(c->rows()),
                                static_cast<std::size_t>(c->columns()));
      from += entries;
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

#define BLOCKVEC_INNER_PRODUCTS(Scalar, Layout, Space)                                                                 \
  template class InnerProducts<Scalar, Layout, Space>;                                                                 \
  template void inner_product(const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,    \
                              const SmallMatrix<Scalar, Space>&);                                                      \
  template void inner_product_dd(const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&, \
                                 const DoubleDoubleMatrix<Scalar, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_INNER_PRODUCTS)

}  // namespace blockvec
