// Chebyshev filters in single precision: their recurrence on residuals, what they save, and when they are left. See
// also spectra.cpp, conduct.cpp and continuation.cpp.
#include "solvers/chebyshev/single_filter.hpp"

#include <blockvec/solvers/dense_operator.hpp>
#include <blockvec/solvers/preconditioners.hpp>

#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "problems/laplacian.hpp"
#include "solvers/spectrum_look.hpp"
#include "tests/solvers/drivers.hpp"
#include "tests/solvers/exact.hpp"
#include "tests/solvers/mikota.hpp"
#include "tests/solvers/on_grid.hpp"
#include "tests/solvers/prescribed_spectrum.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

class SingleFilterOnGrid : public OnGrid {
 protected:
  using Single = SparseOperator<float, Kokkos::HostSpace>;

  Single in_single(const RowSource<double>& source) const { return {context_, rows_, RoundedRows<double>(source)}; }
  std::string refusal(const Problem<Host>& problem) const {
    return message_of([&] { (void)chebyshev_subspace<Host>(problem, {.wanted = 4}); });
  }
};

// A diagonal matrix shows what the polynomial does to every eigenvalue. Errors are those of what residuals lead to.
TEST_F(SingleFilterOnGrid, IsTheScaledPolynomialOfEachColumn) {
  const Diagonal source(exact_);
  const DampedInterval<double> interval{exact_.front(), exact_[30], exact_.back()};
  SingleFilter<Host> filter(in_single(source), 4);
  for (const std::vector<int>& degrees : {std::vector{24, 16, 8, 8}, {22, 18, 10, 2}, {36, 12, 12, 4}, {2, 2, 2, 2}}) {
    for (const double size : {1., 1e-6, 1e-12}) {  // of residuals
      const Host v(context_, rows_, 4), before(context_, rows_, 4), r(context_, rows_, 4);
      std::vector<double> values;
      fill_random(v, 3);
      scale(v, size);
      for (std::size_t j = 0; j < 4; ++j) {
        values.push_back(exact_[3 * j]);
        const auto own = static_cast<std::int64_t>(3 * j) - rows_.begin();
        if (own >= 0 && own < v.local_rows()) v.view()(static_cast<std::size_t>(own), j) = 1;
      }
      copy(v, before);
      const auto eigenvalue = [&](std::size_t i) { return exact_[static_cast<std::size_t>(rows_.begin()) + i]; };
      for (std::size_t i = 0; i < r.view().extent(0); ++i) {
        for (std::size_t j = 0; j < 4; ++j) r.view()(i, j) = (eigenvalue(i) - values[j]) * v.view()(i, j);
      }
      std::int64_t applications = -4;  // residuals tell the first product
      for (const int degree : degrees) applications += degree;
      EXPECT_EQ(filter.filter_pairs(1., interval, degrees, values, r, v), applications);
      for (std::size_t i = 0; i < v.view().extent(0); ++i) {
        const double t = interval.place(eigenvalue(i));
        for (std::size_t j = 0; j < 4; ++j) {
          const double scaled = chebyshev(degrees[j], t) / chebyshev(degrees[j], interval.place(interval.lowest));
          const double d = degrees[j];
          const double error = 4 * d * d * epsilon<float> * std::abs(r.view()(i, j)) / interval.half_width();
          EXPECT_NEAR(v.view()(i, j), scaled * before.view()(i, j), error + 16 * d * epsilon<double>)
              << "degree " << d << ", residual " << r.view()(i, j);
        }
      }
    }
  }
}

/// Products in double precision are those of the look, of the Ritz vectors and of the residuals at the end: single
/// precision is never what a filter lacks. A look takes more products where it has to be repeated.
template <class Vector>
void expect_single(const Result<Vector>& result, const ChebyshevOptions& options, const AnyOperator<Vector>& a,
                   const RowDistribution& rows) {
  const RealOf<typename Vector::Scalar> sign = options.which == Which::smallest ? 1 : -1;
  const auto look = look_at_spectrum(a, sign, Vector(a.context(), rows, 1), options.seed).applications;
  EXPECT_EQ(result.why, "");
  const std::int64_t columns = options.wanted + std::max<std::int64_t>(4, options.wanted / 5);
  EXPECT_GE(result.applications_single, result.applications - look - 3 - (result.iterations + 1) * columns);
}

