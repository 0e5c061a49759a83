// Sweeps whose steps the host does not see: what they change and what they say.
#include "orth/queued_sweeps.hpp"

#include <gtest/gtest.h>

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/operations.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

using orth::Another;
using orth::Verdicts;

template <class K>
class QueuedSweeps : public ::testing::Test {};
TYPED_TEST_SUITE(QueuedSweeps, testing::AllCases, testing::CaseName);

template <class K>
using Queued = orth::QueuedSweeps<typename K::Scalar, typename K::Layout, typename K::Space>;

template <class Scalar>
double distance(HostColumns<Wide<Scalar>> a, const HostColumns<Wide<Scalar>>& c) {
  for (std::size_t i = 0; i < a.entries.size(); ++i) a.entries[i] -= c.entries[i];
  return norm(a);
}

/// Blocks that one sweep is enough for, that take two, that have nothing left to do with V after the first of two, and
/// whose last column is a copy of the first.
enum class Kind { easy, hard, tidy, dependent };

template <class Scalar>
auto block_of(Generator<Scalar>& generator, const HostColumns<Wide<Scalar>>& directions, std::int64_t m, Kind kind) {
  const std::int64_t b = directions.columns - m, count = directions.rows;
  const auto v = columns_of(directions, 0, m);
  auto x = columns_of(directions, m, m + b);
  const auto inside = product(v, generator.random(m, b));
  const double length = kind == Kind::easy || kind == Kind::tidy ? 0.1 / static_cast<double>((m + 1) * b) : 0.3;
  for (std::size_t i = 0; i < x.entries.size(); ++i) x.entries[i] += Wide<Scalar>(length) * inside.entries[i];
  for (std::int64_t i = 0; i < count; ++i) {
    if (kind == Kind::dependent) x(i, b - 1) = x(i, 0);
    if (kind == Kind::tidy) x(i, b - 1) = x(i, 0) + Wide<Scalar>(0.3) * x(i, b - 1);
    if (kind != Kind::hard) continue;
    if (b > 1) x(i, b - 1) = x(i, 0) + Wide<Scalar>(0.2) * x(i, b - 1);
    if (m > 0) x(i, 0) += Wide<Scalar>(30) * v(i, 0);
  }
  return x;
}

