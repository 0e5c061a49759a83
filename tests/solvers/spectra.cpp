// LOBPCG, Chebyshev-filtered subspaces, Jacobi-Davidson: exact spectra with all multiplicities, and pairs.
#include <bit>
#include <blockvec/solvers/preconditioners.hpp>
#include <type_traits>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "tests/solvers/drivers.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/mikota.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

template <class Driver>
class Spectra : public testing::Test {};
TYPED_TEST_SUITE(Spectra, Drivers, DriverNames);

// Multiplicities 1, 3, 3, 3, 1, 6, ...
TYPED_TEST(Spectra, FindsMultiplicities) {
  const std::vector<std::int64_t> cube{9, 9, 9};
  for (const std::int64_t wanted : {1, 4, 11}) {
    for (const auto& options : TypeParam::variants(wanted))
      expect_right<TypeParam>(Laplacian(cube), options, exact_laplacian(cube));
  }
  expect_right<TypeParam>(Laplacian(cube), TypeParam::with(60), exact_laplacian(cube));
  for (const auto& options : TypeParam::variants(9))
    expect_right<TypeParam>(Anderson({8, 8, 8}, 0, 1), options, exact_lattice({8, 8, 8}));
  for (const auto& options : TypeParam::variants(8))
    expect_right<TypeParam>(Graphene<double>({12, 12}), options, exact_graphene(12, 12));
}

// Each Krylov space sees one copy of each of the d + 1 levels.
TYPED_TEST(Spectra, FindsTheLevelsOfAHypercube) {
  constexpr int d = 9;
  const RowFunction<double> cube(1 << d, [](std::int64_t row, RowEntries<double>& entries) {
    for (int bit = 0; bit < d; ++bit) entries.add(row ^ (std::int64_t{1} << bit), -1);
  });
  std::vector<double> exact;
  for (std::int64_t row = 0; row < 1 << d; ++row)
    exact.push_back(-d + 2. * static_cast<double>(std::popcount(static_cast<std::uint64_t>(row))));
  std::sort(exact.begin(), exact.end());
  for (const std::int64_t wanted : {8, 10, 14}) {
    const auto options = TypeParam::with(wanted);
    const auto result = solve<TypeParam, double>(cube, options);
    expect_right(result, options, cube.size(), exact);
    EXPECT_EQ(result.last_level_cut, wanted != 10);
  }
}

// The lower edge of a dense part of the spectrum draws corrections to it that levels below it lack.
TYPED_TEST(Spectra, FindsCopiesBelowADensePart) {
  std::vector<double> values(20000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < 8 ? 0 : i < 16 ? 0.1 : 1 + 9 * static_cast<double>(i) / static_cast<double>(values.size());
  }
  for (const std::int64_t wanted : {8, 16}) {
    const auto options = TypeParam::with(wanted);
    const auto result = solve<TypeParam, double>(Diagonal(values), options);
    expect_right(result, options, std::ssize(values), values);
    ASSERT_EQ(result.residual_estimates.size(), result.residual_norms.size());
    for (std::size_t i = 0; i < result.residual_norms.size(); ++i) {  // of the same pair
      EXPECT_NEAR(result.residual_estimates[i], result.residual_norms[i], 0.1 * result.residual_norms[i]);
    }
  }
}

TYPED_TEST(Spectra, BothEndsBothLayoutsRealAndComplex) {
  for (const auto which : {Which::smallest, Which::largest}) {
    auto options = TypeParam::with(6);
    options.which = which;
    expect_right<TypeParam, double, RowMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    expect_right<TypeParam, double, ColumnMajor>(Laplacian({30, 20}), options, exact_laplacian({30, 20}));
    const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
    const std::vector<double> exact = spectrum(sheet);
    expect_right<TypeParam, Complex<double>, RowMajor>(sheet, options, exact);
    expect_right<TypeParam, Complex<double>, ColumnMajor>(sheet, options, exact);
  }
}

TYPED_TEST(Spectra, SpinChainsAndDisorder) {
  expect_right<TypeParam>(SpinChain(12, 6, true, 0), TypeParam::with(8), exact_xx(12, 6, true));
  const SpinChain ring(10, 5, true, 1);
  expect_right<TypeParam>(ring, TypeParam::with(8), spectrum(ring));
  const Anderson model({7, 8, 6}, 12, 5);
  expect_right<TypeParam>(model, TypeParam::with(5), spectrum(model));
}

// Of 8192 states, 256 lie within 3e-11 at the lower end.
TYPED_TEST(Spectra, TakesLevelsThatAreWiderThanTheBlock) {
  const Graphene<Complex<double>> sheet({64, 64}, 1, 16);
  const auto options = TypeParam::with(16);
  const auto result = solve<TypeParam, Complex<double>>(sheet, options);
  expect_right(result, options, sheet.size(), exact_graphene(64, 64, 1, 16));
  EXPECT_TRUE(result.last_level_cut);
}

