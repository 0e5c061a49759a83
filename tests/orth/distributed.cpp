#include <blockvec/operations.hpp>
#include <limits>

#include "orth/dense/first_rank.hpp"
#include "tests/orth/support.hpp"
#include "tests/support/naive.hpp"

namespace blockvec::test {
namespace {

using orth::Options;
using orth::Reason;

template <class K>
class Distributed : public ::testing::Test {
 public:
  /// Even, uneven, with empty ranks at either end, everything on one rank.
  std::vector<RowDistribution> distributions(std::int64_t rows) const {
    const auto communicator = context.communicator();
    const int ranks = communicator.size();
    std::vector<RowDistribution> all{RowDistribution::uniform(rows, communicator)};
    for (int holder = 0; holder < ranks; ++holder) {
      std::vector<std::int64_t> table(static_cast<std::size_t>(ranks), 0);
      table[static_cast<std::size_t>(holder)] = rows;
      all.push_back(RowDistribution::from_rows(table, communicator));
    }
    if (ranks > 1) {
      std::vector<std::int64_t> table(static_cast<std::size_t>(ranks), 3);
      table.front() = rows - 3 * (ranks - 2);
      table.back() = 0;
      all.push_back(RowDistribution::from_rows(table, communicator));
    }
    return all;
  }
  Context context = Context::world(1);
};
template <class Space>
using SomeCases = ::testing::Types<testing::Case<double, RowMajor, Space>, testing::Case<float, ColumnMajor, Space>,
                                   testing::Case<Complex<double>, RowMajor, Space>>;
TYPED_TEST_SUITE(Distributed, testing::InEverySpace<SomeCases>, testing::CaseName);

/// The same bits on every rank: the sum over the ranks is the value times their number.
template <class Scalar, class Space>
void expect_replicated(const Context& context, const SmallMatrix<Scalar, Space>& a) {
  const auto host = a.to_host();
  std::vector<std::int64_t> low(host.span() * sizeof(Scalar)), high;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(host.data());
  for (std::size_t i = 0; i < low.size(); ++i) low[i] = bytes[i];
  high = low;
  if (low.empty()) return;
  context.communicator().min(std::span(low));
  context.communicator().max(std::span(high));
  EXPECT_TRUE(low == high);
}

TYPED_TEST(Distributed, EveryMethodOnEveryDistribution) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 70, m = 8, b = 5;
  Generator<Scalar> generator(5);
  const auto v = generator.orthonormal(count, m);
  for (const double power : {0.05, 0.3, 0.8}) {
    const double kappa = std::pow(static_cast<double>(epsilon<Scalar>), -power);
    const auto x = generator.with_condition(count, b, kappa);
    for (const auto& rows : this->distributions(count)) {
      for (const char* method : {"pipi+/cholqr2", "bcgs2/cgs2", "bcgs2/svqb", "pip/cholqr", "bcgs/tsqr",
                                 "bcgs/dd-cholqr2", "bcgs2/rand-cholqr"}) {
        SCOPED_TRACE(std::string(method) + ", kappa = eps^-" + std::to_string(power) + ", " + rows.describe());
        Trial<TypeParam> trial(this->context, rows, v, x);
        const std::int64_t before = this->context.reductions();
        const auto result = trial.run(orth::parse_options(method));
        EXPECT_EQ(this->context.reductions() - before, result.reductions);
        EXPECT_EQ(result.rank, b);
        EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b)) << result.describe();
        EXPECT_LE(trial.residual(), rounding_residual<Scalar>(m + b)) << result.describe();
        EXPECT_TRUE(trial.guards_hold());
        expect_replicated(this->context, trial.s);
        expect_replicated(this->context, trial.r);
      }
    }
  }
}

TYPED_TEST(Distributed, FactorizationsOnEveryDistribution) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 60, width = 4, n = 14;
  Generator<Scalar> generator(7);
  for (const double power : {0.3, 0.8}) {
    const auto x =
        rounded<Scalar>(generator.with_condition(count, n, std::pow(static_cast<double>(epsilon<Scalar>), -power)));
    for (const auto& rows : this->distributions(count)) {
      for (const char* method : {"bmgs", "bcgsi+a", "pip+", "p-1s", "p-1s2s", "two-stage"}) {
        SCOPED_TRACE(std::string(method) + ", kappa = eps^-" + std::to_string(power) + ", " + rows.describe());
        const typename TypeParam::Vector q(this->context, rows, n, "X");
        const typename TypeParam::Small r(this->context, n, n);
        distribute<Scalar>(x, q);
        const auto result = orth::Orthogonalizer(this->context, orth::parse_options(method)).factorize(q, &r, width);
        EXPECT_EQ(result.rank, n) << result.describe();
        EXPECT_LE(loss_of_orthogonality(collect(q)), rounding_loss<Scalar>(n)) << result.describe();
        EXPECT_LE(relative_residual(x, {count, 0}, {0, n}, collect(q), collect(r)), rounding_residual<Scalar>(n));
        expect_replicated(this->context, r);
      }
    }
  }
}