TYPED_TEST(QueuedSweeps, TakeAsManyAsAreNeeded) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 400;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  Generator<Scalar> generator(31);
  for (const std::int64_t m : {0, 10, 56}) {
    for (const std::int64_t b : {1, 20}) {
      for (const Kind kind : {Kind::easy, Kind::hard, Kind::tidy, Kind::dependent}) {
        if (b == 1 && (kind == Kind::dependent || kind == Kind::tidy || m == 0)) continue;
        for (const auto& [another, verdicts] :
             {std::pair(Another::none, Verdicts::at_the_end), std::pair(Another::may, Verdicts::at_the_end),
              std::pair(Another::may, Verdicts::on_the_way), std::pair(Another::must, Verdicts::on_the_way)}) {
          SCOPED_TRACE("m = " + std::to_string(m) + ", b = " + std::to_string(b) + ", kind " +
                       std::to_string(static_cast<int>(kind)) + ", another " +
                       std::to_string(static_cast<int>(another)));
          const auto directions = generator.orthonormal(count, m + b);
          const Trial<TypeParam> trial(context, rows, columns_of(directions, 0, m),
                                       block_of(generator, directions, m, kind));
          const auto all = m > 0 ? trial.v.joined(trial.w) : trial.w;
          const std::int64_t waits = context.waits(), reductions = context.reductions();
          const Queued<TypeParam> queued(all, m, orth::pythagorean_limits<Scalar>(m, b, true), another, verdicts);
          const auto results = queued.results();
          if (context.communicator().size() == 1) {
            const bool looks = another == Another::may && verdicts == Verdicts::on_the_way;
            EXPECT_EQ(context.waits() - waits, is_host_space<typename TypeParam::Space> ? 0
                                               : looks                                  ? results.formed
                                                                                        : 1);
          }
          const auto& first = results.sweeps[0];
          const auto& last = results.sweeps[results.formed - 1];
          const bool changes = kind != Kind::dependent;
          EXPECT_EQ(results.formed, changes && goes_on(another, kind == Kind::easy) ? 2 : 1);
          EXPECT_EQ(context.reductions() - reductions, results.formed);
          EXPECT_EQ(first.status.certified, kind == Kind::easy);
          EXPECT_EQ(first.status.changes, changes);
          EXPECT_EQ(last.status.changes, changes);
          EXPECT_EQ(last.status.certified, changes && (kind == Kind::easy || another != Another::none));
          EXPECT_EQ(first.status.rank, changes ? b : b - 1);
          const bool tidies = m > 0 && kind == Kind::tidy && another == Another::may;
          EXPECT_EQ(first.status.tidies_next, tidies);
          EXPECT_EQ(last.status.tidies, tidies);
          EXPECT_EQ(last.status.finishes, changes && !tidies);
          const bool apart = conditional_sweep_words(all, b, true) > conditional_sweep_words(all, b, false);
          EXPECT_EQ(last.s.rows(), tidies && apart ? 0 : m);
          const auto rounding = rounding_residual<Scalar>(m + b) * norm(trial.x);
          EXPECT_LE(distance<Scalar>(collect(first.s), gram(trial.v_given, trial.x)), rounding);
          EXPECT_LE(distance<Scalar>(collect(first.g), gram(trial.x, trial.x)), rounding * norm(trial.x));
          EXPECT_TRUE(trial.guards_hold());
          if (!changes) {
            EXPECT_TRUE(collect(trial.w).entries == trial.x.entries) << "W is as it was";
            continue;
          }
          auto s = collect(first.s), r = collect(first.r);
          if (results.formed == 2) {
            const auto more = product(collect(last.s), r);
            for (std::size_t i = 0; i < s.entries.size() && !tidies; ++i) s.entries[i] += more.entries[i];
            r = product(collect(last.r), r);
          }
          if (last.status.certified != 0) {
            EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
          }
          EXPECT_LE(relative_residual(trial.x, trial.v_given, s, collect(trial.w), r),
                    rounding_residual<Scalar>(m + b));
        }
      }
    }
  }
}

// The bits do not depend on whether the host looks at the first verdict, which it does where times are taken.
TYPED_TEST(QueuedSweeps, GiveTheSameBitsWhoeverDecides) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 400, m = 10, b = 6;
  for (const Kind kind : {Kind::easy, Kind::hard, Kind::tidy, Kind::dependent}) {
    std::vector<std::vector<Wide<Scalar>>> entries;
    for (const auto& [verdicts, host] : {std::pair(Verdicts::at_the_end, false), std::pair(Verdicts::on_the_way, false),
                                         std::pair(Verdicts::at_the_end, true)}) {
      const Context context = Context::world(1);
      if (host) context.profile().start();
      Generator<Scalar> generator(7);
      const auto directions = generator.orthonormal(count, m + b);
      const Trial<TypeParam> trial(context, RowDistribution::uniform(count, context.communicator()),
                                   columns_of(directions, 0, m), block_of(generator, directions, m, kind));
      const Queued<TypeParam> queued(trial.v.joined(trial.w), m, orth::pythagorean_limits<Scalar>(m, b, true),
                                     Another::may, verdicts);
      const auto results = queued.results();
      auto& all = entries.emplace_back(collect(trial.w).entries);
      for (int i = 0; i < results.formed; ++i) {
        for (const auto& matrix : {collect(results.sweeps[i].s), collect(results.sweeps[i].g)}) {
          all.insert(all.end(), matrix.entries.begin(), matrix.entries.end());
        }
      }
    }
    EXPECT_TRUE(entries[0] == entries[1] && entries[0] == entries[2]);
  }
}