/// Filters in single precision give the same accuracy, with few more columns.
template <template <class, class> class Matrix, class Scalar, class Layout, class Space>
void expect_as_good(const RowSource<Scalar>& source, ChebyshevOptions options, const std::vector<double>& exact) {
  using Vector = BlockVector<Scalar, Layout, Space>;
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  Matrix<Scalar, Space> a(context, rows, source);
  Matrix<SingleOf<Scalar>, Space> a_single(context, rows, RoundedRows<Scalar>(source));
  for (const double tolerance : {1e-8, 1e-10, 1e-12}) {
    SCOPED_TRACE(testing::Message() << source.describe() << ", nev " << options.wanted << ", tol " << tolerance);
    options.tolerance = tolerance;
    const auto plain = chebyshev_subspace<Vector>({a}, options);
    const auto result = chebyshev_subspace<Vector>({.a = a, .a_single = a_single}, options);
    expect_right(result, options, source.size(), exact);
    EXPECT_LE(static_cast<double>(result.applications), 1.15 * static_cast<double>(plain.applications));
    EXPECT_EQ(plain.applications_single, 0);
    expect_single(result, options, AnyOperator<Vector>(a), rows);
  }
}

template <class Space>
class SingleFilterIn : public testing::Test {};
#if BLOCKVEC_HAVE_CUDA_SPACE
using Spaces = testing::Types<Kokkos::HostSpace, Kokkos::CudaSpace>;
#else
using Spaces = testing::Types<Kokkos::HostSpace>;
#endif
TYPED_TEST_SUITE(SingleFilterIn, Spaces);

TYPED_TEST(SingleFilterIn, FindsWhatDoubleFinds) {
  const auto check = [&]<class Scalar>(const RowSource<Scalar>& source, std::int64_t wanted, Which which,
                                       const std::vector<double>& exact) {
    const ChebyshevOptions options{.wanted = wanted, .which = which};
    expect_as_good<SparseOperator, Scalar, RowMajor, TypeParam>(source, options, exact);
    expect_as_good<SparseOperator, Scalar, ColumnMajor, TypeParam>(source, options, exact);
  };
  const std::vector<std::int64_t> cube{12, 12, 12};
  check(Laplacian(cube), 30, Which::smallest, exact_laplacian(cube));
  const SpinChain ring(10, 5, true, 1);
  check(ring, 12, Which::smallest, spectrum(ring));
  check(ring, 12, Which::largest, spectrum(ring));
  const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
  check(sheet, 20, Which::smallest, spectrum(sheet));  // whole levels
}

TYPED_TEST(SingleFilterIn, FindsWhatDoubleFindsOfDenseMatrices) {
  std::vector<double> values(200);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i < 6 ? -1 : static_cast<double>(i) / 10;
  const ChebyshevOptions options{.wanted = 12};
  expect_as_good<DenseOperator, double, RowMajor, TypeParam>(PrescribedMatrix<double>(values), options, values);
  expect_as_good<DenseOperator, Complex<double>, RowMajor, TypeParam>(PrescribedMatrix<Complex<double>>(values),
                                                                      options, values);
}

// Starts with which a filter was tried in double precision, or single precision left, because its rounding errors were
// raised too far, because copies of the last value took each other's place, or because locked columns lacked too much.
TEST(SingleFilterFromManyStarts, NeedsNoOtherPrecision) {
  const auto check = [](const RowSource<double>& source, ChebyshevOptions options) {
    using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;
    const Context context = Context::world(1);
    const auto rows = RowDistribution::uniform(source.size(), context.communicator());
    SparseOperator<double, Kokkos::HostSpace> a(context, rows, source);
    SparseOperator<float, Kokkos::HostSpace> a_single(context, rows, RoundedRows<double>(source));
    for (const std::uint64_t seed : {6, 28, 53, 118, 131, 221, 234}) {
      for (const double tolerance : {1e-10, 1e-12}) {
        SCOPED_TRACE(testing::Message() << source.describe() << ", seed " << seed << ", tol " << tolerance);
        options.tolerance = tolerance;
        options.seed = seed;
        const auto result = chebyshev_subspace<Host>({.a = a, .a_single = a_single}, options);
        ASSERT_TRUE(result.converged()) << result.why;
        expect_single(result, options, AnyOperator<Host>(a), rows);
      }
    }
  };
  check(Laplacian({12, 12, 12}), {.wanted = 30});
  const SpinChain ring(10, 5, true, 1);
  for (const auto which : {Which::smallest, Which::largest}) check(ring, {.wanted = 12, .which = which});
}

