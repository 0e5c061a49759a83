// LOBPCG, Chebyshev-filtered subspaces, Jacobi-Davidson: what they are given, when they end, faults.
#include <blockvec/solvers/preconditioners.hpp>
#include <limits>

#include "problems/anderson.hpp"
#include "tests/solvers/drivers.hpp"
#include "tests/solvers/on_grid.hpp"

namespace blockvec::solvers {
namespace {

template <class Driver>
class Conduct : public OnGrid {
 protected:
  using Options = typename Driver::Options;

  Result<Host> solve(const Problem<Host>& problem, const Options& options, const Observer& observer = {}) const {
    return Driver::template solve<Host>(problem, options, observer);
  }
  void expect_lowest(const Result<Host>& result, std::int64_t wanted) const {
    expect_right(result, Driver::with(wanted), grid_.size(), exact_);
  }
};
TYPED_TEST_SUITE(Conduct, Drivers, DriverNames);
using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;

TYPED_TEST(Conduct, StaysOrthogonalToDeflatedVectors) {
  const auto lowest = this->solve({this->a_}, TypeParam::with(3));
  ASSERT_TRUE(lowest.converged());
  const auto result = this->solve({.a = this->a_, .deflation = lowest.vectors}, TypeParam::with(4));
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(result.eigenvalues[i], this->exact_[i + 3], 1e-8 * this->exact_.back());
  const SmallMatrix<double> c(this->context_, 3, 4);
  inner_product(lowest.vectors, result.vectors, c);
  EXPECT_LE(orth::dense::max_norm(c), 1e-10);
}

TYPED_TEST(Conduct, TakesDeflatedAndInitialVectorsOfPairs) {
  std::vector<double> masses(static_cast<std::size_t>(this->grid_.size()));
  for (std::size_t i = 0; i < masses.size(); ++i) masses[i] = 1 + static_cast<double>(i % 7) / 4;
  auto b = this->diagonal(masses);
  const auto all = this->solve({.a = this->a_, .b = b}, TypeParam::with(7));
  const auto lowest = this->solve({.a = this->a_, .b = b}, TypeParam::with(3));
  ASSERT_TRUE(all.converged() && lowest.converged()) << all.why << lowest.why;
  const auto rest = this->solve({.a = this->a_, .b = b, .deflation = lowest.vectors}, TypeParam::with(4));
  ASSERT_TRUE(rest.converged()) << rest.why;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(rest.eigenvalues[i], all.eigenvalues[i + 3], 1e-7);
  const auto again = this->solve({.a = this->a_, .b = b, .initial = all.vectors}, TypeParam::with(7));
  ASSERT_TRUE(again.converged()) << again.why;
  EXPECT_LE(again.iterations, TypeParam::from_solution);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(again.eigenvalues[i], all.eigenvalues[i], 1e-7);
}

TYPED_TEST(Conduct, GoesOnFromGoodVectors) {
  const auto first = this->solve({this->a_}, TypeParam::with(5));
  ASSERT_TRUE(first.converged());
  const auto again = this->solve({.a = this->a_, .initial = first.vectors}, TypeParam::with(5));
  this->expect_lowest(again, 5);
  EXPECT_LE(again.iterations, TypeParam::from_solution);
  EXPECT_LT(again.iterations, first.iterations);
  // A start of rank 1, and one that is orthogonal to what is wanted.
  const Host same(this->context_, this->rows_, 4);
  for (std::int64_t j = 0; j < 4; ++j) copy(first.vectors.column(0), same.column(j));
  this->expect_lowest(this->solve({.a = this->a_, .initial = same}, TypeParam::with(5)), 5);
  auto other_end = TypeParam::with(5);
  other_end.which = Which::largest;
  const auto highest = this->solve({this->a_}, other_end);
  this->expect_lowest(this->solve({.a = this->a_, .initial = highest.vectors}, TypeParam::with(5)), 5);
}

TYPED_TEST(Conduct, EndsAtItsLimit) {
  auto options = TypeParam::with(5);
  for (const std::int64_t most : {std::int64_t{0}, TypeParam::too_few}) {
    options.max_iterations = most;
    const auto result = this->solve({this->a_}, options);
    EXPECT_EQ(result.status, Status::exhausted);
    EXPECT_EQ(result.iterations, most);
    ASSERT_EQ(result.eigenvalues.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_GE(result.eigenvalues[i], this->exact_[i] - 1e-12 * this->exact_.back());
  }
}

TYPED_TEST(Conduct, EndsWhereItIsAskedTo) {
  const auto stopped =
      this->solve({this->a_}, TypeParam::with(5), [](const Step& step) { return step.restart < TypeParam::too_few; });
  EXPECT_EQ(stopped.status, Status::stopped);
  EXPECT_EQ(stopped.why, stopped_by_observer);
  EXPECT_EQ(stopped.iterations, TypeParam::too_few);

  const auto communicator = this->context_.communicator();
  const std::string message = this->message_of([&] {
    (void)this->solve({this->a_}, TypeParam::with(5), [&](const Step& step) -> bool {
      if (step.restart == TypeParam::too_few - 1 && communicator.rank() == communicator.size() - 1)
        throw Error("the observer has seen enough");
      return true;
    });
  });
  EXPECT_EQ(message.find("the observer has seen enough"), 0U) << message;
}

TYPED_TEST(Conduct, StepsTellWhatIsFound) {
  std::vector<Step> steps;
  const auto result = this->solve({this->a_}, TypeParam::with(5), [&](const Step& step) {
    steps.push_back(step);
    return true;
  });
  ASSERT_TRUE(result.converged());
  ASSERT_EQ(steps.size(), result.history.size());
  EXPECT_EQ(steps.back().converged, 5);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const auto found = static_cast<std::size_t>(step.converged);
    ASSERT_EQ(step.eigenvalues.size(), found);
    ASSERT_EQ(step.residual_norms.size(), found);
    EXPECT_LE(step.residuals.size(), 5U);
    ASSERT_GE(step.residuals.size(), found);
    for (std::size_t j = 0; j < found; ++j) EXPECT_EQ(step.residuals[j], step.residual_norms[j]);
    if (i == 0) continue;
    EXPECT_GE(step.restart, steps[i - 1].restart);
    EXPECT_GE(step.applications, steps[i - 1].applications);
    EXPECT_GT(step.reductions, steps[i - 1].reductions);
    EXPECT_GE(step.seconds, steps[i - 1].seconds);
  }
}

TYPED_TEST(Conduct, ReportsProductsThatAreNotFinite) {
  int products = 0, first = std::numeric_limits<int>::max();
  double bad = 0;
  const auto poisoned = FunctionOperator<Host>(this->context_, this->rows_, [&](const Host& x, const Host& y) {
    this->a_.apply(1, 0, x, 0, y);
    if (++products > first && y.local_rows() > 0) y.view()(0, 0) = bad;
  });
  EXPECT_TRUE(this->solve({poisoned}, TypeParam::with(3)).converged());
  const int needed = products;
  // In the first steps, after a look at the spectrum, in the iteration.
  for (const int good : {2, 20, std::min(60, needed * 2 / 3)}) {
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      products = 0;
      first = good;
      bad = value;
      EXPECT_THROW((void)this->solve({poisoned}, TypeParam::with(3)), NotFiniteError) << good << " of " << needed;
    }
  }
}

TYPED_TEST(Conduct, ReportsPreconditionersThatAreNotFinite) {
  if constexpr (!TypeParam::takes_preconditioners) GTEST_SKIP() << TypeParam::name << " uses no preconditioner";
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto bad = [&](std::span<const double>, const Host& r, const Host& w) {
      copy(r, w);
      if (w.local_rows() > 0) w.view()(0, 0) = value;
    };
    EXPECT_NE(this->message_of([&] { (void)this->solve({.a = this->a_, .precondition = bad}, TypeParam::with(3)); }),
              "no error");
  }
}