// Whoever submits several calls may ask for their results in any order.
TYPED_TEST(QueuedSweeps, HaveMemoryOfTheirOwn) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t m = 5, b = 3;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(400, context.communicator());
  const typename TypeParam::Vector one(context, rows, m + b, "one"), other(context, rows, m + b, "other");
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  const auto alone = [&](const auto& all, std::uint64_t seed) {
    fill_random(all, seed);
    return collect(Queued<TypeParam>(all, m, limits, Another::must).results().sweeps[1].g).entries;
  };
  const auto first = alone(one, 3), second = alone(other, 4);
  fill_random(one, 3);
  fill_random(other, 4);
  auto queued = std::make_unique<Queued<TypeParam>>(one, m, limits, Another::must);
  const Queued<TypeParam> later(other, m, limits, Another::must);
  EXPECT_TRUE(collect(queued->results().sweeps[1].g).entries == first);
  queued.reset();
  const Queued<TypeParam> forgotten(one, m, limits, Another::may);
  EXPECT_TRUE(collect(later.results().sweeps[1].g).entries == second);
}

TYPED_TEST(QueuedSweeps, LeaveWhatIsNotFinite) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t m = 5, b = 3;
  const Context context = Context::world(1);
  const typename TypeParam::Vector all(context, RowDistribution::uniform(400, context.communicator()), m + b, "all");
  fill_random(all, 3);
  scale(all.columns(m + 1, m + 2), Scalar(std::numeric_limits<RealOf<Scalar>>::infinity()));
  const auto broken = testing::on_host(all.deep_copy());
  const Queued<TypeParam> queued(all, m, orth::pythagorean_limits<Scalar>(m, b, true), Another::must);
  const auto results = queued.results();
  EXPECT_EQ(results.formed, 1);
  EXPECT_FALSE(results.sweeps[0].status.changes);
  EXPECT_FALSE(results.sweeps[0].status.finite);
  const auto after = testing::on_host(all);
  for (std::int64_t i = 0; i < all.local_rows(); ++i) {
    for (const std::int64_t j : {m, m + 2}) EXPECT_EQ(after.view()(i, j), broken.view()(i, j));
  }
}

// Products that a tidy sweep leaves out have memory, where anything may lie.
TYPED_TEST(QueuedSweeps, LookAtNothingThatIsNotFormed) {
  using Scalar = typename TypeParam::Scalar;
  using Space = typename TypeParam::Space;
  constexpr std::int64_t count = 400, m = 10, b = 20;
  const Context context = Context::world(1);
  Generator<Scalar> generator(31);
  const auto directions = generator.orthonormal(count, m + b);
  const Trial<TypeParam> trial(context, RowDistribution::uniform(count, context.communicator()),
                               columns_of(directions, 0, m), block_of(generator, directions, m, Kind::tidy));
  {
    constexpr std::size_t bytes = std::size_t{1} << 16;
    const KeptMemory<Space> memory[] = {{context, bytes}, {context, bytes}};
    for (const auto& piece : memory) {  // becomes NaN
      Kokkos::deep_copy(Kokkos::View<unsigned char*, Space, Kokkos::MemoryUnmanaged>(
                            reinterpret_cast<unsigned char*>(piece.data()), bytes),
                        static_cast<unsigned char>(0xFF));
    }
  }
  const Queued<TypeParam> queued(trial.v.joined(trial.w), m, orth::pythagorean_limits<Scalar>(m, b, true),
                                 Another::may);
  const auto results = queued.results();
  ASSERT_EQ(results.formed, 2);
  EXPECT_TRUE(results.sweeps[1].status.tidies);
  EXPECT_TRUE(results.sweeps[1].status.certified);
  EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
}

TYPED_TEST(QueuedSweeps, AllocateNothingOnceWarm) {
  using Scalar = typename TypeParam::Scalar;
  using Space = typename TypeParam::Space;
  constexpr std::int64_t m = 5, b = 3;
  const Context context = Context::world(1);
  const typename TypeParam::Vector all(context, RowDistribution::uniform(400, context.communicator()), m + b, "all");
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  const auto run = [&] {
    fill_random(all, 3);
    Queued<TypeParam>(all, m, limits, Another::may).results();
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

TYPED_TEST(QueuedSweeps, RefuseShapesThatDoNotFit) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(1);
  const typename TypeParam::Vector all(context, RowDistribution::uniform(100, context.communicator()), 70, "all");
  for (const std::int64_t m : {-1, 0, 70, 71}) {
    EXPECT_THROW(Queued<TypeParam>(all, m, orth::pythagorean_limits<Scalar>(8, 4, true), Another::may), ShapeError);
  }
}

}  // namespace
}  // namespace blockvec::test