TYPED_TEST(Distributed, LostColumnsAreReplacedAlikeOnAnyDistribution) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 40, m = 4, b = 4;
  Generator<Scalar> generator(6);
  const auto v = generator.orthonormal(count, m);
  auto x = generator.random(count, b);
  for (std::int64_t i = 0; i < count; ++i) {
    x(i, 1) = x(i, 0);
    x(i, 3) = Wide<Scalar>(0);
  }
  HostColumns<Wide<Scalar>> first;
  for (const auto& rows : this->distributions(count)) {
    SCOPED_TRACE(rows.describe());
    Trial<TypeParam> trial(this->context, rows, v, x);
    const auto result = trial.run({});
    EXPECT_EQ(result.lost, (std::vector<std::int64_t>{1, 3})) << result.describe();
    EXPECT_LE(trial.loss(), rounding_loss<Scalar>(m + b));
    auto q = collect(trial.w);
    if (first.columns == 0) first = q;
    for (std::size_t i = 0; i < q.entries.size(); ++i) q.entries[i] -= first.entries[i];
    EXPECT_LE(norm(q), 64 * rounding_loss<Scalar>(m + b)) << "random columns follow global rows";
  }
}

TYPED_TEST(Distributed, ErrorsReachEveryRank) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 40;
  Generator<Scalar> generator(8);
  const auto rows = RowDistribution::uniform(count, this->context.communicator());
  Trial<TypeParam> trial(this->context, rows, generator.orthonormal(count, 3), generator.random(count, 4));
  if (rows.owner(count - 1) == this->context.communicator().rank()) {  // on one rank alone
    testing::put(trial.w, trial.w.local_rows() - 1, 2, Scalar(std::numeric_limits<RealOf<Scalar>>::quiet_NaN()));
  }
  try {
    trial.run({});
    ADD_FAILURE() << "expected a NotFiniteError";
  } catch (const NotFiniteError& error) {
    EXPECT_EQ(std::string(error.what()), "orth: W = " + trial.w.describe() + " holds NaN or Inf in column 2");
  }
  Trial<TypeParam> duplicates(this->context, rows, generator.orthonormal(count, 3),
                              HostColumns<Wide<Scalar>>(count, 2));
  Options options;
  options.deficiency = orth::Deficiency::report;
  EXPECT_THROW(duplicates.run(options), orth::RankError);
}

TEST(FirstRank, HandsItsNumbersOrItsErrorToAll) {
  const Context context = Context::world(1);
  const int rank = context.communicator().rank();
  for (const std::int64_t count : {1, 8, 3000}) {  // 3000: more than one message holds
    std::vector<double> values(static_cast<std::size_t>(count), -1);
    int calls = 0;
    orth::on_first_rank(context, count, values.data(), [&](double* numbers) {
      ++calls;
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = 1 / static_cast<double>(3 + i + rank);
    });
    EXPECT_EQ(calls, rank == 0 ? 1 : 0);
    for (std::int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(values[static_cast<std::size_t>(i)], 1 / static_cast<double>(3 + i));
    }
    try {
      orth::on_first_rank(context, count, values.data(), [](double*) { throw ShapeError("no result"); });
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      const std::string text = error.what(), whole = "no result";
      EXPECT_EQ(text, rank == 0 ? whole : "on the first rank: " + whole.substr(0, static_cast<std::size_t>(count)));
    }
  }
}

TYPED_TEST(Distributed, FewerRowsThanRanksOrColumns) {
  using Scalar = typename TypeParam::Scalar;
  Generator<Scalar> generator(9);
  for (std::int64_t count = 0; count < 4; ++count) {
    const auto rows = RowDistribution::uniform(count, this->context.communicator());
    Trial<TypeParam> trial(this->context, rows, generator.orthonormal(count, count / 2), generator.random(count, 3));
    const auto result = trial.run({});
    EXPECT_EQ(result.rank, std::min<std::int64_t>(3, count - count / 2)) << result.describe();
    EXPECT_LE(trial.loss(), rounding_loss<Scalar>(count / 2 + 3));
    EXPECT_EQ(trial.zero_columns, 3 - result.rank);
  }
}