TYPED_TEST(Conduct, GoodPreconditionersSaveWork) {
  if constexpr (!TypeParam::takes_preconditioners) GTEST_SKIP() << TypeParam::name << " uses no preconditioner";
  // Diagonal and rising steeply, so that dividing by the diagonal is nearly all there is to do.
  std::vector<double> values(static_cast<std::size_t>(this->grid_.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i * i);
  const RowFunction<double> steep(this->grid_.size(), [&](std::int64_t row, RowEntries<double>& entries) {
    entries.add(row, values[static_cast<std::size_t>(row)]);
    if (row > 0) entries.add(row - 1, 0.5);
    if (row + 1 < std::ssize(values)) entries.add(row + 1, 0.5);
  });
  SparseOperator<double, Kokkos::HostSpace> a(this->context_, this->rows_, steep);
  const auto jacobi = jacobi_preconditioner(diagonal_of<Host>(this->context_, this->rows_, steep));
  const auto plain = this->solve({a}, TypeParam::with(6));
  const auto helped = this->solve({.a = a, .precondition = jacobi}, TypeParam::with(6));
  ASSERT_TRUE(plain.converged() && helped.converged());
  EXPECT_LE(4 * TypeParam::effort(helped), TypeParam::effort(plain));
  EXPECT_GT(helped.preconditionings, 0);
}

// Both ends, and a spectrum on both sides of zero.
TYPED_TEST(Conduct, JacobiIsDefiniteWhateverTheDiagonal) {
  if constexpr (!TypeParam::takes_preconditioners) GTEST_SKIP() << TypeParam::name << " uses no preconditioner";
  const examples::Anderson model({7, 8, 6}, 12, 5);
  const auto exact = spectrum(model);
  const auto rows = RowDistribution::uniform(model.size(), this->context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(this->context_, rows, model);
  for (const auto which : {Which::smallest, Which::largest}) {
    auto options = TypeParam::with(5);
    options.which = which;
    const auto jacobi = jacobi_preconditioner(diagonal_of<Host>(this->context_, rows, model), {}, which);
    const auto plain = this->solve({a}, options), helped = this->solve({.a = a, .precondition = jacobi}, options);
    expect_right(helped, options, model.size(), exact);
    EXPECT_TRUE(helped.why.empty()) << helped.why;
    EXPECT_LE(helped.iterations, plain.iterations);
  }
}

TYPED_TEST(Conduct, RefusesBThatIsNotPositiveDefinite) {
  const auto n = static_cast<std::size_t>(this->grid_.size());
  std::vector<double> half(n, 1.0), indefinite(n, 1.0);
  for (std::size_t i = 0; i < n; i += 2) half[i] = 0;
  indefinite[5] = -1;
  for (const auto& values : {half, indefinite}) {
    auto b = this->diagonal(values);
    const std::string message =
        this->message_of([&] { (void)this->solve({.a = this->a_, .b = b}, TypeParam::with(4)); });
    EXPECT_NE(message.find("not positive definite"), std::string::npos) << message;
  }
}

TYPED_TEST(Conduct, RefusesOptionsThatDoNotFit) {
  const auto refusal = [&](const auto& options) {
    try {
      (void)this->solve({this->a_}, options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string name = TypeParam::name;
  EXPECT_EQ(refusal(TypeParam::with(0)), name + ": 0 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(TypeParam::with(421)), name + ": 421 eigenpairs were asked of a matrix with 420 rows");
  auto options = TypeParam::with(4);
  options.tolerance = 0;
  EXPECT_EQ(refusal(options), name + ": the tolerance must be positive, not 0");
  options = TypeParam::with(4);
  options.max_iterations = -1;
  EXPECT_EQ(refusal(options), name + ": there cannot be at most -1 iterations");
  const Context other = Context::self(1);
  const Host elsewhere(other, RowDistribution::uniform(420, other.communicator()), 2);
  EXPECT_THROW((void)this->solve({.a = this->a_, .initial = elsewhere}, TypeParam::with(3)), ShapeError);
}

TYPED_TEST(Conduct, ScalesOfAnySizeAreTheSameProblem) {
  for (const double scale : {1e-100, 1e100}) {
    const auto scaled = FunctionOperator<Host>(
        this->context_, this->rows_, [&](const Host& x, const Host& y) { this->a_.apply(scale, 0, x, 0, y); });
    const auto result = this->solve({scaled}, TypeParam::with(4));
    ASSERT_TRUE(result.converged()) << scale << ": " << result.why;
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(result.eigenvalues[i] / scale, this->exact_[i], 1e-8 * this->exact_.back());
  }
}

TYPED_TEST(Conduct, RepeatsBitForBit) {
  const auto first = this->solve({this->a_}, TypeParam::with(6)), second = this->solve({this->a_}, TypeParam::with(6));
  EXPECT_EQ(first.eigenvalues, second.eigenvalues);
  EXPECT_EQ(first.residual_norms, second.residual_norms);
  EXPECT_EQ(first.applications, second.applications);
}

}  // namespace
}  // namespace blockvec::solvers
