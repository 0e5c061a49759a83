// LOBPCG: exact spectra with all multiplicities, pairs, preconditioners good and bad, faults.
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <limits>
#include <numeric>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "solvers/progress.hpp"
#include "solvers/spectrum_bounds.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/mikota.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const LobpcgOptions& options, const Observer& observer = {}) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return lobpcg<Vector>({a}, options, observer);
}

template <class Scalar, class Layout = RowMajor>
void expect_right(const RowSource<Scalar>& source, const LobpcgOptions& options, const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", nev " << options.wanted << ", guard " << options.guard);
  expect_right(solve<Scalar, Layout>(source, options), options, source.size(), exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_right(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, source.size(), exact);
#endif
}

LobpcgOptions with(std::int64_t wanted, std::int64_t guard = LobpcgOptions::automatic_guard) {
  return {.wanted = wanted, .guard = guard};
}

// Multiplicities 1, 3, 3, 3, 1, 6, ...
TEST(Lobpcg, FindsMultiplicities) {
  const std::vector<std::int64_t> cube{9, 9, 9};
  for (const std::int64_t guard : {std::int64_t{0}, std::int64_t{3}, LobpcgOptions::automatic_guard}) {
    for (const std::int64_t wanted : {1, 4, 11})
      expect_right(Laplacian(cube), with(wanted, guard), exact_laplacian(cube));
  }
  expect_right(Anderson({8, 8, 8}, 0, 1), with(9), exact_lattice({8, 8, 8}));
  expect_right(Graphene<double>({12, 12}), with(8), exact_graphene(12, 12));
}

TEST(Lobpcg, BothEndsBothLayoutsRealAndComplex) {
  for (const auto which : {Which::smallest, Which::largest}) {
    LobpcgOptions options = with(6);
    options.which = which;
    expect_right<double, RowMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    expect_right<double, ColumnMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
    const std::vector<double> exact = spectrum(sheet);
    expect_right<Complex<double>, RowMajor>(sheet, options, exact);
    expect_right<Complex<double>, ColumnMajor>(sheet, options, exact);
  }
}

TEST(Lobpcg, SpinChainsAndDisorder) {
  expect_right(SpinChain(12, 6, true, 0), with(8), exact_xx(12, 6, true));
  const SpinChain ring(10, 5, true, 1);
  expect_right(ring, with(8), spectrum(ring));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_right(model, with(5), spectrum(model));
}

// Of 8192 states, 256 lie within 3e-11 at the lower end.
TEST(Lobpcg, TakesLevelsThatAreWiderThanTheBlock) {
  const Graphene<Complex<double>> sheet({64, 64}, 1, 16);
  const auto result = solve(sheet, with(16));
  expect_right(result, with(16), sheet.size(), exact_graphene(64, 64, 1, 16));
  EXPECT_TRUE(result.last_level_cut);
}

TEST(Lobpcg, SmallMatricesEndInTheirWholeSpace) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13, 30}) {
    for (const std::int64_t wanted :
         {std::int64_t{1}, (n + 1) / 2, std::min(n, n / 2 + 1), std::max<std::int64_t>(1, n - 1), n})
      expect_right(Laplacian({n}), with(wanted), exact_laplacian({n}));
  }
  expect_right(Laplacian({3, 3, 3}), with(27), exact_laplacian({3, 3, 3}));
  expect_right(SpinChain(5, 0, true, 1), with(1), {1.25});
  const std::vector<double> same(20, 3.0), zeros(20, 0.0);
  expect_right(Diagonal(same), with(7), same);
  const auto result = solve(Diagonal(zeros), with(3));
  EXPECT_TRUE(result.converged()) << result.why;
  for (const double value : result.eigenvalues) EXPECT_EQ(value, 0);
}

TEST(Lobpcg, LevelsFarCloserThanTheRest) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < 8 ? 1e-10 * static_cast<double>(i) : 1 + static_cast<double>(i) / 100;
  }
  LobpcgOptions options = with(8);
  options.tolerance = 1e-12;
  expect_right(Diagonal(values), options, values);
}

TEST(Lobpcg, SaysWhereTheLastLevelIsCut) {
  std::vector<double> values(300, 0.0);
  for (std::size_t i = 8; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i) / 100;
  for (const std::int64_t wanted : {1, 3, 5, 7, 8, 9}) {
    const auto result = solve(Diagonal(values), with(wanted));
    ASSERT_TRUE(result.converged()) << result.why;
    EXPECT_EQ(result.last_level_cut, wanted < 8) << wanted;
  }
}

