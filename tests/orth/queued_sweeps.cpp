// A sweep whose steps the host does not see: what it changes and what it says.
#include "orth/queued_sweep.hpp"

#include <gtest/gtest.h>

#include <blockvec/operations.hpp>
#include <string>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

template <class K>
class QueuedSweepTest : public ::testing::Test {};
TYPED_TEST_SUITE(QueuedSweepTest, testing::AllCases, testing::CaseName);

template <class K>
using Queued = orth::QueuedSweep<typename K::Scalar, typename K::Layout, typename K::Space>;

template <class Scalar>
double distance(HostColumns<Wide<Scalar>> a, const HostColumns<Wide<Scalar>>& c) {
  for (std::size_t i = 0; i < a.entries.size(); ++i) a.entries[i] -= c.entries[i];
  return norm(a);
}

TYPED_TEST(QueuedSweepTest, ChangesABlockThatItIsEnoughFor) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 400;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  Generator<Scalar> generator(31);
  for (const std::int64_t m : {0, 10, 56}) {
    for (const std::int64_t b : {1, 20}) {
      for (const bool enough : {true, false}) {
        SCOPED_TRACE("m = " + std::to_string(m) + ", b = " + std::to_string(b) + (enough ? "" : ", ill-conditioned"));
        const auto directions = generator.orthonormal(count, m + b);
        const auto v = columns_of(directions, 0, m);
        auto x = columns_of(directions, m, m + b);
        const auto inside = product(v, generator.random(m, b));
        const double length = enough ? 0.1 / static_cast<double>((m + 1) * b) : 0.5;
        for (std::size_t i = 0; i < x.entries.size(); ++i) x.entries[i] += Wide<Scalar>(length) * inside.entries[i];
        if (!enough) {  // a column is nearly the first one, or lies in V for the most part
          for (std::int64_t i = 0; i < count && b > 1; ++i) x(i, b - 1) = x(i, 0) + Wide<Scalar>(0.05) * x(i, b - 1);
          for (std::int64_t i = 0; i < count && m > 0; ++i) x(i, 0) += Wide<Scalar>(3) * v(i, 0);
        }
        const Trial<TypeParam> trial(context, rows, v, x);
        const auto all = m > 0 ? trial.v.joined(trial.w) : trial.w;
        const std::int64_t waits = context.waits(), reductions = context.reductions();
        const Queued<TypeParam> queued(all, m, orth::pythagorean_limits<Scalar>(m, b, true));
        const auto sweep = queued.results();
        if (context.communicator().size() == 1) {
          EXPECT_EQ(context.waits() - waits, is_host_space<typename TypeParam::Space> ? 0 : 1);
        }
        EXPECT_EQ(context.reductions() - reductions, 1);
        const bool changes = enough || (m == 0 && b == 1);
        EXPECT_EQ(sweep.status.certified, changes);
        EXPECT_EQ(sweep.status.rank, b);
        const auto rounding = rounding_residual<Scalar>(m + b) * norm(trial.x);
        EXPECT_LE(distance<Scalar>(collect(sweep.s), gram(trial.v_given, trial.x)), rounding);
        EXPECT_LE(distance<Scalar>(collect(sweep.g), gram(trial.x, trial.x)), rounding * norm(trial.x));
        EXPECT_TRUE(trial.guards_hold());
        if (!changes) {
          EXPECT_TRUE(collect(trial.w).entries == trial.x.entries) << "W is as it was";
          continue;
        }
        EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
        EXPECT_LE(relative_residual(trial.x, trial.v_given, collect(sweep.s), collect(trial.w), collect(sweep.r)),
                  rounding_residual<Scalar>(m + b));
      }
    }
  }
}

TYPED_TEST(QueuedSweepTest, LeavesWhatIsNotFinite) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t m = 5, b = 3;
  const Context context = Context::world(1);
  const typename TypeParam::Vector all(context, RowDistribution::uniform(400, context.communicator()), m + b, "all");
  fill_random(all, 3);
  const auto before = all.deep_copy();
  scale(all.columns(m + 1, m + 2), Scalar(std::numeric_limits<RealOf<Scalar>>::infinity()));
  const auto broken = testing::on_host(all.deep_copy());
  const Queued<TypeParam> queued(all, m, orth::pythagorean_limits<Scalar>(m, b, true));
  const auto sweep = queued.results();
  EXPECT_FALSE(sweep.status.certified);
  EXPECT_FALSE(sweep.status.finite);
  const auto after = testing::on_host(all);
  for (std::int64_t i = 0; i < all.local_rows(); ++i) {
    for (const std::int64_t j : {m, m + 2}) EXPECT_EQ(after.view()(i, j), broken.view()(i, j));
  }
}

TYPED_TEST(QueuedSweepTest, AllocatesNothingOnceWarm) {
  using Scalar = typename TypeParam::Scalar;
  using Space = typename TypeParam::Space;
  constexpr std::int64_t m = 5, b = 3;
  const Context context = Context::world(1);
  const typename TypeParam::Vector all(context, RowDistribution::uniform(400, context.communicator()), m + b, "all");
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  const auto run = [&] {
    fill_random(all, 3);
    Queued<TypeParam>(all, m, limits).results();
  };
  run();
  run();
  const auto allocations = [&] {
    return context.workspace<Space>().allocations() + context.workspace<StagingSpaceOf<Space>>().allocations() +
           context.workspace<>().allocations();
  };
  const std::int64_t before = allocations();
  run();
  EXPECT_EQ(allocations(), before);
}

TYPED_TEST(QueuedSweepTest, RefusesShapesThatDoNotFit) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(1);
  const typename TypeParam::Vector all(context, RowDistribution::uniform(100, context.communicator()), 70, "all");
  for (const std::int64_t m : {-1, 0, 70, 71}) {
    EXPECT_THROW(Queued<TypeParam>(all, m, orth::pythagorean_limits<Scalar>(8, 4, true)), ShapeError);
  }
}

}  // namespace
}  // namespace blockvec::test
