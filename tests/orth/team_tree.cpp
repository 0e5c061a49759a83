// Householder QR by teams of threads, as a device runs it, in the host's memory and with its threads.
#include "orth/team_tree.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/orth/support.hpp"
#include "tests/support/host_teams.hpp"

namespace blockvec::test {
namespace {

template <class K>
class TeamTreeTest : public ::testing::Test {
 public:
  using Entry = typename K::Scalar;
  using Columns = HostColumns<Wide<Entry>>;

  struct Factors {
    Columns q, r;
  };

  /// X = Q R with Q in X's rows. What lies beside them keeps its values.
  static Factors factorize(const Columns& x, int threads, const RealOf<Entry>* scales = nullptr) {
    const Context context = Context::self(1);
    const auto rows = RowDistribution::uniform(x.rows, context.communicator());
    const Trial<K> trial(context, rows, Columns(x.rows, 0), x, {2, 3, 5});
    constexpr bool by_rows = std::is_same_v<typename K::Layout, RowMajor>;
    WorkspaceScope<> scope(context);
    const orth::TeamTree<Entry, Kokkos::HostSpace> tree(
        scope, trial.w.data(), x.rows, x.columns, by_rows ? trial.w.ld() : 1, by_rows ? 1 : trial.w.ld(), threads);
    const auto run = [](int teams, int members, std::size_t bytes, const auto& body) {
      testing::run_host_teams(teams, members, bytes, body);
    };
    tree.factor(scales, run);
    Factors factors{{}, Columns(tree.root_rows(), x.columns)};
    for (std::int64_t i = 0; i < tree.root_rows(); ++i) {
      for (std::int64_t j = 0; j < x.columns; ++j) {
        factors.r(i, j) = widen<Entry>(tree.root()[i * x.columns + j]);
        tree.root()[i * x.columns + j] = Entry(i == j ? 1 : 0);
      }
    }
    tree.form(run);
    factors.q = collect(trial.w);
    EXPECT_TRUE(trial.guards_hold());
    return factors;
  }

  /// Columns of Q beyond the rows are zero.
  static void expect_factors(const Columns& x_given, const Factors& factors) {
    const Columns x = rounded<Entry>(x_given);
    const std::int64_t kept = factors.r.rows;
    const auto q = columns_of(factors.q, 0, kept);
    EXPECT_LE(loss_of_orthogonality(q), rounding_loss<Entry>(kept));
    EXPECT_LE(relative_residual(x, Columns(x.rows, 0), Columns(0, x.columns), q, factors.r),
              rounding_residual<Entry>(x.columns));
    for (std::int64_t i = 0; i < kept; ++i) {
      for (std::int64_t j = 0; j < i; ++j) ASSERT_EQ(factors.r(i, j), Wide<Entry>(0));
    }
  }
};
TYPED_TEST_SUITE(TeamTreeTest, testing::CasesIn<Kokkos::HostSpace>, testing::CaseName);

TYPED_TEST(TeamTreeTest, FactorizesRowsOfAnyNumber) {
  using Scalar = typename TypeParam::Scalar;
  Generator<Scalar> generator(3);
  struct Shape {
    std::int64_t rows, b;
    int threads;
  };
  // With 8 threads a piece of one column has 64 or 128 rows, of 8 columns 8 or 16.
  for (const Shape& shape :
       {Shape{1, 1, 8}, Shape{100, 1, 8}, Shape{4099, 1, 8}, Shape{3, 5, 8}, Shape{5, 5, 8}, Shape{31, 5, 8},
        Shape{700, 3, 8}, Shape{8, 8, 8}, Shape{2051, 8, 8}, Shape{1300, 7, 16}, Shape{170, 20, 64}}) {
    SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.b));
    const auto x = generator.random(shape.rows, shape.b);
    this->expect_factors(x, this->factorize(x, shape.threads));
  }
}

TYPED_TEST(TeamTreeTest, FactorizesTheWidestBlockByTheTeamsOfADevice) {
  constexpr std::int64_t b = orth::team_tree::most_columns;
  Generator<typename TypeParam::Scalar> generator(4);
  const auto x = generator.random(2 * b + 3, b);
  this->expect_factors(x, this->factorize(x, 0));
}

// Orthonormal whatever the condition, columns of zeros and repeated ones included.
TYPED_TEST(TeamTreeTest, FactorizesDependentColumns) {
  using Scalar = typename TypeParam::Scalar;
  using Real = RealOf<Scalar>;
  constexpr std::int64_t count = 600, b = 6;
  Generator<Scalar> generator(5);
  const auto directions = generator.orthonormal(count, b);
  auto x = generator.with_condition(directions, static_cast<double>(1 / epsilon<Scalar>));
  this->expect_factors(x, this->factorize(x, 8));
  x = directions;
  for (std::int64_t i = 0; i < count; ++i) {
    x(i, 0) = Wide<Scalar>(0);
    x(i, 3) = x(i, 1);
  }
  this->expect_factors(x, this->factorize(x, 8));
  this->expect_factors(HostColumns<Wide<Scalar>>(count, b), this->factorize(HostColumns<Wide<Scalar>>(count, b), 8));

  const Real scales[b] = {1, 2, 0.5, 4, 1, 8};
  auto scaled = x;
  for (std::int64_t j = 0; j < b; ++j) {
    for (std::int64_t i = 0; i < count; ++i) scaled(i, j) *= static_cast<double>(scales[j]);
  }
  EXPECT_TRUE(this->factorize(x, 8, scales).q.entries == this->factorize(scaled, 8).q.entries);
}

TYPED_TEST(TeamTreeTest, RepeatsBitForBit) {
  Generator<typename TypeParam::Scalar> generator(6);
  const auto x = generator.random(900, 5);
  const auto first = this->factorize(x, 16), second = this->factorize(x, 16);
  EXPECT_TRUE(first.q.entries == second.q.entries);
  EXPECT_TRUE(first.r.entries == second.r.entries);
}

}  // namespace
}  // namespace blockvec::test
