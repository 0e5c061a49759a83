#include <gtest/gtest.h>

#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <numeric>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "solvers/lanczos/spectrum_probe.hpp"
#include "tests/solvers/dense.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/expect_right.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Scalar, class Layout = RowMajor, class Space = Kokkos::HostSpace>
Result<BlockVector<Scalar, Layout, Space>> solve(const RowSource<Scalar>& source, const LanczosOptions& options,
                                                 const Observer& observer = {}) {
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar, Space> a(context, rows, source);
  return block_lanczos<BlockVector<Scalar, Layout, Space>>({a}, options, observer);
}

template <class Scalar, class Layout = RowMajor>
void expect_right(const RowSource<Scalar>& source, const LanczosOptions& options, const std::vector<double>& exact) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", block " << options.block << ", basis " << options.basis
                                  << ", filter " << options.filter_degree << ", nev " << options.wanted);
  expect_right(solve<Scalar, Layout>(source, options), options, source.size(), exact);
#if BLOCKVEC_HAVE_CUDA_SPACE
  expect_right(solve<Scalar, Layout, Kokkos::CudaSpace>(source, options), options, source.size(), exact);
#endif
}

LanczosOptions with(std::int64_t wanted, std::int64_t block, int filter = LanczosOptions::automatic_filter) {
  LanczosOptions options;
  options.wanted = wanted;
  options.block = block;
  options.filter_degree = filter;
  return options;
}

// Multiplicities 1, 3, 3, 3, 1, 6, ... with every width of block, with and without filter.
TEST(BlockLanczos, FindsMultiplicitiesWhateverTheBlock) {
  const std::vector<std::int64_t> cube{9, 9, 9};
  for (const int filter : {0, LanczosOptions::automatic_filter, 7}) {
    for (const std::int64_t block : {1, 2, 3, 4, 6})
      expect_right(Laplacian(cube), with(11, block, filter), exact_laplacian(cube));
  }
}

TEST(BlockLanczos, ConvergesWithEveryPairOfMethods) {
  using orth::Between;
  using orth::Within;
  const Laplacian grid({9, 9});
  const auto exact = exact_laplacian({9, 9});
  LanczosOptions options = with(4, 3);
  for (int between = 0; between <= static_cast<int>(Between::two_stage); ++between) {
    for (int within = 0; within <= static_cast<int>(Within::pivoted_cholqr); ++within) {
      options.orth.between = static_cast<Between>(between);
      options.orth.within = static_cast<Within>(within);
      SCOPED_TRACE(to_string(options.orth.between) + "/" + to_string(options.orth.within));
      expect_right(grid, options, exact);
    }
  }
}

TEST(BlockLanczos, FindsMultiplicitiesOfPeriodicLattices) {
  // 1, 6, 12, ... for the clean lattice; 1, 6, 6, ... for graphene.
  for (const std::int64_t block : {1, 4}) {
    expect_right(Anderson({8, 8, 8}, 0, 1), with(9, block), exact_lattice({8, 8, 8}));
    expect_right(Graphene<double>({12, 12}), with(8, block), exact_graphene(12, 12));
  }
}

TEST(BlockLanczos, BothEndsBothLayouts) {
  for (const auto which : {Which::smallest, Which::largest}) {
    LanczosOptions options = with(6, 3);
    options.which = which;
    expect_right<double, RowMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    expect_right<double, ColumnMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
    const std::vector<double> exact = spectrum(sheet);
    expect_right<Complex<double>, RowMajor>(sheet, options, exact);
    expect_right<Complex<double>, ColumnMajor>(sheet, options, exact);
  }
}

