// Operations whose coefficients or places differ from column to column, against obvious loops.
#include <gtest/gtest.h>

#include <blockvec/column_operations.hpp>
#include <blockvec/operations.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/cases.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

template <class C>
class ColumnOperationsTest : public ::testing::Test {
 protected:
  using Entry = typename C::Scalar;
  using Block = typename C::Vector;

  /// 1, -2, 3, ... one for each column.
  template <class Number>
  static HostMatrix<Number> coefficients(std::int64_t width) {
    HostMatrix<Number> values("values", 1, static_cast<std::size_t>(width));
    for (std::size_t j = 0; j < values.extent(1); ++j)
      values(0, j) = Number(static_cast<RealOf<Entry>>((j % 2 == 0 ? 1. : -1.) * static_cast<double>(j + 1)));
    return values;
  }
  static Block random(const Context& context, const RowDistribution& rows, std::int64_t width, std::uint64_t seed) {
    const Block whole(context, rows, width + 3, "whole");  // a view inside: its leading dimension is another
    const Block v = whole.columns(1, 1 + width);
    fill_random(v, seed);
    return v;
  }
  static RealOf<Entry> difference(Entry a, Entry b) {
    if constexpr (ScalarTraits<Entry>::is_complex) {
      return Kokkos::abs(a - b);
    } else {
      return std::abs(a - b);
    }
  }
};
TYPED_TEST_SUITE(ColumnOperationsTest, testing::AllCases, testing::CaseName);

TYPED_TEST(ColumnOperationsTest, MatchObviousLoops) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::world(2);
  for (const std::int64_t width : {0, 1, 3, 8, 70}) {
    const auto rows = RowDistribution::uniform(317, context.communicator());
    const auto v = this->random(context, rows, width, 1), w = this->random(context, rows, width, 2);
    const auto x = testing::on_host(v), y = testing::on_host(w.deep_copy());
    const typename TypeParam::Small alpha(context, 1, width);
    const typename TypeParam::RealSmall theta(context, 1, width), norms(context, 1, width);
    const auto a = this->template coefficients<Scalar>(width);
    const auto t = this->template coefficients<Real>(width);
    alpha.from_host(a);
    theta.from_host(t);
    const auto expect_all = [&](const auto& expected) {
      const auto got = testing::on_host(w);
      for (std::int64_t i = 0; i < got.local_rows(); ++i) {
        for (std::int64_t j = 0; j < width; ++j) {
          const auto scale = static_cast<Real>(j + 4);
          ASSERT_LE(this->difference(got.view()(i, j), expected(i, j)), 4 * scale * epsilon<Scalar>)
              << i << ", " << j << " of " << width;
        }
      }
    };
    axpby_columns(alpha, v, Scalar(2), w);
    expect_all([&](auto i, auto j) { return a(0, j) * x.view()(i, j) + Scalar(2) * y.view()(i, j); });
    fill(w, Scalar(std::numeric_limits<Real>::quiet_NaN()));
    axpby_columns(alpha, v, Scalar(0), w);
    expect_all([&](auto i, auto j) { return a(0, j) * x.view()(i, j); });

    // Several V, with W among them.
    const typename TypeParam::Small three(context, 3, width);
    const typename TypeParam::Vector u(context, v.rows(), width, "U");
    fill_random(u, 5);
    const auto z = testing::on_host(u);
    HostMatrix<Scalar> c("c", 3, static_cast<std::size_t>(width));
    for (std::size_t j = 0; j < c.extent(1); ++j) {
      for (std::size_t k = 0; k < 3; ++k) c(k, j) = Scalar(Real(k + 1) / Real(4) - Real(j) / Real(8));
    }
    three.from_host(c);
    fill_random(w, 2);
    axpby_columns(three, {{v, u, w}}, Scalar(0), w);
    expect_all(
        [&](auto i, auto j) { return c(0, j) * x.view()(i, j) + c(1, j) * z.view()(i, j) + c(2, j) * y.view()(i, j); });
    fill_random(w, 2);
    axpby_columns(three.block(1, 3, 0, width), {{v, u}}, Scalar(2), w);
    expect_all([&](auto i, auto j) {
      return c(1, j) * x.view()(i, j) + c(2, j) * z.view()(i, j) + Scalar(2) * y.view()(i, j);
    });
    fill(w, Scalar(std::numeric_limits<Real>::quiet_NaN()));
    axpby_columns(three.block(0, 2, 0, width), {{v, u}}, Scalar(0), w);
    expect_all([&](auto i, auto j) { return c(0, j) * x.view()(i, j) + c(1, j) * z.view()(i, j); });

    fill_random(w, 2);
    const auto before = context.reductions();
    residual(v, theta, w, norms);
    EXPECT_EQ(context.reductions() - before, 1);
    expect_all([&](auto i, auto j) { return y.view()(i, j) - t(0, j) * x.view()(i, j); });
    const typename TypeParam::RealSmall measured(context, 1, width);
    column_norms(w, measured);
    const auto n = norms.to_host(), m = measured.to_host();
    for (std::size_t j = 0; j < n.extent(1); ++j) EXPECT_EQ(n(0, j), m(0, j));

    fill_random(w, 2);
    const typename TypeParam::Vector r(context, v.rows(), width, "residuals");
    fill(r, Scalar(std::numeric_limits<Real>::quiet_NaN()));
    residual(v, theta, w, r);
    expect_all([&](auto i, auto j) { return y.view()(i, j); });
    copy(r, w);
    expect_all([&](auto i, auto j) { return y.view()(i, j) - t(0, j) * x.view()(i, j); });

    std::vector<std::int64_t> list;  // backwards, one of them twice
    for (std::int64_t j = 0; j < width; ++j) list.push_back(std::max<std::int64_t>(0, width - 2 - j));
    gather_columns(v, list, w);
    expect_all([&](auto i, auto j) { return x.view()(i, list[static_cast<std::size_t>(j)]); });
  }
}

