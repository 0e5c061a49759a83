#pragma once

#include <gtest/gtest.h>

#include <blockvec/orth/dense.hpp>
#include <initializer_list>
#include <type_traits>

#include "tests/orth/matrices.hpp"

/// What tests of small dense matrices share.
namespace blockvec::test {

namespace dense = orth::dense;

template <class C>
class DenseTest : public ::testing::Test {
 public:
  using Scalar_ = typename C::Scalar;
  using Real_ = RealOf<Scalar_>;
  using Small = typename C::Small;
  using RealSmall = typename C::RealSmall;
  using Columns = HostColumns<Wide<Scalar_>>;
  static constexpr double eps =
      static_cast<double>(epsilon<Scalar_>) * (ScalarTraits<Scalar_>::is_complex ? 2.8284271247461903 : 1.0);

  /// A block in the middle of a larger matrix, so that leading dimensions matter.
  Small small(const Columns& a) const {
    const Small parent(context, a.rows + 3, a.columns + 2);
    dense::fill(parent, Scalar_(7));
    const auto block = parent.block(2, 2 + a.rows, 1, 1 + a.columns);
    const HostMatrix<Scalar_> entries("entries", static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.columns));
    for (std::int64_t j = 0; j < a.columns; ++j) {
      for (std::int64_t i = 0; i < a.rows; ++i) entries(i, j) = narrow<Scalar_>(a(i, j));
    }
    block.from_host(entries);
    return block;
  }
  Small empty(std::int64_t rows, std::int64_t columns) const { return small(Columns(rows, columns)); }
  /// An explicit read of one entry.
  template <class T>
  static T read(const SmallMatrix<T, typename C::Space>& a, std::int64_t row, std::int64_t column) {
    return a.to_host()(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
  }
  RealSmall reals(std::initializer_list<double> values) const {
    const RealSmall row(context, 1, static_cast<std::int64_t>(values.size()));
    std::int64_t j = 0;
    for (const double value : values) testing::put(row, 0, j++, static_cast<Real_>(value));
    return row;
  }
  static double difference(const Columns& a, const Columns& b) {
    Columns c = a;
    for (std::size_t i = 0; i < c.entries.size(); ++i) c.entries[i] -= b.entries[i];
    return norm(c);
  }
  static Columns identity(std::int64_t n) {
    Columns a(n, n);
    for (std::int64_t j = 0; j < n; ++j) a(j, j) = Wide<Scalar_>(1);
    return a;
  }
  Columns random(std::int64_t rows, std::int64_t columns) { return rounded<Scalar_>(generator.random(rows, columns)); }
  /// Well-conditioned upper triangular.
  Columns upper(std::int64_t n) {
    Columns a = random(n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i)
        a(i, j) *= Wide<Scalar_>(i > j ? 0.0L : i == j ? 1.0L : 0.25L / static_cast<long double>(n));
      a(j, j) += Wide<Scalar_>(3);
    }
    return rounded<Scalar_>(a);
  }

  Context context = Context::self(1);
  Generator<Scalar_> generator{99};
};
// The layout is that of block vectors: small matrices have one.
template <class Space>
using DenseScalars =
    ::testing::Types<testing::Case<float, RowMajor, Space>, testing::Case<double, RowMajor, Space>,
                     testing::Case<Complex<float>, RowMajor, Space>, testing::Case<Complex<double>, RowMajor, Space>>;

inline constexpr std::int64_t sizes[] = {0, 1, 2, 5, 16, 40};

}  // namespace blockvec::test