// Of 8192 states, 256 lie within 3e-11 at the lower end; or 512 within 2e-5, 48 of which are the lowest. A filter whose
// edge falls between the states of a level needs a degree that nothing pays for.
TEST(BlockLanczos, TakesNoLevelApartThatIsWiderThanTheBasis) {
  struct Level {
    std::int64_t q, most_applications;
  };
  for (const auto& [q, most_applications] : {Level{16, 1000}, Level{8, 120'000}}) {
    const Graphene<Complex<double>> sheet({64, 64}, 1, q);
    const auto result = solve<Complex<double>, ColumnMajor>(sheet, with(16, 3));
    expect_right(result, with(16, 3), sheet.size(), exact_graphene(64, 64, 1, q));
    EXPECT_LE(result.applications, most_applications) << q;
  }
}

// There a filter adds products and saves most of the orthogonalisation, which takes longer where a row has few entries.
TEST(BlockLanczos, FiltersAWideLevelWhereProductsAreCheap) {
  const Graphene<Complex<double>> sheet({64, 64}, 1, 16);
  LanczosOptions options = with(16, 3);
  const auto plain = solve<Complex<double>, ColumnMajor>(sheet, options);
  options.row_entries = 4;
  const auto filtered = solve<Complex<double>, ColumnMajor>(sheet, options);
  expect_right(filtered, options, sheet.size(), exact_graphene(64, 64, 1, 16));
  EXPECT_LE(2 * filtered.reductions, plain.reductions);
  EXPECT_LE(filtered.applications, 3 * plain.applications);
}

// Where a level is in truth a narrow band, its lowest states can be had by a filter that looks into it.
TEST(BlockLanczos, TakesABandApartWhereNothingElseHelps) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back(1e-5 * i / 200);
  for (int i = 0; i < 2000; ++i) values.push_back(0.4 + 5.0 * i / 2000);
  LanczosOptions options = with(8, 3);
  options.tolerance = 1e-9;
  expect_right(Diagonal(values), options, values);
}

using ProbedVector = BlockVector<double, ColumnMajor>;

SpectrumProbe<ProbedVector> probe_of(SparseOperator<double>& a, double sign) {
  const auto column = [&] { return ProbedVector(a.context(), a.rows(), 1); };
  return {a, sign, ProbedVector(), {column(), column()}};
}

TEST(SpectrumProbe, KeepsCloseEigenvaluesTogether) {
  const auto context = Context::world(1);
  std::vector<double> values(300, 0.0);
  for (std::size_t i = 0; i < 100; ++i) values[i] = 1e-6 * static_cast<double>(i);
  for (std::size_t i = 100; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i) / 100;
  const auto rows = RowDistribution::uniform(std::ssize(values), context.communicator());
  SparseOperator<double> a(context, rows, Diagonal(values));
  auto probe = probe_of(a, 1);
  const double count = 50, least_gap = 1e-3;
  const auto cut = probe.run(count, least_gap, 1);
  ASSERT_TRUE(cut.has_value());
  EXPECT_TRUE(cut->is_crowded);
  EXPECT_GE(cut->at, least_gap * (cut->top - cut->lowest));
}

TEST(SpectrumProbe, BoundsTheSpectrum) {
  const auto context = Context::world(1);
  const auto probe = [&](const auto& source, double sign, double count) {
    const auto rows = RowDistribution::uniform(source.size(), context.communicator());
    SparseOperator<double> a(context, rows, source);
    return probe_of(a, sign).run(count, 0, 1);
  };
  const std::vector<std::int64_t> cube{20, 20, 20};
  const std::vector<double> exact = exact_laplacian(cube);
  const double rounding = 8 * static_cast<double>(exact.size()) * epsilon<double> * exact.back();
  for (const double sign : {1., -1.}) {
    const double lowest = sign > 0 ? exact.front() : -exact.back();
    const double highest = sign > 0 ? exact.back() : -exact.front();
    const auto cut = probe(Laplacian(cube), sign, 60);
    ASSERT_TRUE(cut.has_value());
    EXPECT_GE(cut->lowest, lowest - rounding);
    EXPECT_LT(cut->lowest, cut->at);
    EXPECT_LT(cut->at, cut->top);
    EXPECT_GE(cut->top, highest - rounding);
    EXPECT_LE(cut->norm, exact.back() + rounding);
  }
  // Eight eigenvalues, so there is no cut with nine below.
  EXPECT_FALSE(probe(Anderson({2, 2, 2}, 0, 1), 1, 9).has_value());
}

TEST(BlockLanczos, SpinChains) {
  for (const std::int64_t block : {1, 2, 4}) {
    expect_right(SpinChain(12, 6, true, 0), with(8, block), exact_xx(12, 6, true));
    expect_right(SpinChain(13, 5, false, 0), with(5, block), exact_xx(13, 5, false));
    const SpinChain ring(10, 5, true, 1);
    expect_right(ring, with(8, block), spectrum(ring));
  }
}

TEST(BlockLanczos, DisorderedLattice) {
  const Anderson model({7, 8, 6}, 12, 5);
  expect_right(model, with(5, 2), spectrum(model));
}

TEST(BlockLanczos, SmallMatricesEndInTheirWholeSpace) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13, 30}) {
    for (const std::int64_t block : {1, 2, 3, 4}) {
      for (const std::int64_t wanted : {std::int64_t{1}, (n + 1) / 2, n})
        expect_right(Laplacian({n}), with(wanted, block), exact_laplacian({n}));
    }
  }
  // All eigenvalues of a matrix with few distinct ones.
  for (const std::int64_t block : {1, 2, 3}) {
    expect_right(Laplacian({3, 3, 3}), with(27, block), exact_laplacian({3, 3, 3}));
    expect_right(Anderson({2, 2, 2}, 0, 1), with(8, block), exact_lattice({2, 2, 2}));
    expect_right(SpinChain(5, 0, true, 1), with(1, block), {1.25});
  }
}

