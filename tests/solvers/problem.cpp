// What a problem is made of: any operator, vectors that stay out of the search, vectors that it begins with.
#include <gtest/gtest.h>

#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <numeric>

#include "problems/laplacian.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

using examples::Laplacian;

/// 0, 1, 1, 1, 2, 3, ...
std::vector<double> some_values(std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), -2.);
  values[0] = 0;
  values[1] = values[2] = 1;
  return values;
}

template <class Vector>
void expect_right(const Result<Vector>& result, const LanczosOptions& options, std::vector<double> exact) {
  std::sort(exact.begin(), exact.end());
  ASSERT_TRUE(result.converged()) << result.why;
  ASSERT_EQ(std::ssize(result.eigenvalues), options.wanted);
  const double limit = options.tolerance * result.norm_estimate;
  const double rounding =
      8 * static_cast<double>(exact.size()) * static_cast<double>(epsilon<typename Vector::Scalar>) * exact.back();
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i)
    EXPECT_NEAR(result.eigenvalues[i], exact[i], limit + rounding) << i;
}

template <class Vector>
void expect_prescribed(double tolerance) {
  const auto values = some_values(400);
  PrescribedSpectrum<Vector> a(Context::world(1), values);
  LanczosOptions options;
  options.wanted = 6;
  options.tolerance = tolerance;
  expect_right(block_lanczos<Vector>({a}, options), options, values);
  EXPECT_GT(a.calls, 0);  // a variable is referred to, not copied
}

TEST(Problem, TakesAnyOperatorOfAllScalarsAndLayouts) {
  expect_prescribed<BlockVector<double>>(1e-8);
  expect_prescribed<BlockVector<double, ColumnMajor>>(1e-8);
  expect_prescribed<BlockVector<Complex<double>>>(1e-8);
  expect_prescribed<BlockVector<Complex<double>, ColumnMajor>>(1e-8);
  expect_prescribed<BlockVector<float>>(1e-4);
  expect_prescribed<BlockVector<float, ColumnMajor>>(1e-4);
  expect_prescribed<BlockVector<Complex<float>>>(1e-4);
  expect_prescribed<BlockVector<Complex<float>, ColumnMajor>>(1e-4);
}

// With shift and beta, against the operator that it is made from.
TEST(Problem, AFunctionIsAnOperator) {
  using Vector = BlockVector<double>;
  const auto context = Context::world(1);
  PrescribedSpectrum<Vector> a(context, some_values(50));
  const FunctionOperator<Vector> f(context, a.rows(),
                                   [&](const Vector& x, const Vector& y) { a.apply(1, 0, x, 0, y); });
  const Vector x(context, a.rows(), 3), expected(context, a.rows(), 3), got(context, a.rows(), 3);
  fill_random(x, 1);
  const SmallMatrix<double> norms(context, 1, 3);
  for (const auto& [alpha, shift, beta] : {std::array{1., 0., 0.}, std::array{-2., 3., 0.5}, std::array{1., 1., 1.}}) {
    fill(expected, 1.5);
    fill(got, 1.5);
    a.apply(alpha, shift, x, beta, expected);
    AnyOperator<Vector>(f).apply(alpha, shift, x, beta, got);
    axpby(-1., expected, 1., got);
    column_norms(got, norms);
    const auto host = norms.to_host();
    for (std::size_t j = 0; j < 3; ++j) EXPECT_LE(host(0, j), 50 * 50 * epsilon<double>) << alpha << " " << shift;
  }
}

// Known eigenvectors are kept out: their eigenvalues are not found again, copies are.
TEST(Problem, DeflationLeavesOutWhatIsKnown) {
  using Vector = BlockVector<double>;
  const std::vector<std::int64_t> cube{9, 9, 9};
  const Laplacian grid(cube);
  const auto context = Context::world(1);
  SparseOperator<double> a(context, RowDistribution::uniform(grid.size(), context.communicator()), grid);
  auto exact = exact_laplacian(cube);
  for (const int filter : {0, LanczosOptions::automatic_filter}) {
    LanczosOptions options;
    options.wanted = 5;
    options.tolerance = 1e-10;
    options.filter_degree = filter;
    const auto first = block_lanczos<Vector>({a}, options);
    expect_right(first, options, exact);
    // Scaled, and one of them twice: they need not be orthonormal.
    const Vector known(context, a.rows(), 6);
    copy(first.vectors, known.columns(0, 5));
    copy(first.vectors.column(2), known.column(5));
    scale(known, 3.);
    const auto second = block_lanczos<Vector>({.a = a, .deflation = known}, options);
    expect_right(second, options, {exact.begin() + 5, exact.end()});
    const SmallMatrix<double> overlap(context, 5, 5);
    inner_product(first.vectors, second.vectors, overlap);
    EXPECT_LE(orth::dense::max_norm(overlap), 64 * 5 * std::sqrt(729.) * epsilon<double>);
  }
}

TEST(Problem, WhatIsLeftBesideDeflationCanBeAllThatThereIs) {
  using Vector = BlockVector<double>;
  const Laplacian grid({13});
  const auto context = Context::world(1);
  SparseOperator<double> a(context, RowDistribution::uniform(13, context.communicator()), grid);
  LanczosOptions options;
  options.wanted = 4;
  const auto exact = exact_laplacian({13});
  const auto first = block_lanczos<Vector>({a}, options);
  options.wanted = 9;
  expect_right(block_lanczos<Vector>({.a = a, .deflation = first.vectors}, options), options,
               {exact.begin() + 4, exact.end()});
  options.wanted = 10;
  EXPECT_THROW(((void)block_lanczos<Vector>({.a = a, .deflation = first.vectors}, options)), InputError);
}

// Good vectors to begin with spare columns of A; vectors without any part of the answer only cost.
TEST(Problem, InitialVectorsAreWhereTheSearchBegins) {
  using Vector = BlockVector<double>;
  const std::vector<std::int64_t> square{30, 31};
  const Laplacian grid(square);
  const auto context = Context::world(1);
  SparseOperator<double> a(context, RowDistribution::uniform(grid.size(), context.communicator()), grid);
  LanczosOptions options;
  options.wanted = 3;
  options.filter_degree = 0;
  const auto exact = exact_laplacian(square);
  const auto first = block_lanczos<Vector>({a}, options);
  expect_right(first, options, exact);
  const auto again = block_lanczos<Vector>({.a = a, .initial = first.vectors}, options);
  expect_right(again, options, exact);
  EXPECT_LT(again.applications, first.applications);

  options.which = Which::largest;
  const auto highest = block_lanczos<Vector>({a}, options);
  options.which = Which::smallest;
  const Vector wrong(context, a.rows(), 4);  // a rank less than columns, and a column of zeros
  copy(highest.vectors.columns(0, 2), wrong.columns(0, 2));
  copy(highest.vectors.column(0), wrong.column(2));
  expect_right(block_lanczos<Vector>({.a = a, .initial = wrong}, options), options, exact);
}

TEST(Problem, VectorsOfOtherRowsAreRefusedByName) {
  using Vector = BlockVector<double>;
  const auto context = Context::world(1);
  PrescribedSpectrum<Vector> a(context, some_values(50));
  const Vector other(context, RowDistribution::uniform(51, context.communicator()), 2, "X0");
  try {
    (void)block_lanczos<Vector>({.a = a, .initial = other}, {.wanted = 2});
    FAIL() << "nothing was thrown";
  } catch (const ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("initial vectors X0 (51 x 2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace blockvec::solvers