TEST(Lobpcg, SinglePrecision) {
  LobpcgOptions options = with(5);
  options.tolerance = 100 * epsilon<float>;
  const auto exact = exact_laplacian({12, 12});
  const RowFunction<float> grid(144, [](std::int64_t row, RowEntries<float>& entries) {
    entries.add(row, 4);
    if (row % 12 > 0) entries.add(row - 1, -1);
    if (row % 12 < 11) entries.add(row + 1, -1);
    if (row >= 12) entries.add(row - 12, -1);
    if (row < 132) entries.add(row + 12, -1);
  });
  const auto result = solve<float>(grid, options);
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
    EXPECT_NEAR(result.eigenvalues[i], exact[i], 2 * options.tolerance * exact.back());
  }
}

template <class Space>
void solve_mikota() {
  using Vector = BlockVector<double, RowMajor, Space>;
  const Mikota pair{150};
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(pair.n, context.communicator());
  SparseOperator<double, Space> a(context, rows, pair.k()), b(context, rows, pair.m());
  for (const auto which : {Which::smallest, Which::largest}) {
    LobpcgOptions options = with(6);
    options.which = which;
    options.tolerance = 1e-12;
    const auto result = lobpcg<Vector>({.a = a, .b = b}, options);
    ASSERT_TRUE(result.converged()) << result.why;
    which == Which::smallest ? pair.expect_lowest(result) : pair.expect_highest(result);
    // B is applied to what A is applied to, but for looks at B and at the result.
    EXPECT_LE(static_cast<double>(result.applications_b), 1.1 * static_cast<double>(result.applications) + 30);
  }
}

TEST(Lobpcg, Pairs) {
  solve_mikota<Kokkos::HostSpace>();
#if BLOCKVEC_HAVE_CUDA_SPACE
  solve_mikota<Kokkos::CudaSpace>();
#endif
}

using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;