TEST(BlockLanczos, TightTolerance) {
  LanczosOptions options = with(6, 4);
  options.tolerance = 1e3 * epsilon<double>;
  expect_right(Laplacian({12, 12, 12}), options, exact_laplacian({12, 12, 12}));
}

TEST(BlockLanczos, SaysWhenItGaveUp) {
  LanczosOptions options = with(8, 2, 0);
  options.max_restarts = 2;
  const auto result = solve<double>(Laplacian({200, 200}), options);
  EXPECT_FALSE(result.converged());
  EXPECT_EQ(result.eigenvalues.size(), 8U);
  EXPECT_EQ(result.residual_norms.size(), 8U);
  EXPECT_GT(*std::max_element(result.residual_norms.begin(), result.residual_norms.end()),
            options.tolerance * result.norm_estimate);
  for (const double value : result.eigenvalues) EXPECT_TRUE(std::isfinite(value));
}

double norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.));
}

// Whichever rank asks, all end at the same block with what is known.
TEST(BlockLanczos, StopsBeforeTheNextBlock) {
  const Communicator world = Communicator::world();
  const Laplacian grid({20, 21});
  const auto exact = exact_laplacian({20, 21});
  for (const int filter : {0, LanczosOptions::automatic_filter}) {
    const LanczosOptions options = with(6, 2, filter);
    const auto blocks = static_cast<int>(solve<double>(grid, options).history.size());
    for (int last = 1; last < blocks; ++last) {
      SCOPED_TRACE(testing::Message() << "filter " << filter << ", block " << last << " of " << blocks);
      int seen = 0;
      Step latest;
      const auto result = solve<double>(grid, options, [&](const Step& step) {
        latest = step;
        return ++seen < last || world.rank() != last % world.size();
      });
      ASSERT_EQ(seen, last);
      if (result.converged()) continue;  // the last block has brought all that was missing
      EXPECT_EQ(result.why, stopped_by_observer);
      EXPECT_EQ(std::ssize(result.history), last);
      const double limit = options.tolerance * result.norm_estimate;
      EXPECT_LE(latest.converged, std::count_if(result.residual_norms.begin(), result.residual_norms.end(),
                                                [&](double residual) { return residual <= limit; }));
      // The vectors are those that the last step told of.
      EXPECT_LE(norm(result.residual_norms), 2 * norm(latest.residuals) + limit);
      // Ritz values bound the eigenvalues from above, in their order.
      for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) EXPECT_GE(result.eigenvalues[i], exact[i] - limit);
      EXPECT_LE(result.orthogonality_loss, 64 * 6 * std::sqrt(420.) * epsilon<double>);
    }
  }
}

