// What operations refuse, they refuse on every rank.
#include <blockvec/operations.hpp>
#include <span>
#include <vector>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using testing::expect_parts;
using testing::message_of;

template <class C>
class ChecksTest : public ::testing::Test {};
TYPED_TEST_SUITE(ChecksTest, testing::AllCases, testing::CaseName);

// Ranks without rows see an overlap as well as the others.
TYPED_TEST(ChecksTest, OverlapsAreRefusedOnEveryRank) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(1);
  const typename TypeParam::Small c(context, 4, 3), x(context, 3, 3), g(context, 3, 3);
  for (const auto& rows : testing::splits(20, context.communicator())) {
    const Vector basis(context, rows, 9, "basis");
    const Vector v = basis.columns(1, 5);
    for (const Vector& w : {basis.columns(4, 7), basis.columns(0, 8).columns(3, 7).columns(1, 4), v.columns(0, 3)}) {
      EXPECT_TRUE(v.shares_columns(w) && w.shares_columns(v));
      expect_parts(message_of<ShapeError>([&] { update(Scalar(1), v, c, Scalar(0), w); }),
                   {"update", "basis (20 x 4)", "basis (20 x 3)", "share columns"});
      expect_parts(
          message_of<ShapeError>([&] { gram_schmidt_sweep(std::span(&v, 1), &c, w, &x, kernels::Triangle::general); }),
          {"gram_schmidt_sweep", "share columns"});
      InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space> products(context);
      const auto add = [&] {
        products.add_swept(std::span(&v, 1), &c, w, nullptr, kernels::Triangle::general, nullptr, g);
      };
      expect_parts(message_of<ShapeError>(add), {"share columns"});
    }
    const Vector beside = basis.columns(5, 8), other = basis.deep_copy("other").columns(1, 4);
    EXPECT_FALSE(v.shares_columns(beside) || v.shares_columns(other) || v.shares_columns(v.columns(2, 2)));
    EXPECT_FALSE(v.precedes(other) || v.precedes(v) || v.columns(1, 2).precedes(v.column(0)));
    EXPECT_THROW(v.joined(other), ShapeError);
    EXPECT_NO_THROW(update(Scalar(1), v, c, Scalar(0), beside));
    EXPECT_NO_THROW(update(Scalar(1), v, c, Scalar(0), other));
    WorkspaceScope<typename TypeParam::Space> scope(context);
    EXPECT_FALSE(scratch_like(scope, v, 3).shares_columns(scratch_like(scope, v, 3)));
  }
}

TYPED_TEST(ChecksTest, RanksThatDisagreeOnShapesLearnSo) {
  using Vector = typename TypeParam::Vector;
  using Small = typename TypeParam::Small;
  const Context context = Context::world(1);
  if (context.communicator().size() == 1) GTEST_SKIP() << "needs two ranks";
  const bool first = context.communicator().rank() == 0;
  const auto rows = RowDistribution::uniform(40, context.communicator());
  const Vector v(context, rows, 15, "V");
  const Small c(context, 15, 15), dots(context, 1, 15);
  const auto expect_disagreement = [&](const auto& action) {
    expect_parts(message_of<DisagreementError>(action), {"different operations or shapes"});
  };
  const std::int64_t width = first ? 14 : 15;
  expect_disagreement([&] { inner_product(v.columns(0, 2), v.columns(0, width), c.block(0, 2, 0, width)); });
  expect_disagreement([&] {
    inner_product_dd(v.columns(0, 2), v.columns(0, width), {c.block(0, 2, 0, width), c.block(2, 4, 0, width)});
  });
  expect_disagreement([&] { column_dots(v.columns(0, width), v.columns(0, width), dots.block(0, 1, 0, width)); });
  // As many words: 2 x 3 and 3 x 2, a product and dots, the same widths of other rows.
  expect_disagreement([&] {
    inner_product(v.columns(0, first ? 2 : 3), v.columns(0, first ? 3 : 2),
                  c.block(0, first ? 2 : 3, 0, first ? 3 : 2));
  });
  expect_disagreement([&] { first ? inner_product(v.column(0), v, c.block(0, 1, 0, 15)) : column_dots(v, v, dots); });
  const Vector others(context, RowDistribution::uniform(first ? 40 : 41, context.communicator()), 3, "others");
  expect_disagreement([&] { inner_product(others, others, c.block(0, 3, 0, 3)); });
  expect_disagreement([&] { column_dots(others, others, dots.block(0, 1, 0, 3)); });
  EXPECT_NO_THROW(inner_product(v, v, c));
}