TEST(SingleFilterOfPairs, FindsWhatDoubleFinds) {
  using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  const Mikota pair{150};
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(pair.n, context.communicator());
  SparseOperator<double, Kokkos::HostSpace> a(context, rows, pair.k()), b(context, rows, pair.m());
  SparseOperator<float, Kokkos::HostSpace> a_single(context, rows, RoundedRows<double>(pair.k()));
  const auto exact = inverse_of_diagonal(diagonal_of<Host>(context, rows, pair.m()));
  for (const FunctionOperator<Host>::Multiply& inverse : {exact, {}}) {
    for (const auto which : {Which::smallest, Which::largest}) {
      Problem<Host> problem{.a = a, .b = b, .inverse_b = inverse};
      const ChebyshevOptions options{.wanted = 6, .tolerance = 1e-12, .which = which};
      const auto plain = chebyshev_subspace<Host>(problem, options);
      problem.a_single = a_single;
      const auto result = chebyshev_subspace<Host>(problem, options);
      ASSERT_TRUE(result.converged()) << result.why;
      which == Which::smallest ? pair.expect_lowest(result) : pair.expect_highest(result);
      for (const double error : result.backward_errors) EXPECT_LE(error, 1e-12);
      EXPECT_LE(static_cast<double>(result.applications), 1.15 * static_cast<double>(plain.applications));
      EXPECT_GE(2 * result.applications_single, result.applications);
    }
  }
}

// The operator multiplies several columns at a time by another matrix than one column.
TEST_F(SingleFilterOnGrid, IsLeftWhereResidualsDoNotFall) {
  auto right = in_single(grid_), wrong = in_single(Diagonal(exact_));
  using Narrow = InSingle<Host>;
  const auto pretending = FunctionOperator<Narrow>(context_, rows_, [&](const Narrow& x, const Narrow& y) {
    (x.width() == 1 ? right : wrong).apply(1, 0, x, 0, y);
  });
  const ChebyshevOptions options{.wanted = 5, .tolerance = 1e-10};
  const auto result = chebyshev_subspace<Host>({.a = a_, .a_single = pretending}, options);
  expect_right(result, options, grid_.size(), exact_);
  EXPECT_EQ(result.why, "the filter left single precision, in which residuals did not fall");
  EXPECT_GT(result.applications_single, 0);
  EXPECT_LT(2 * result.applications_single, result.applications);
}

// More than one column at a time, A has an eigenvalue that no look with single columns can see.
TEST_F(SingleFilterOnGrid, IsLeftWhereNumbersBecomeTooLarge) {
  std::vector<double> values(exact_);
  values.back() *= 300;
  auto a = diagonal(values), shown = diagonal(exact_);
  const AnyOperator<Host> hiding = FunctionOperator<Host>(
      context_, rows_, [&](const Host& x, const Host& y) { (x.width() == 1 ? shown : a).apply(1, 0, x, 0, y); });
  const auto result = chebyshev_subspace<Host>({.a = hiding, .a_single = rounded_products(hiding)}, {.wanted = 5});
  ASSERT_TRUE(result.converged()) << result.why;
  EXPECT_EQ(result.why, "the filter left single precision, in which its numbers had no place");
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(result.eigenvalues[i], exact_[i], result.residual_norms[i] + 64 * epsilon<double> * values.back());
}

TEST_F(SingleFilterOnGrid, IsLeftWhereAHasNoPlaceInIt) {
  for (const double factor : {1e60, 1e-60}) {
    std::vector<double> values(exact_);
    for (double& value : values) value *= factor;
    if (factor > 1) {
      EXPECT_NE(message_of([&] { (void)in_single(Diagonal(values)); }), "no error");
    }
    const AnyOperator<Host> a = diagonal(values);
    const auto result = chebyshev_subspace<Host>({.a = a, .a_single = rounded_products(a)}, {.wanted = 5});
    expect_right(result, ChebyshevOptions{.wanted = 5}, grid_.size(), values);
    EXPECT_EQ(result.why, "the filter left single precision, in which its numbers had no place");
  }
}

TEST_F(SingleFilterOnGrid, RefusesWhatIsNotA) {
  std::vector<double> other(exact_);
  for (double& value : other) value *= 1.01;
  const std::string no_likeness = refusal({.a = diagonal(exact_), .a_single = in_single(Diagonal(other))});
  EXPECT_EQ(no_likeness.find("chebyshev: A in single precision is not A"), 0U) << no_likeness;
  const auto shorter = RowDistribution::uniform(grid_.size() - 1, context_.communicator());
  const std::vector<double> part(exact_.begin() + 1, exact_.end());
  SparseOperator<double, Kokkos::HostSpace> a(context_, shorter, Diagonal(part));
  const std::string shape = refusal({.a = a_, .a_single = rounded_products<Host>(a)});
  EXPECT_EQ(shape.find("chebyshev: A in single precision has the rows"), 0U) << shape;
}

}  // namespace
}  // namespace blockvec::solvers
