#include <algorithm>
#include <blockvec/column_operations.hpp>
#include <blockvec/instantiate.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/timer.hpp>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"

namespace blockvec {
namespace {

template <class Scalar>
struct ColumnCombination {
  const Scalar* alpha;
  std::int64_t step;
  Scalar beta;
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& x, const Scalar& y) const {
    return alpha[position.column * step] * x + beta * y;
  }
};

/// Sums of columns of `terms` operands, of which the first comes as `from`.
template <class Scalar, class Layout, int terms>
struct SumOfColumns {
  Entries<Scalar, Layout> others[terms - 1];
  const Scalar* alpha;
  std::int64_t step;
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& x) const {
    const Scalar* const factor = alpha + position.column * step;
    Scalar sum = factor[0] * x;
    for (int k = 1; k < terms; ++k) sum += factor[k] * *others[k - 1].at(position.row, position.column);
    return sum;
  }
};
template <class Scalar, class Layout, int terms>
struct SumOfColumnsAnd {
  SumOfColumns<Scalar, Layout, terms> sum;
  Scalar beta;
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& x, const Scalar& y) const {
    return sum(position, x) + beta * y;
  }
};

template <class Scalar>
struct LessTheta {
  const RealOf<Scalar>* theta;
  std::int64_t step;
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& x, const Scalar& ax) const {
    return ax - theta[position.column * step] * x;
  }
};

/// The same with an X that is a third operand.
template <class Scalar, class Layout>
struct LessThetaOf {
  Entries<Scalar, Layout> x;
  const RealOf<Scalar>* theta;
  std::int64_t step;
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& ax) const {
    return ax - theta[position.column * step] * *x.at(position.row, position.column);
  }
};

template <class Scalar, class Layout>
struct OverDiagonal {
  using Real = RealOf<Scalar>;
  Entries<Scalar, Layout> d, e;
  const Real* theta;
  std::int64_t step;
  Real share;
  KOKKOS_FUNCTION static Real size_of(Real number) { return number < 0 ? -number : number; }
  KOKKOS_FUNCTION static Real real(const Scalar& number) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return number.real();
    } else {
      return number;
    }
  }
  KOKKOS_FUNCTION Scalar operator()(Position position, const Scalar& x) const {
    const Real beside = e.data == nullptr ? Real(1) : real(*e.at(position.row, 0));
    const Real own = real(*d.at(position.row, 0));
    const Real difference = size_of(own - theta[position.column * step] * beside), least = share * size_of(own);
    const Real divisor = difference > least ? difference : least;
    return divisor > 0 ? x / divisor : x;
  }
};

/// Travels to a device by value.
constexpr std::int64_t most_columns = 64;
template <class Scalar, class Layout>
struct ColumnOf {
  Entries<Scalar, Layout> from;
  std::int64_t columns[most_columns];
  KOKKOS_FUNCTION Scalar operator()(Position position) const {
    return *from.at(position.row, columns[position.column]);
  }
};

template <class Scalar, class Layout, class Space, class Function>
void assign_columns(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                    std::int64_t words, Function function) {
  const OperationTimer<Space> timer(w.context(), Operation::axpby,
                                    Cost<Scalar>::passes_bytes(w.local_rows(), words * w.width()),
                                    Cost<Scalar>::passes_bytes(w.local_rows(), words * w.width()) / sizeof(Scalar));
  assign<Space>(w.context(), w.local_rows(), w.width(), entries(w), entries(v), function);
}

template <class V, class W>
void require_same_shape(const char* operation, const V& v, const W& w) {
  require_same_rows(operation, v, w);
  if (v.width() == w.width()) return;
  throw ShapeError(std::string(operation) + ": V = " + v.describe() + " and W = " + w.describe() +
                   ": expected the same width");
}

}  // namespace

template <class Scalar, class Layout, class Space>
void axpby_columns(const SmallMatrix<Scalar, Space>& alpha, const BlockVector<Scalar, Layout, Space>& v,
                   std::type_identity_t<Scalar> beta, const BlockVector<Scalar, Layout, Space>& w) {
  require_same_shape("axpby_columns", v, w);
  require_small("axpby_columns", "alpha", alpha, 1, v.width(), v);
  if (beta == Scalar(0)) {
    assign_columns(v, w, 2, TimesOfColumn<Scalar>{alpha.data(), alpha.ld()});
  } else {
    assign_columns(v, w, 3, ColumnCombination<Scalar>{alpha.data(), alpha.ld(), beta});
  }
}

template <class Scalar, class Layout, class Space>
void axpby_columns(const SmallMatrix<Scalar, Space>& alpha,
                   std::span<const std::type_identity_t<BlockVector<Scalar, Layout, Space>>> v,
                   std::type_identity_t<Scalar> beta, const BlockVector<Scalar, Layout, Space>& w) {
  constexpr const char* operation = "axpby_columns";
  if (v.empty() || v.size() > 3) {
    throw ShapeError(std::string(operation) + ": expected one to three V beside W = " + w.describe() + ", not " +
                     std::to_string(v.size()));
  }
  const std::int64_t terms = std::ssize(v);
  for (const auto& term : v) require_same_shape(operation, term, w);
  require_small(operation, "alpha", alpha, terms, w.width(), v.front());
  if (terms == 1) return axpby_columns(alpha, v.front(), beta, w);
  const auto sum = [&]<int count>(std::integral_constant<int, count>) {
    SumOfColumns<Scalar, Layout, count> s{{}, alpha.data(), alpha.ld()};
    for (std::size_t k = 1; k < count; ++k) s.others[k - 1] = entries(v[k]);
    if (beta == Scalar(0)) return assign_columns(v.front(), w, terms + 1, s);
    assign_columns(v.front(), w, terms + 2, SumOfColumnsAnd<Scalar, Layout, count>{s, beta});
  };
  terms == 2 ? sum(std::integral_constant<int, 2>()) : sum(std::integral_constant<int, 3>());
}