class LobpcgOnHost : public testing::Test {
 protected:
  const Laplacian grid_{{20, 21}};
  const std::vector<double> exact_ = exact_laplacian({20, 21});
  const Context context_ = Context::world(1);
  const RowDistribution rows_ = RowDistribution::uniform(grid_.size(), context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a_{context_, rows_, grid_};

  SparseOperator<double, Kokkos::HostSpace> diagonal(const std::vector<double>& values) const {
    return {context_, rows_, Diagonal(values)};
  }
  template <class Body>
  std::string message_of(Body&& body) const {
    try {
      body();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(LobpcgOnHost, RefusesBThatIsNotPositiveDefinite) {
  const auto n = static_cast<std::size_t>(grid_.size());
  std::vector<double> half(n, 1.0), indefinite(n, 1.0);
  for (std::size_t i = 0; i < n; i += 2) half[i] = 0;
  indefinite[5] = -1;
  for (const auto& values : {half, indefinite}) {
    auto b = diagonal(values);
    const std::string message = message_of([&] { (void)lobpcg<Host>({.a = a_, .b = b}, with(4)); });
    EXPECT_NE(message.find("not positive definite"), std::string::npos) << message;
  }
}

// What is no preconditioner at all costs half as much again at most, and two periods of 10 columns to find it out.
TEST_F(LobpcgOnHost, LeavesBadPreconditionersOut) {
  const auto plain = lobpcg<Host>({a_}, with(6));
  const auto most = static_cast<double>(plain.applications) * 1.5 + 50 * 10;
  const auto scaled_by = [](auto factor) {
    return [factor](std::span<const double>, const Host& r, const Host& w) {
      const SmallMatrix<double> factors(r.context(), 1, r.width());
      copy(r, w);
      for (std::int64_t i = 0; i < r.local_rows(); ++i) {
        for (std::int64_t j = 0; j < r.width(); ++j)
          w.view()(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) *= factor(r.rows().begin() + i);
      }
    };
  };
  const auto random_sign = [](std::int64_t row) { return (row * 2654435761 >> 7) % 2 == 0 ? 1. : -1.; };
  const auto nothing = [](std::int64_t) { return 0.; };
  const auto scattered = [](std::int64_t row) { return std::pow(10., -static_cast<double>(row * 40503 % 13)); };
  for (const Preconditioner<Host>& bad :
       {Preconditioner<Host>(scaled_by(random_sign)), Preconditioner<Host>(scaled_by(nothing)),
        Preconditioner<Host>(scaled_by(scattered))}) {
    const auto result = lobpcg<Host>({.a = a_, .precondition = bad}, with(6));
    expect_right(result, with(6), grid_.size(), exact_);
    EXPECT_LE(static_cast<double>(result.applications), most);
  }
}

TEST_F(LobpcgOnHost, GoodPreconditionersSaveIterations) {
  // Diagonal and rising steeply, so that dividing by the diagonal is nearly all there is to do.
  std::vector<double> values(static_cast<std::size_t>(grid_.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i * i);
  const RowFunction<double> steep(grid_.size(), [&](std::int64_t row, RowEntries<double>& entries) {
    entries.add(row, values[static_cast<std::size_t>(row)]);
    if (row > 0) entries.add(row - 1, 0.5);
    if (row + 1 < std::ssize(values)) entries.add(row + 1, 0.5);
  });
  SparseOperator<double, Kokkos::HostSpace> a(context_, rows_, steep);
  const auto jacobi = jacobi_preconditioner(diagonal_of<Host>(context_, rows_, steep));
  const auto plain = lobpcg<Host>({a}, with(6)), helped = lobpcg<Host>({.a = a, .precondition = jacobi}, with(6));
  ASSERT_TRUE(plain.converged() && helped.converged());
  EXPECT_LE(4 * helped.iterations, plain.iterations);
  EXPECT_GT(helped.preconditionings, 0);
}

// Both ends, and a spectrum on both sides of zero.
TEST_F(LobpcgOnHost, JacobiIsDefiniteWhateverTheDiagonal) {
  const Anderson model({7, 8, 6}, 12, 5);
  const auto exact = spectrum(model);
  const auto rows = RowDistribution::uniform(model.size(), context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context_, rows, model);
  for (const auto which : {Which::smallest, Which::largest}) {
    LobpcgOptions options = with(5);
    options.which = which;
    const auto jacobi = jacobi_preconditioner(diagonal_of<Host>(context_, rows, model), {}, which);
    const auto plain = lobpcg<Host>({a}, options), helped = lobpcg<Host>({.a = a, .precondition = jacobi}, options);
    expect_right(helped, options, model.size(), exact);
    EXPECT_TRUE(helped.why.empty()) << helped.why;
    EXPECT_LE(helped.iterations, plain.iterations);
  }
}

TEST_F(LobpcgOnHost, ChebyshevSavesReductions) {
  for (const auto which : {Which::smallest, Which::largest}) {
    LobpcgOptions options = with(5);
    options.which = which;
    const auto m = chebyshev_preconditioner<Host>(a_, estimated_ends<Host>(a_), 6, 30, which);
    const auto plain = lobpcg<Host>({a_}, options), helped = lobpcg<Host>({.a = a_, .precondition = m}, options);
    expect_right(helped, options, grid_.size(), exact_);
    EXPECT_LE(2 * helped.reductions, plain.reductions);
  }
  EXPECT_THROW((void)chebyshev_preconditioner<Host>(a_, {1, 0}), Error);
}

TEST_F(LobpcgOnHost, StaysOrthogonalToDeflatedVectors) {
  const auto lowest = lobpcg<Host>({a_}, with(3));
  ASSERT_TRUE(lowest.converged());
  const auto result = lobpcg<Host>({.a = a_, .deflation = lowest.vectors}, with(4));
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.eigenvalues[i], exact_[i + 3], 1e-8 * exact_.back());
  const SmallMatrix<double> c(context_, 3, 4);
  inner_product(lowest.vectors, result.vectors, c);
  EXPECT_LE(orth::dense::max_norm(c), 1e-10);
}

TEST_F(LobpcgOnHost, GoesOnFromGoodVectors) {
  const auto first = lobpcg<Host>({a_}, with(5));
  ASSERT_TRUE(first.converged());
  const auto again = lobpcg<Host>({.a = a_, .initial = first.vectors}, with(5));
  expect_right(again, with(5), grid_.size(), exact_);
  EXPECT_LE(again.iterations, 3);
  // A start of rank 1, and one that is orthogonal to what is wanted.
  const Host same(context_, rows_, 4);
  for (std::int64_t j = 0; j < 4; ++j) copy(first.vectors.column(0), same.column(j));
  expect_right(lobpcg<Host>({.a = a_, .initial = same}, with(5)), with(5), grid_.size(), exact_);
  LobpcgOptions other_end = with(5);
  other_end.which = Which::largest;
  const auto highest = lobpcg<Host>({a_}, other_end);
  expect_right(lobpcg<Host>({.a = a_, .initial = highest.vectors}, with(5)), with(5), grid_.size(), exact_);
}

TEST_F(LobpcgOnHost, EndsWhereItIsAskedTo) {
  LobpcgOptions options = with(5);
  options.max_iterations = 4;
  const auto given_up = lobpcg<Host>({a_}, options);
  EXPECT_EQ(given_up.status, Status::exhausted);
  EXPECT_EQ(given_up.iterations, 4);
  EXPECT_EQ(given_up.eigenvalues.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_GE(given_up.eigenvalues[i], exact_[i] - 1e-12 * exact_.back());

  const auto stopped = lobpcg<Host>({a_}, with(5), [](const Step& step) { return step.restart < 3; });
  EXPECT_EQ(stopped.status, Status::stopped);
  EXPECT_EQ(stopped.why, stopped_by_observer);
  EXPECT_EQ(stopped.iterations, 3);

  const std::string message = message_of([&] {
    (void)lobpcg<Host>({a_}, with(5), [this](const Step& step) -> bool {
      if (step.restart == 2 && context_.communicator().rank() == context_.communicator().size() - 1)
        throw Error("the observer has seen enough");
      return true;
    });
  });
  EXPECT_EQ(message.find("the observer has seen enough"), 0U) << message;
}

TEST_F(LobpcgOnHost, ReportsWhatIsNotFinite) {
  int products = 0;
  const auto poisoned = FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) {
    a_.apply(1, 0, x, 0, y);
    if (++products > 20 && y.local_rows() > 0) y.view()(0, 0) = std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_NE(message_of([&] { (void)lobpcg<Host>({poisoned}, with(3)); }), "no error");
  const auto bad = [](std::span<const double>, const Host& r, const Host& w) {
    copy(r, w);
    if (w.local_rows() > 0) w.view()(0, 0) = std::numeric_limits<double>::infinity();
  };
  EXPECT_NE(message_of([&] { (void)lobpcg<Host>({.a = a_, .precondition = bad}, with(3)); }), "no error");
}

TEST_F(LobpcgOnHost, RefusesOptionsThatDoNotFit) {
  const auto refusal = [&](const LobpcgOptions& options) {
    try {
      (void)lobpcg<Host>({a_}, options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(with(0)), "lobpcg: 0 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(with(421)), "lobpcg: 421 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(with(4, -2)), "lobpcg: there cannot be -2 guard columns");
  EXPECT_EQ(refusal({.tolerance = 0}), "lobpcg: the tolerance must be positive, not 0");
  EXPECT_EQ(refusal({.max_iterations = -1}), "lobpcg: there cannot be at most -1 iterations");
  const Context other = Context::self(1);
  const Host elsewhere(other, RowDistribution::uniform(420, other.communicator()), 2);
  EXPECT_THROW((void)lobpcg<Host>({.a = a_, .initial = elsewhere}, with(3)), ShapeError);
}

TEST_F(LobpcgOnHost, ScalesOfAnySizeAreTheSameProblem) {
  const auto plain = lobpcg<Host>({a_}, with(4));
  for (const double scale : {1e-100, 1e100}) {
    const auto scaled =
        FunctionOperator<Host>(context_, rows_, [&](const Host& x, const Host& y) { a_.apply(scale, 0, x, 0, y); });
    const auto result = lobpcg<Host>({scaled}, with(4));
    ASSERT_TRUE(result.converged()) << scale << ": " << result.why;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.eigenvalues[i] / scale, exact_[i], 1e-8 * exact_.back());
  }
}

TEST_F(LobpcgOnHost, RepeatsBitForBit) {
  const auto first = lobpcg<Host>({a_}, with(6)), second = lobpcg<Host>({a_}, with(6));
  EXPECT_EQ(first.eigenvalues, second.eigenvalues);
  EXPECT_EQ(first.residual_norms, second.residual_norms);
  EXPECT_EQ(first.applications, second.applications);
}

TEST_F(LobpcgOnHost, SpectrumBoundsLieInTheSpectrum) {
  const auto apply = [&](const Host& x, const Host& y) { a_.apply(1, 0, x, 0, y); };
  const Host model(context_, rows_, 1);
  const double rounding = 64 * epsilon<double> * exact_.back();
  for (const std::int64_t steps : {1, 12, 40}) {
    const auto bounds = spectrum_bounds(apply, model, steps, 1);
    EXPECT_GE(bounds.lowest, exact_.front() - rounding);
    EXPECT_LE(bounds.highest, exact_.back() + rounding);
    if (steps == 40) {
      EXPECT_NEAR(bounds.norm(), exact_.back(), 0.01 * exact_.back());
    }
  }
}

TEST(PreconditionerTrial, KeepsWhatIsFaster) {
  PreconditionerTrial good(true), bad(true), none(false);
  EXPECT_FALSE(none.uses());
  for (int i = 0; i < 200; ++i) {
    good.see(-0.1 * i, 1);
    bad.see(bad.uses() ? 0 : -0.1 * i, 1);
    EXPECT_TRUE(good.uses());
  }
  EXPECT_FALSE(bad.uses());
  EXPECT_TRUE(bad.was_dropped());
}

}  // namespace
}  // namespace blockvec::solvers