TYPED_TEST(Spectra, SmallMatricesEndInTheirWholeSpace) {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 13, 30}) {
    for (const std::int64_t wanted :
         {std::int64_t{1}, (n + 1) / 2, std::min(n, n / 2 + 1), std::max<std::int64_t>(1, n - 1), n}) {
      for (const auto& options : TypeParam::variants(wanted))
        expect_right<TypeParam>(Laplacian({n}), options, exact_laplacian({n}));
    }
  }
  expect_right<TypeParam>(Laplacian({3, 3, 3}), TypeParam::with(27), exact_laplacian({3, 3, 3}));
  expect_right<TypeParam>(SpinChain(5, 0, true, 1), TypeParam::with(1), {1.25});
  const std::vector<double> same(20, 3.0), zeros(20, 0.0);
  expect_right<TypeParam>(Diagonal(same), TypeParam::with(7), same);
  const auto result = solve<TypeParam, double>(Diagonal(zeros), TypeParam::with(3));
  EXPECT_TRUE(result.converged()) << result.why;
  for (const double value : result.eigenvalues) EXPECT_EQ(value, 0);
}

TYPED_TEST(Spectra, LevelsFarCloserThanTheRest) {
  std::vector<double> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < 8 ? 1e-10 * static_cast<double>(i) : 1 + static_cast<double>(i) / 100;
  }
  auto options = TypeParam::with(8);
  options.tolerance = 1e-12;
  expect_right<TypeParam>(Diagonal(values), options, values);
}

TYPED_TEST(Spectra, SaysWhereTheLastLevelIsCut) {
  std::vector<double> values(300, 0.0);
  for (std::size_t i = 8; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i) / 100;
  for (const std::int64_t wanted : {1, 3, 5, 7, 8, 9}) {
    const auto result = solve<TypeParam, double>(Diagonal(values), TypeParam::with(wanted));
    ASSERT_TRUE(result.converged()) << result.why;
    EXPECT_EQ(result.last_level_cut, wanted < 8) << wanted;
  }
}

// However large B is: what counts as one level follows its scale.
TYPED_TEST(Spectra, SaysWhereTheLastLevelOfAPairIsCut) {
  using Vector = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  std::vector<double> values(300, 0.0);
  for (std::size_t i = 8; i < values.size(); ++i) values[i] = 1 + static_cast<double>(i) / 100;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(std::ssize(values), context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, Diagonal(values));
  for (const double scale : {1e-9, 1e9}) {
    SparseOperator<double, Kokkos::HostSpace> b(context, rows, Diagonal(std::vector<double>(values.size(), scale)));
    for (const std::int64_t wanted : {3, 8, 9}) {
      const auto result = TypeParam::template solve<Vector>({.a = a, .b = b}, TypeParam::with(wanted));
      ASSERT_TRUE(result.converged()) << result.why;
      EXPECT_EQ(result.last_level_cut, wanted < 8) << wanted << ", B = " << scale;
      for (std::size_t j = 0; j < result.eigenvalues.size(); ++j)
        EXPECT_NEAR(result.eigenvalues[j] * scale, values[j], 1e-7);
    }
  }
}

TYPED_TEST(Spectra, ManyCopiesOfFewValues) {
  using Vector = BlockVector<double>;
  std::vector<double> values(420, 5.0);
  for (std::size_t i = 0; i < 16; ++i) values[i] = i < 8 ? 0 : 0.1;
  for (std::size_t i = 16; i < 100; ++i) values[i] = 1 + static_cast<double>(i) / 100;
  const auto context = Context::world(1);
  PrescribedSpectrum<Vector> a(context, values);
  for (const std::int64_t wanted : {5, 8, 16}) {
    const auto options = TypeParam::with(wanted);
    const auto result = TypeParam::template solve<Vector>({a}, options);
    expect_right(result, options, std::ssize(values), sorted(values));
    EXPECT_EQ(result.last_level_cut, wanted == 5);
  }
  // Two values are all there is.
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 12 ? -1 : 1;
  PrescribedSpectrum<Vector> two(context, values);
  for (const std::int64_t wanted : {3, 12, 20}) {
    const auto options = TypeParam::with(wanted);
    expect_right(TypeParam::template solve<Vector>({two}, options), options, std::ssize(values), values);
  }
}

/// The same entries in the other precision.
RowFunction<double> doubled(const RowSource<float>& source) {
  return RowFunction<double>(source.size(), [&source](std::int64_t row, RowEntries<double>& entries) {
    RowEntries<float> single;
    source.append_row(row, single);
    for (std::size_t i = 0; i < single.columns.size(); ++i) entries.add(single.columns[i], single.values[i]);
  });
}