template <class Scalar, class Layout, class Space>
void residual(const BlockVector<Scalar, Layout, Space>& x, const SmallMatrix<RealOf<Scalar>, Space>& theta,
              const BlockVector<Scalar, Layout, Space>& ax, const SmallMatrix<RealOf<Scalar>, Space>& norms) {
  x.context().collective([&] {
    require_same_shape("residual", x, ax);
    require_apart("residual", x, ax);
    require_small("residual", "theta", theta, 1, x.width(), x);
    require_small("residual", "norms", norms, 1, x.width(), x);
    assign_columns(x, ax, 3, LessTheta<Scalar>{theta.data(), theta.ld()});
    column_norms(ax, norms);
  });
}

template <class Scalar, class Layout, class Space>
void residual(const BlockVector<Scalar, Layout, Space>& x, const SmallMatrix<RealOf<Scalar>, Space>& theta,
              const BlockVector<Scalar, Layout, Space>& ax, const BlockVector<Scalar, Layout, Space>& r) {
  require_same_shape("residual", x, ax);
  require_same_shape("residual", ax, r);
  require_apart("residual", x, r);
  require_apart("residual", ax, r);
  require_small("residual", "theta", theta, 1, x.width(), x);
  assign_columns(ax, r, 3, LessThetaOf<Scalar, Layout>{entries(x), theta.data(), theta.ld()});
}

template <class Scalar, class Layout, class Space>
void gather_columns(const BlockVector<Scalar, Layout, Space>& v, std::span<const std::int64_t> columns,
                    const BlockVector<Scalar, Layout, Space>& w) {
  require_same_rows("gather_columns", v, w);
  require_apart("gather_columns", v, w);
  const bool fits = std::all_of(columns.begin(), columns.end(),
                                [&](std::int64_t column) { return column >= 0 && column < v.width(); });
  if (!fits || std::ssize(columns) != w.width()) {
    throw ShapeError("gather_columns: a list of " + std::to_string(columns.size()) + " columns of V = " + v.describe() +
                     " for W = " + w.describe() + ": expected numbers of V's columns, as many as W has");
  }
  const OperationTimer<Space> timer(w.context(), Operation::copy,
                                    Cost<Scalar>::passes_bytes(w.local_rows(), 2 * w.width()), 0);
  for (std::int64_t begin = 0; begin < w.width(); begin += most_columns) {
    const std::int64_t count = std::min(most_columns, w.width() - begin);
    ColumnOf<Scalar, Layout> take{entries(v), {}};
    std::copy_n(columns.begin() + begin, count, take.columns);
    assign<Space>(w.context(), w.local_rows(), count, entries(w.columns(begin, begin + count)), take);
  }
}

template <class Scalar, class Layout, class Space>
void divide_by_diagonal(const BlockVector<Scalar, Layout, Space>& d, const BlockVector<Scalar, Layout, Space>& e,
                        const SmallMatrix<RealOf<Scalar>, Space>& theta, RealOf<Scalar> share,
                        const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w) {
  constexpr const char* operation = "divide_by_diagonal";
  require_same_shape(operation, v, w);
  require_same_rows(operation, d, v);
  if (e.width() > 0) require_same_rows(operation, e, v);
  if (d.width() != 1 || e.width() > 1) {
    throw ShapeError(std::string(operation) + ": D = " + d.describe() + " and E with " + std::to_string(e.width()) +
                     " columns: expected one column each, or none of E");
  }
  if (!(share >= 0))
    throw Error(std::string(operation) + ": expected a share of 0 or more, not " + std::to_string(share));
  require_small(operation, "theta", theta, 1, v.width(), v);
  const Entries<Scalar, Layout> ones{nullptr, 0};
  assign_columns(
      v, w, 2,
      OverDiagonal<Scalar, Layout>{entries(d), e.width() > 0 ? entries(e) : ones, theta.data(), theta.ld(), share});
}

#define BLOCKVEC_COLUMN_OPERATIONS(Scalar, Layout, Space)                                                             \
  template void axpby_columns(const SmallMatrix<Scalar, Space>&, const BlockVector<Scalar, Layout, Space>&, Scalar,   \
                              const BlockVector<Scalar, Layout, Space>&);                                             \
  template void axpby_columns(const SmallMatrix<Scalar, Space>&, std::span<const BlockVector<Scalar, Layout, Space>>, \
                              Scalar, const BlockVector<Scalar, Layout, Space>&);                                     \
  template void residual(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&,        \
                         const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&);       \
  template void residual(const BlockVector<Scalar, Layout, Space>&, const SmallMatrix<RealOf<Scalar>, Space>&,        \
                         const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&);       \
  template void gather_columns(const BlockVector<Scalar, Layout, Space>&, std::span<const std::int64_t>,              \
                               const BlockVector<Scalar, Layout, Space>&);                                            \
  template void divide_by_diagonal(                                                                                   \
      const BlockVector<Scalar, Layout, Space>&, const BlockVector<Scalar, Layout, Space>&,                           \
      const SmallMatrix<RealOf<Scalar>, Space>&, RealOf<Scalar>, const BlockVector<Scalar, Layout, Space>&,           \
      const BlockVector<Scalar, Layout, Space>&);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_COLUMN_OPERATIONS)

}  // namespace blockvec