TYPED_TEST(ChecksTest, ARankThatFailsEndsAReductionOnEveryRank) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  using Small = typename TypeParam::Small;
  for (const auto summation : {Summation::fast, Summation::reproducible}) {
    const Context context = Context::world(1, summation);
    const Communicator& ranks = context.communicator();
    if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
    // Chunks of a reproducible sum lie on several ranks, so that ranks wait for rows of one another.
    const auto rows = RowDistribution::uniform(200, ranks);
    const Vector v(context, rows, 4, "V");
    fill(v, Scalar(1));
    const Small c(context, 4, 4), low(context, 4, 4), dots(context, 1, 4);
    const typename TypeParam::RealSmall norms(context, 1, 4);
    const std::int64_t before = context.reductions();
    for (int failing = 0; failing < ranks.size(); ++failing) {
      const bool fails = ranks.rank() == failing;
      const std::int64_t width = fails ? 3 : 4;  // of a result that does not fit
      const auto expect_end = [&](std::initializer_list<const char*> parts, const auto& action) {
        testing::expect_refusal<ShapeError>(ranks, failing, parts, action);
      };
      expect_end({"inner_product", "C is 4 x 3"}, [&] { inner_product(v, v, c.block(0, 4, 0, width)); });
      expect_end({"inner_product", "C is 4 x 3"}, [&] {
        inner_product_dd(v, v, {c.block(0, 4, 0, width), low.block(0, 4, 0, width)});
      });
      expect_end({"inner_product", "C is 3 x 4"}, [&] {
        InnerProducts<Scalar, typename TypeParam::Layout, typename TypeParam::Space> products(context);
        products.add(v, v, c).add(v, v, low.block(0, width, 0, 4)).reduce();
      });
      expect_end({"column_dots", "dots is 1 x 3"}, [&] { column_dots(v, v, dots.block(0, 1, 0, width)); });
      expect_end({"column_norms", "norms is 1 x 3"}, [&] { column_norms(v, norms.block(0, 1, 0, width)); });
    }
    column_norms(v, norms);
    EXPECT_EQ(norms.to_host()(0, 3), std::sqrt(static_cast<RealOf<Scalar>>(200)));
    const std::int64_t each = summation == Summation::fast ? 1 : 2;
    EXPECT_LE(context.reductions() - before, each * (5 * ranks.size() + 1))
        << "the message was the one that goes anyway";
  }
}

// What only one rank can see: memory that the caller has wrapped.
TYPED_TEST(ChecksTest, AnOverlapInMemoryOfOneRankEndsTheOperation) {
  if constexpr (is_host_space<typename TypeParam::Space>) {
    using Vector = typename TypeParam::Vector;
    const Context context = Context::world(1);
    const Communicator& ranks = context.communicator();
    if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
    std::vector<std::int64_t> table(static_cast<std::size_t>(ranks.size()), 0);
    table[0] = 20;
    const Vector v(context, RowDistribution::from_rows(table, ranks), 2, "V");
    const typename TypeParam::Small own(context, 2, 2);
    const typename TypeParam::Small in_v(context, typename TypeParam::Small::View(v.data(), 2, 2));
    testing::expect_refusal<ShapeError>(ranks, 0, {"share memory"}, [&] { inner_product(v, v, in_v); });
    EXPECT_NO_THROW(inner_product(v, v, own));
  }
}

}  // namespace
}  // namespace blockvec