TEST(BlockLanczos, StepsTellWhatIsFound) {
  const auto exact = exact_laplacian({20, 21});
  for (const auto which : {Which::smallest, Which::largest}) {
    LanczosOptions options = with(6, 2, 0);
    options.which = which;
    const auto result = solve<double>(Laplacian({20, 21}), options);
    const double limit = options.tolerance * result.norm_estimate + 8 * 420 * epsilon<double> * exact.back();
    EXPECT_TRUE(result.history.front().eigenvalues.empty());
    EXPECT_FALSE(result.history.back().eigenvalues.empty());
    for (const Step& step : result.history) {
      ASSERT_EQ(std::ssize(step.eigenvalues), step.converged);
      ASSERT_EQ(std::ssize(step.residual_norms), step.converged);
      for (std::size_t i = 0; i < step.eigenvalues.size(); ++i) {
        EXPECT_LE(step.residual_norms[i], limit);
        EXPECT_TRUE(std::any_of(exact.begin(), exact.end(),
                                [&](double value) { return std::abs(value - step.eigenvalues[i]) <= limit; }));
        if (i > 0) {
          EXPECT_LE(step.eigenvalues[i - 1] * (which == Which::smallest ? 1 : -1),
                    step.eigenvalues[i] * (which == Which::smallest ? 1 : -1));
        }
      }
    }
  }
}

TEST(BlockLanczos, WhatOneObserverThrowsEndsAll) {
  const Communicator world = Communicator::world();
  int seen = 0;
  try {
    (void)solve<double>(Laplacian({20, 21}), with(6, 2), [&](const Step&) -> bool {
      if (++seen == 3 && world.rank() == world.size() - 1) throw Error("the observer has seen enough");
      return true;
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("the observer has seen enough"), 0U) << error.what();
  }
  EXPECT_EQ(seen, 3);
}

TEST(BlockLanczos, RepeatsBitForBit) {
  const auto first = solve<double>(Laplacian({10, 10, 10}), with(8, 4));
  const auto second = solve<double>(Laplacian({10, 10, 10}), with(8, 4));
  EXPECT_EQ(first.eigenvalues, second.eigenvalues);
  EXPECT_EQ(first.residual_norms, second.residual_norms);
  EXPECT_EQ(first.reductions, second.reductions);
}

TEST(BlockLanczos, RefusesWhatCannotBe) {
  const auto message = [](std::int64_t n, const LanczosOptions& options) {
    try {
      (void)solve<double>(Laplacian({n}), options);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message(5, with(6, 1)), "block_lanczos: 6 eigenpairs were asked of a matrix with 5 rows");
  EXPECT_EQ(message(5, with(0, 1)), "block_lanczos: 0 eigenpairs were asked of a matrix with 5 rows");
  EXPECT_EQ(message(5, with(1, -1)), "block_lanczos: a block has at least 1 column, not -1");
  LanczosOptions options = with(8, 4);
  options.basis = 10;
  EXPECT_EQ(message(100, options),
            "block_lanczos: a basis of 10 columns is too small for 8 eigenpairs with blocks of 4: at least 20");
  options = with(8, 4);
  options.tolerance = 0;
  EXPECT_EQ(message(100, options), "block_lanczos: the tolerance must be positive, not 0");
  EXPECT_EQ(message(100, with(8, 4, -2)), "block_lanczos: a filter has no degree -2");
}

}  // namespace
}  // namespace blockvec::solvers