// All rows on the first rank: the others see nothing of them.
TYPED_TEST(Distributed, OverlapsReachRanksWithoutRows) {
  using Scalar = typename TypeParam::Scalar;
  using Tall = typename TypeParam::Vector;
  const Communicator& ranks = this->context.communicator();
  std::vector<std::int64_t> table(static_cast<std::size_t>(ranks.size()), 0);
  table[0] = 20;
  const auto rows = RowDistribution::from_rows(table, ranks);
  const Tall storage(this->context, rows, 8, "basis");
  fill_random(storage, 3);
  orth::Orthogonalizer orthogonalizer(this->context);
  const Tall v = storage.columns(0, 4), w = storage.columns(3, 5);
  const auto expect_error = [&](const auto& action) {
    testing::expect_parts(testing::message_of<ShapeError>(action),
                          {"basis (20 x 4)", "basis (20 x 2)", "share columns"});
  };
  expect_error([&] { return orthogonalizer.project(v, w); });
  expect_error([&] { return orthogonalizer.project_and_normalize(v, w); });
  expect_error([&] { return orthogonalizer.factorize(v, w, nullptr, nullptr, 2); });
  if constexpr (is_host_space<typename TypeParam::Space>) {
    // The same memory wrapped twice: the first rank alone can know.
    std::vector<Scalar> memory(20 * 20, Scalar(1));
    const Tall first = Tall::wrap(this->context, rows, memory.data(), 4, 20, "first");
    const Tall second =
        Tall::wrap(this->context, rows, memory.data() + (std::is_same_v<typename TypeParam::Layout, RowMajor> ? 3 : 60),
                   2, 20, "second");
    fill_random(first, 4);
    if (ranks.size() > 1) {
      testing::expect_refusal<ShapeError>(ranks, 0, {"share memory"},
                                          [&] { return orthogonalizer.project_and_normalize(first, second); });
    }
  }
  EXPECT_EQ(orthogonalizer.normalize(v).rank, 4) << "all go on";
}

TYPED_TEST(Distributed, ARankThatFailsEndsAVerbOnEveryRank) {
  using Scalar = typename TypeParam::Scalar;
  using Tall = typename TypeParam::Vector;
  const Communicator& ranks = this->context.communicator();
  if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
  const auto rows = RowDistribution::uniform(50, ranks);
  const Tall basis(this->context, rows, 6, "basis"), image(this->context, rows, 2, "image");
  fill_random(basis, 3);
  orth::Orthogonalizer orthogonalizer(this->context);
  EXPECT_EQ(orthogonalizer.normalize(basis.columns(0, 4)).rank, 4);
  const Tall v = basis.columns(0, 4), w = basis.columns(4, 6);
  for (int failing = 0; failing < ranks.size(); ++failing) {
    const bool fails = ranks.rank() == failing;
    const typename TypeParam::Small s(this->context, fails ? 3 : 4, 2);
    testing::expect_refusal<ShapeError>(ranks, failing, {"project_and_normalize: S is 3 x 2"},
                                        [&] { return orthogonalizer.project_and_normalize(v, w, &s); });
    testing::expect_refusal<ShapeError>(ranks, failing, {"project: S is 3 x 2"},
                                        [&] { return orthogonalizer.project(v, w, &s); });
    testing::expect_refusal<ShapeError>(ranks, failing, {"factorize: S is 3 x 2"},
                                        [&] { return orthogonalizer.factorize(v, w, &s, nullptr, 2); });
  }
  // What the caller's B throws, it throws on every rank; others learn of what happens inside of it as anywhere.
  orth::Metric<Scalar, typename TypeParam::Layout, typename TypeParam::Space> metric;
  metric.apply = [](const Tall&, const Tall&) { throw Error("B does not work"); };
  testing::expect_parts(testing::message_of<Error>([&] { return orthogonalizer.normalize(w, nullptr, &metric); }),
                        {"B does not work"});
  const typename TypeParam::Small c(this->context, 2, 2);
  metric.apply = [&](const Tall& x, const Tall& y) {
    const std::int64_t width = ranks.rank() == 0 ? 1 : 2;
    inner_product(x, x, c.block(0, 2, 0, width));
    copy(x, y);
  };
  testing::expect_refusal<ShapeError>(ranks, 0, {"C is 2 x 1"},
                                      [&] { return orthogonalizer.normalize(w, nullptr, &metric); });
  EXPECT_EQ(orthogonalizer.project_and_normalize(v, w).rank, 2) << "all go on";
}

}  // namespace
}  // namespace blockvec::test
