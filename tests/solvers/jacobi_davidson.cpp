// Block Jacobi-Davidson: exact spectra with all multiplicities, pairs, preconditioners, faults.
#include <bit>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <limits>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_right.hpp"
#include "tests/solvers/mikota.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
auto solve(const RowSource<Scalar>& source, const JacobiDavidsonOptions& options) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return jacobi_davidson<Vector>({a}, options);
}

template <class Scalar, class Layout = RowMajor>
void expect_right(const RowSource<Scalar>& source, const JacobiDavidsonOptions& options,
                  const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", nev " << options.wanted << ", block " << options.block);
  expect_right(solve<Scalar, Layout>(source, options), options, source.size(), exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_right(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, source.size(), exact);
#endif
}

JacobiDavidsonOptions with(std::int64_t wanted, std::int64_t block = 2) { return {.wanted = wanted, .block = block}; }

// Multiplicities 1, 3, 3, 3, 1, 6, ...
TEST(JacobiDavidson, FindsMultiplicities) {
  for (const std::int64_t block : {1, 2, 4}) {
    expect_right(Laplacian({9, 9, 9}), with(11, block), exact_laplacian({9, 9, 9}));
    expect_right(Anderson({8, 8, 8}, 0, 1), with(9, block), exact_lattice({8, 8, 8}));
    expect_right(Graphene<double>({12, 12}), with(8, block), exact_graphene(12, 12));
  }
}

// Each Krylov space sees one copy of each of the d + 1 levels.
TEST(JacobiDavidson, FindsTheLevelsOfAHypercube) {
  constexpr int d = 9;
  const RowFunction<double> cube(1 << d, [](std::int64_t row, RowEntries<double>& entries) {
    for (int bit = 0; bit < d; ++bit) entries.add(row ^ (std::int64_t{1} << bit), -1);
  });
  std::vector<double> exact;
  for (std::int64_t row = 0; row < 1 << d; ++row)
    exact.push_back(-d + 2. * static_cast<double>(std::popcount(static_cast<std::uint64_t>(row))));
  std::sort(exact.begin(), exact.end());
  for (const std::int64_t wanted : {8, 10, 14}) {
    const auto result = solve<double>(cube, with(wanted));
    expect_right(result, with(wanted), cube.size(), exact);
    EXPECT_EQ(result.last_level_cut, wanted != 10);
  }
}

// The lower edge of a dense part of the spectrum draws corrections to it that levels below it lack.
TEST(JacobiDavidson, FindsCopiesBelowADensePart) {
  std::vector<double> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < 8 ? 0 : i < 16 ? 0.1 : 1 + 9 * static_cast<double>(i) / static_cast<double>(values.size());
  }
  for (const std::int64_t wanted : {8, 16}) {
    const auto result = solve(Diagonal(values), with(wanted));
    expect_right(result, with(wanted), std::ssize(values), values);
    for (std::size_t i = 0; i < result.residual_norms.size(); ++i) {  // of the same pair
      EXPECT_NEAR(result.residual_estimates[i], result.residual_norms[i], 0.1 * result.residual_norms[i]);
    }
  }
}

TEST(JacobiDavidson, BothEndsBothLayoutsRealAndComplex) {
  for (const auto which : {Which::smallest, Which::largest}) {
    JacobiDavidsonOptions options = with(6);
    options.which = which;
    expect_right<double, RowMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    expect_right<double, ColumnMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
    const std::vector<double> exact = spectrum(sheet);
    expect_right<Complex<double>, RowMajor>(sheet, options, exact);
    expect_right<Complex<double>, ColumnMajor>(sheet, options, exact);
  }
}

TEST(JacobiDavidson, SpinChainsAndDisorder) {
  expect_right(SpinChain(12, 6, true, 0), with(8), exact_xx(12, 6, true));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_right(model, with(5), spectrum(model));
}

TEST(JacobiDavidson, SmallMatricesEndInTheirWholeSpace) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13, 30}) {
    for (const std::int64_t block : {1, 3}) {
      for (const std::int64_t wanted : {std::int64_t{1}, n / 2 + 1, std::max<std::int64_t>(1, n - 1), n})
        expect_right(Laplacian({n}), with(wanted, block), exact_laplacian({n}));
    }
  }
  const std::vector<double> same(20, 3.0), zeros(20, 0.0);
  expect_right(Diagonal(same), with(7), same);
  EXPECT_TRUE(solve<double>(Diagonal(zeros), with(3)).converged());
}

TEST(JacobiDavidson, SinglePrecision) {
  JacobiDavidsonOptions options = with(5);
  options.tolerance = 200 * epsilon<float>;
  const RowFunction<float> chain(300, [](std::int64_t row, RowEntries<float>& entries) {
    entries.add(row, static_cast<float>(row));
    if (row > 0) entries.add(row - 1, -1);
    if (row < 299) entries.add(row + 1, -1);
  });
  const auto exact = spectrum(RowFunction<double>(300, [&](std::int64_t row, RowEntries<double>& entries) {
    RowEntries<float> single;
    chain.append_row(row, single);
    for (std::size_t i = 0; i < single.columns.size(); ++i) entries.add(single.columns[i], single.values[i]);
  }));
  const auto result = solve<float>(chain, options);
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(result.eigenvalues[i], exact[i], 2 * options.tolerance * exact.back());
}

