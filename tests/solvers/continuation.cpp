// LOBPCG, Chebyshev-filtered subspaces, Jacobi-Davidson, Lanczos: a run that is stopped and goes on from its
// checkpoint, against one that is not, bit for bit. What files are refused: checkpoint.cpp.
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/preconditioners.hpp>

#include "problems/graphene.hpp"
#include "tests/solvers/drivers.hpp"
#include "tests/solvers/linear_elements.hpp"
#include "tests/solvers/mikota.hpp"
#include "tests/solvers/on_grid.hpp"
#include "tests/solvers/same_bits.hpp"

namespace blockvec::solvers {
namespace {

struct Interior {
  using Options = InteriorOptions;
  template <class Vector>
  static Result<Vector> solve(const Problem<Vector>& problem, const Options& options, const Observer& observer = {}) {
    return interior_lanczos<Vector>(problem, options, observer);
  }
  static Options with(std::int64_t wanted) { return {.wanted = wanted, .target = 0.7}; }
};

/// Stopped after a look near the begin, near the end and in between; and again and again.
template <class Driver, class Vector>
void expect_continues(const Problem<Vector>& problem, typename Driver::Options options) {
  const SharedFolder folder;
  const auto expected = Driver::template solve<Vector>(problem, options);
  EXPECT_TRUE(expected.converged()) << expected.why;
  const auto looks = std::ssize(expected.history);
  const std::int64_t stride = 1 + looks / 6;
  options.checkpoint.file = folder.file("run.ckp");
  for (std::int64_t last = 1; last < looks; last += stride) {
    SCOPED_TRACE(testing::Message() << "stopped after look " << last << " of " << looks);
    const auto part = Driver::template solve<Vector>(problem, options, stopping_after(last));
    if (part.converged()) continue;
    ASSERT_EQ(part.why, stopped_by_observer);
    EXPECT_LE(part.applications, expected.applications);
    auto goes_on = options;
    goes_on.checkpoint.file.clear();
    goes_on.checkpoint.restart = options.checkpoint.file;
    std::int64_t first = -1;
    const auto result = Driver::template solve<Vector>(problem, goes_on, [&](const Step& step) {
      if (first < 0) first = step.applications;
      return true;
    });
    expect_same_bits(result, expected);
    // What was done is not done again.
    EXPECT_GE(first, part.history.back().applications);
  }
  for (std::int64_t parts = 0;; ++parts) {
    ASSERT_LE(parts, looks);
    const auto result = Driver::template solve<Vector>(problem, options, stopping_after(stride + 1));
    options.checkpoint.restart = options.checkpoint.file;
    if (result.status == Status::stopped) continue;
    expect_same_bits(result, expected);
    break;
  }
}

template <class Driver>
class Continuation : public OnGrid {};
TYPED_TEST_SUITE(Continuation, Drivers, DriverNames);
using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;

TYPED_TEST(Continuation, HasTheSameBits) {
  expect_continues<TypeParam, Host>({this->a_}, TypeParam::with(6));
  using Complex = BlockVector<blockvec::Complex<double>, ColumnMajor, Kokkos::HostSpace>;
  const examples::Graphene<blockvec::Complex<double>> sheet({12, 10}, 1, 6);
  const auto rows = RowDistribution::uniform(sheet.size(), this->context_.communicator());
  SparseOperator<blockvec::Complex<double>, Kokkos::HostSpace> a(this->context_, rows, sheet);
  auto options = TypeParam::with(4);
  options.which = Which::largest;
  expect_continues<TypeParam, Complex>({a}, options);
}

TYPED_TEST(Continuation, HasTheSameBitsWithEverythingGiven) {
  const Mikota pair{150};
  const auto rows = RowDistribution::uniform(pair.n, this->context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(this->context_, rows, pair.k()), b(this->context_, rows, pair.m());
  const auto diagonal_b = diagonal_of<Host>(this->context_, rows, pair.m());
  const auto jacobi = jacobi_preconditioner(diagonal_of<Host>(this->context_, rows, pair.k()), diagonal_b);
  const Host known(this->context_, rows, 2), near(this->context_, rows, 3);
  const auto lowest = TypeParam::template solve<Host>({.a = a, .b = b}, TypeParam::with(2));
  copy(lowest.vectors, known);
  fill_random(near, 7);
  expect_continues<TypeParam, Host>({.a = a,
                                     .b = b,
                                     .precondition = jacobi,
                                     .inverse_b = inverse_of_diagonal(diagonal_b),
                                     .deflation = known,
                                     .initial = near},
                                    TypeParam::with(4));
}

TYPED_TEST(Continuation, RefusesOtherRuns) {
  const SharedFolder folder;
  auto options = TypeParam::with(4);
  options.checkpoint.file = folder.file("run.ckp");
  options.checkpoint.matrix = "the grid";
  const auto part = TypeParam::template solve<Host>({this->a_}, options, stopping_after(1));
  ASSERT_EQ(part.why, stopped_by_observer);
  const std::string file = std::exchange(options.checkpoint.file, "");
  options.checkpoint.restart = file;
  const auto refusal = [&](const Problem<Host>& problem, const typename TypeParam::Options& changed) {
    return this->message_of([&] { (void)TypeParam::template solve<Host>(problem, changed); });
  };
  auto changed = options;
  changed.tolerance = 1e-6;
  EXPECT_EQ(refusal({this->a_}, changed)
                .find(file + ": no checkpoint to go on from: it is of another run (the grid): "
                             "tolerance is 1e-08 there and 1e-06 here"),
            0U);
  auto b = this->diagonal(std::vector<double>(static_cast<std::size_t>(this->grid_.size()), 2.0));
  EXPECT_NE(refusal({.a = this->a_, .b = b}, options).find("product of B with a vector is not known there"),
            std::string::npos);
  const std::string of_lanczos =
      this->message_of([&] { (void)block_lanczos<Host>({this->a_}, {.wanted = 4, .checkpoint = options.checkpoint}); });
  EXPECT_NE(of_lanczos.find(std::string("method is ") + TypeParam::name + " there and block_lanczos here"),
            std::string::npos)
      << of_lanczos;
  EXPECT_EQ(refusal({this->a_}, options), "no error");
}

class InteriorContinuation : public OnGrid {};

TEST_F(InteriorContinuation, HasTheSameBits) {
  expect_continues<Interior, Host>({a_}, Interior::with(6));
  expect_continues<Interior, Host>({a_}, {.interval = Interval{0.4, 0.62}});
  expect_continues<JacobiDavidson, Host>({a_}, {.wanted = 4, .target = 0.7});
}

TEST_F(InteriorContinuation, HasTheSameBitsForPairs) {
  const Mikota pair{150};
  const auto rows = RowDistribution::uniform(pair.n, context_.communicator());
  Operator a(context_, rows, pair.k()), b(context_, rows, pair.m());
  const auto inverse = inverse_of_diagonal(diagonal_of<Host>(context_, rows, pair.m()));
  expect_continues<Interior, Host>({.a = a, .b = b, .inverse_b = inverse}, {.interval = Interval{400.5, 900.5}});
  const LinearElements<double> elements{150};
  Operator k(context_, rows, elements.k()), m(context_, rows, elements.m());
  expect_continues<JacobiDavidson, Host>({.a = k, .b = m}, {.wanted = 4, .target = 1.2});
}

TEST(LanczosContinuation, HasTheSameBitsForPairs) {
  MikotaOperators<Kokkos::HostSpace> operators(Mikota{150});
  auto problem = operators.problem();
  const auto lowest = block_lanczos(problem, {.wanted = 2});
  ASSERT_TRUE(lowest.converged()) << lowest.why;
  const Host near(problem.a.context(), problem.a.rows(), 3);
  fill_random(near, 7);
  problem.deflation = lowest.vectors;
  problem.initial = near;
  for (const int filter : {LanczosOptions::automatic_filter, 0})
    expect_continues<Lanczos, Host>(problem, {.wanted = 6, .filter_degree = filter});
}

}  // namespace
}  // namespace blockvec::solvers