TYPED_TEST(Spectra, SinglePrecision) {
  const RowFunction<float> grid(144, [](std::int64_t row, RowEntries<float>& entries) {
    entries.add(row, 4);
    if (row % 12 > 0) entries.add(row - 1, -1);
    if (row % 12 < 11) entries.add(row + 1, -1);
    if (row >= 12) entries.add(row - 12, -1);
    if (row < 132) entries.add(row + 12, -1);
  });
  const RowFunction<float> chain(300, [](std::int64_t row, RowEntries<float>& entries) {
    entries.add(row, static_cast<float>(row));
    if (row > 0) entries.add(row - 1, -1);
    if (row < 299) entries.add(row + 1, -1);
  });
  for (const auto* source : {&grid, &chain}) {
    const auto exact = spectrum(doubled(*source));
    auto options = TypeParam::with(5);
    options.tolerance = (source == &grid ? 100 : 200) * epsilon<float>;
    const auto result = solve<TypeParam, float>(*source, options);
    ASSERT_TRUE(result.converged()) << result.why;
    ASSERT_EQ(result.eigenvalues.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(result.eigenvalues[i], exact[i], 2 * options.tolerance * exact.back());
  }
}

template <class Driver, class Space>
void solve_mikota() {
  using Vector = BlockVector<double, RowMajor, Space>;
  const Mikota pair{150};
  MikotaOperators<Space> operators(pair);
  auto problem = operators.problem();
  const Context& context = problem.a.context();
  const RowDistribution& rows = problem.a.rows();
  for (const auto which : {Which::smallest, Which::largest}) {
    const auto jacobi = jacobi_preconditioner(diagonal_of<Vector>(context, rows, pair.k()),
                                              diagonal_of<Vector>(context, rows, pair.m()), which);
    for (const auto& m : {Preconditioner<Vector>(), jacobi}) {
      if (m && !Driver::takes_preconditioners) continue;
      for (auto options : Driver::variants(6)) {
        SCOPED_TRACE(testing::Message() << Driver::describe(options) << (m ? ", Jacobi" : "")
                                        << (which == Which::largest ? ", largest" : ""));
        options.which = which;
        options.tolerance = 1e-12;
        options.max_iterations = 3000;  // of a last pair with neither guards beside it nor a preconditioner
        problem.precondition = m;
        const auto result = Driver::template solve<Vector>(problem, options);
        EXPECT_TRUE(result.converged()) << result.why;
        which == Which::smallest ? pair.expect_lowest(result) : pair.expect_highest(result);
        // B is applied to what A is applied to, but for looks at B and at the result.
        EXPECT_LE(static_cast<double>(result.applications_b), 1.1 * static_cast<double>(result.applications) + 60);
      }
    }
  }
}

TYPED_TEST(Spectra, PairsInSinglePrecision) {
  using Vector = BlockVector<float, RowMajor, Kokkos::HostSpace>;
  const Mikota pair{40};
  const auto single = [](const RowSource<double>& source) {
    return RowFunction<float>(source.size(), [&source](std::int64_t row, RowEntries<float>& entries) {
      RowEntries<double> precise;
      source.append_row(row, precise);
      for (std::size_t i = 0; i < precise.columns.size(); ++i)
        entries.add(precise.columns[i], static_cast<float>(precise.values[i]));
    });
  };
  const auto k = pair.k(), m = pair.m();
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(pair.n, context.communicator());
  SparseOperator<float, Kokkos::HostSpace> a(context, rows, single(k)), b(context, rows, single(m));
  const auto exact_inverse = inverse_of_diagonal(diagonal_of<Vector>(context, rows, single(m)));
  const std::remove_const_t<decltype(exact_inverse)> none{};
  for (const auto& inverse_b : {exact_inverse, none}) {
    auto options = TypeParam::with(4);
    options.tolerance = 100 * epsilon<float>;
    const auto result = TypeParam::template solve<Vector>({.a = a, .b = b, .inverse_b = inverse_b}, options);
    ASSERT_TRUE(result.converged()) << result.why;
    const auto n = static_cast<double>(pair.n);
    for (std::size_t j = 0; j < 4; ++j) {
      const auto root = static_cast<double>(j + 1);
      // ||A|| is below 4 n, ||B^-1|| is n.
      EXPECT_NEAR(result.eigenvalues[j], root * root,
                  n * result.residual_norms[j] + n * static_cast<double>(epsilon<float>) * 4 * n * n);
    }
  }
}

TYPED_TEST(Spectra, Pairs) {
  solve_mikota<TypeParam, Kokkos::HostSpace>();
#if BLOCKVEC_HAVE_CUDA_SPACE
  solve_mikota<TypeParam, Kokkos::CudaSpace>();
#endif
}

}  // namespace
}  // namespace blockvec::solvers