template <class Space>
void solve_mikota() {
  using Vector = BlockVector<double, RowMajor, Space>;
  const Mikota pair{150};
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(pair.n, context.communicator());
  SparseOperator<double, Space> a(context, rows, pair.k()), b(context, rows, pair.m());
  const auto jacobi =
      jacobi_preconditioner(diagonal_of<Vector>(context, rows, pair.k()), diagonal_of<Vector>(context, rows, pair.m()));
  for (const auto& m : {Preconditioner<Vector>(), jacobi}) {
    for (const std::int64_t block : {1, 2, 4}) {
      JacobiDavidsonOptions options = with(6, block);
      options.tolerance = 1e-12;
      const auto result = jacobi_davidson<Vector>({.a = a, .b = b, .precondition = m}, options);
      ASSERT_TRUE(result.converged()) << result.why;
      pair.expect_lowest(result);
    }
  }
}

TEST(JacobiDavidson, Pairs) {
  solve_mikota<Kokkos::HostSpace>();
#if BLOCKVEC_HAVE_CUDA_SPACE
  solve_mikota<Kokkos::CudaSpace>();
#endif
}

using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;

class JacobiDavidsonOnHost : public testing::Test {
 protected:
  const Laplacian grid_{{20, 21}};
  const std::vector<double> exact_ = exact_laplacian({20, 21});
  const Context context_ = Context::world(1);
  const RowDistribution rows_ = RowDistribution::uniform(grid_.size(), context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a_{context_, rows_, grid_};

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

TEST_F(JacobiDavidsonOnHost, LeavesAnIndefinitePreconditionerOut) {
  const auto bad = [](std::span<const double>, const Host& r, const Host& w) {
    for (std::int64_t i = 0; i < r.local_rows(); ++i) {
      for (std::int64_t j = 0; j < r.width(); ++j) {
        const auto at = static_cast<std::size_t>(i), column = static_cast<std::size_t>(j);
        w.view()(at, column) = (r.rows().begin() + i) % 2 == 0 ? r.view()(at, column) : -r.view()(at, column);
      }
    }
  };
  const auto result = jacobi_davidson<Host>({.a = a_, .precondition = bad}, with(4));
  expect_right(result, with(4), grid_.size(), exact_);
  EXPECT_FALSE(result.why.empty());
}

TEST_F(JacobiDavidsonOnHost, DeflatesAndGoesOn) {
  const auto lowest = jacobi_davidson<Host>({a_}, with(3));
  ASSERT_TRUE(lowest.converged());
  const auto next = jacobi_davidson<Host>({.a = a_, .deflation = lowest.vectors}, with(4));
  ASSERT_TRUE(next.converged()) << next.why;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(next.eigenvalues[i], exact_[i + 3], 1e-8 * exact_.back());
  const auto again = jacobi_davidson<Host>({.a = a_, .initial = lowest.vectors}, with(3));
  expect_right(again, with(3), grid_.size(), exact_);
  EXPECT_LT(again.iterations, lowest.iterations);  // the look for copies is left
}

TEST_F(JacobiDavidsonOnHost, EndsWhereItIsAskedTo) {
  JacobiDavidsonOptions options = with(5);
  options.max_iterations = 4;
  const auto given_up = jacobi_davidson<Host>({a_}, options);
  EXPECT_EQ(given_up.status, Status::exhausted);
  EXPECT_EQ(given_up.eigenvalues.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_GE(given_up.eigenvalues[i], exact_[i] - 1e-12 * exact_.back());
  const auto stopped = jacobi_davidson<Host>({a_}, with(5), [](const Step& step) { return step.restart < 3; });
  EXPECT_EQ(stopped.status, Status::stopped);
  EXPECT_EQ(stopped.why, stopped_by_observer);
  const auto poisoned = [](std::span<const double>, const Host& r, const Host& w) {
    copy(r, w);
    if (w.local_rows() > 0) w.view()(0, 0) = std::numeric_limits<double>::quiet_NaN();
  };
  EXPECT_NE(message_of([&] { (void)jacobi_davidson<Host>({.a = a_, .precondition = poisoned}, with(3)); }), "no error");
}

TEST_F(JacobiDavidsonOnHost, RefusesOptionsThatDoNotFit) {
  const auto refusal = [&](const JacobiDavidsonOptions& options) {
    return message_of([&] { (void)jacobi_davidson<Host>({a_}, options); });
  };
  EXPECT_EQ(refusal(with(421)), "jacobi_davidson: 421 eigenpairs were asked of a matrix with 420 rows");
  EXPECT_EQ(refusal(with(4, 0)), "jacobi_davidson: a block has at least 1 column, not 0");
  EXPECT_EQ(refusal({.wanted = 4, .basis = 9}),
            "jacobi_davidson: a basis of 9 columns is too small to keep 8 with blocks of 2: at least 12");
  EXPECT_EQ(refusal({.inner_steps = 0}), "jacobi_davidson: there is at least 1 inner step, not 0");
}

TEST_F(JacobiDavidsonOnHost, RepeatsBitForBit) {
  const auto first = jacobi_davidson<Host>({a_}, with(6)), second = jacobi_davidson<Host>({a_}, with(6));
  EXPECT_EQ(first.eigenvalues, second.eigenvalues);
  EXPECT_EQ(first.residual_norms, second.residual_norms);
  EXPECT_EQ(first.applications, second.applications);
}

}  // namespace
}  // namespace blockvec::solvers