TYPED_TEST(ColumnOperationsTest, RefuseOperandsThatDoNotFit) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(20, context.communicator());
  const Vector v(context, rows, 4, "basis"), w(context, rows, 4, "block"), narrow(context, rows, 2, "narrow");
  const typename TypeParam::Small alpha(context, 1, 4);
  const typename TypeParam::RealSmall theta(context, 1, 4), few(context, 1, 3);
  expect_parts(message_of<ShapeError>([&] { axpby_columns(alpha, v, Scalar(1), narrow); }),
               {"axpby_columns", "basis (20 x 4)", "narrow (20 x 2)", "same width"});
  expect_parts(message_of<ShapeError>([&] { axpby_columns(alpha, narrow, Scalar(1), narrow); }), {"alpha is 1 x 4"});
  const typename TypeParam::Vector four[] = {v, w, v, w};
  expect_parts(message_of<ShapeError>([&] { axpby_columns(alpha, four, Scalar(1), w); }),
               {"axpby_columns", "one to three V", "block (20 x 4)", "not 4"});
  expect_parts(message_of<ShapeError>([&] { axpby_columns(alpha, std::span(four, 2), Scalar(1), w); }),
               {"alpha is 1 x 4"});
  expect_parts(message_of<ShapeError>([&] {
                 axpby_columns(alpha, {{v, narrow}}, Scalar(1), v);
               }),
               {"axpby_columns", "narrow (20 x 2)", "same width"});
  expect_parts(message_of<ShapeError>([&] { residual(v, few, w, theta); }), {"residual", "theta is 1 x 3"});
  expect_parts(message_of<ShapeError>([&] { residual(v, theta, w, few); }), {"residual", "norms is 1 x 3"});
  expect_parts(message_of<ShapeError>([&] { residual(v, theta, v, theta); }), {"residual", "share columns"});
  expect_parts(message_of<ShapeError>([&] { residual(v, theta, w, narrow); }), {"residual", "narrow (20 x 2)"});
  expect_parts(message_of<ShapeError>([&] { residual(v, theta, w, w); }), {"residual", "share columns"});
  const std::int64_t list[] = {0, 4};
  expect_parts(message_of<ShapeError>([&] { gather_columns(v, list, narrow); }),
               {"gather_columns", "basis (20 x 4)", "narrow (20 x 2)"});
  expect_parts(message_of<ShapeError>([&] { gather_columns(v, std::span(list, 1), narrow); }), {"a list of 1 columns"});
}

TYPED_TEST(ColumnOperationsTest, DivideByADiagonal) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  const Context context = Context::world(2);
  const auto rows = RowDistribution::uniform(317, context.communicator());
  const auto d = this->random(context, rows, 1, 3), e = this->random(context, rows, 1, 4);
  const auto d_here = testing::on_host(d), e_here = testing::on_host(e);
  const auto of_d = d_here.view(), of_e = e_here.view();
  constexpr Real share = Real(0.125);
  const auto real = [](const Scalar& number) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return number.real();
    } else {
      return number;
    }
  };
  for (const std::int64_t width : {0, 1, 3, 8}) {
    const auto v = this->random(context, rows, width, 1), w = this->random(context, rows, width, 2);
    const auto v_here = testing::on_host(v);
    const auto x = v_here.view();
    const typename TypeParam::RealSmall theta(context, 1, width);
    const auto t = this->template coefficients<Real>(width);
    theta.from_host(t);
    for (const bool has_e : {false, true}) {
      divide_by_diagonal(d, has_e ? e : typename TypeParam::Vector(), theta, share, v, w);
      const auto w_here = testing::on_host(w);
      const auto y = w_here.view();
      for (std::size_t i = 0; i < y.extent(0); ++i) {
        for (std::size_t j = 0; j < y.extent(1); ++j) {
          const Real difference = std::abs(real(of_d(i, 0)) - t(0, j) * (has_e ? real(of_e(i, 0)) : Real(1)));
          const Real divisor = std::max(difference, share * std::abs(real(of_d(i, 0))));
          const Scalar expected = x(i, j) / divisor;
          // Rounding of the difference counts for more where it is small.
          const Real wrong = 4 * epsilon<Scalar> * (1 + std::abs(t(0, j))) / divisor;
          ASSERT_LE(this->difference(y(i, j), expected), 2 * wrong * (1 + this->difference(expected, Scalar(0))));
        }
      }
    }
  }
  const auto v = this->random(context, rows, 2, 1);
  const typename TypeParam::RealSmall theta(context, 1, 2);
  EXPECT_THROW(divide_by_diagonal(v, typename TypeParam::Vector(), theta, share, v, v), ShapeError);
  EXPECT_THROW(divide_by_diagonal(d, typename TypeParam::Vector(), theta, Real(-1), v, v), Error);
}

}  // namespace
}  // namespace blockvec
