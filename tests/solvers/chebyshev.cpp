// Chebyshev-filtered subspace iteration: its look at the spectrum, its filter. See also spectra.cpp and conduct.cpp.
#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <numeric>

#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "solvers/chebyshev/filter.hpp"
#include "solvers/inverse_of_b.hpp"
#include "solvers/spectrum_look.hpp"
#include "tests/solvers/mikota.hpp"
#include "tests/solvers/on_grid.hpp"

namespace blockvec::solvers {
namespace {

ChebyshevOptions with(std::int64_t wanted, std::int64_t extra = ChebyshevOptions::automatic_extra) {
  return {.wanted = wanted, .extra = extra};
}

class ChebyshevOnHost : public OnGrid {};

TEST_F(ChebyshevOnHost, RefusesOptionsThatDoNotFit) {
  const auto refusal = [&](const ChebyshevOptions& options) {
    return message_of([&] { (void)chebyshev_subspace<Host>({a_}, options); });
  };
  EXPECT_EQ(refusal(with(4, -2)), "chebyshev: there cannot be -2 extra columns");
  EXPECT_EQ(refusal({.first_degree = 7}), "chebyshev: the degree of a filter is even and at least 0, not 7");
  EXPECT_EQ(refusal({.most_degree = 0}), "chebyshev: the degree of a filter is even and at least 2, not 0");
}

// More than one column at a time, it has an eigenvalue that no look with single columns can see.
TEST_F(ChebyshevOnHost, NoticesEigenvaluesAboveTheAssumedTop) {
  const double hidden = 3 * exact_.back();
  const auto last = grid_.size() - 1;
  std::vector<double> values(exact_), seen(exact_);
  values.back() = hidden;
  auto a = diagonal(values), shown = diagonal(seen);
  const auto hiding = FunctionOperator<Host>(
      context_, rows_, [&](const Host& x, const Host& y) { (x.width() == 1 ? shown : a).apply(1, 0, x, 0, y); });
  const auto result = chebyshev_subspace<Host>({hiding}, with(5));
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(result.eigenvalues[i], exact_[i],
                result.residual_norms[i] + static_cast<double>(last) * 1e-15 * hidden);
  }
}

// The last wanted pair lies far above those that are locked first, and the columns do not hold its whole level: a
// filter strong enough for it raises what the locked columns lack.
TEST_F(ChebyshevOnHost, ConvergesFromAnyStart) {
  const examples::Graphene<double> graphene({12, 12});
  Operator a(context_, RowDistribution::uniform(graphene.size(), context_.communicator()), graphene);
  const auto exact = exact_graphene(12, 12);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ChebyshevOptions options{.wanted = 8, .extra = 3, .seed = seed};
    expect_right(chebyshev_subspace<Host>({a}, options), options, graphene.size(), exact);
  }
}

// What locked columns lack limits the degree for the others, which are some of a level wider than the block.
TEST_F(ChebyshevOnHost, GoesOnWhereLockedColumnsHoldItUp) {
  const examples::SpinChain ring(12, 6, true, 0);
  Operator a(context_, RowDistribution::uniform(ring.size(), context_.communicator()), ring);
  const auto exact = exact_xx(12, 6, true);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const ChebyshevOptions options{.wanted = 8, .seed = seed};
    expect_right(chebyshev_subspace<Host>({a}, options), options, ring.size(), exact);
  }
}

// Vectors of a level that is this narrow have residuals between half of the tolerance and all of it, and no filter
// takes its states apart.
TEST_F(ChebyshevOnHost, EndsInALevelThatIsNearlyFlat) {
  const ChebyshevOptions options = with(8);
  std::vector<double> values(exact_);
  const std::size_t copies = values.size() / 4;
  const double width = 2.4 * options.tolerance * values.back();
  for (std::size_t i = 1; i < copies; ++i) {
    values[i] = values[0] + width * static_cast<double>(i) / static_cast<double>(copies);
  }
  auto a = diagonal(values);
  const auto result = chebyshev_subspace<Host>({a}, options);
  ASSERT_TRUE(result.converged()) << result.why;
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(result.eigenvalues[i], values[0], width + result.residual_norms[i]);
  EXPECT_LE(result.applications, 3000);
}

// A few Lanczos steps do not see an eigenvalue this far beyond all others: polynomials on what they have seen grow
// there until it hides the rest.
TEST_F(ChebyshevOnHost, LooksAgainWhereAnEigenvalueOvergrowsTheOthers) {
  std::vector<double> values(grid_.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 2 * static_cast<double>(i) / static_cast<double>(values.size()) - 1;
  for (const double outlier : {1.2, 1.5, 3.0}) {
    values.back() = outlier;
    auto a = diagonal(values);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE(testing::Message() << "outlier " << outlier << ", seed " << seed);
      const auto look = look_at_spectrum(AnyOperator<Host>(a), 1., Host(context_, rows_, 1), seed);
      EXPECT_GE(look.values.size(), 16);
      EXPECT_NEAR(look.values.back(), outlier, 1e-6);
      EXPECT_LT(look.values.front(), -0.9);
      const ChebyshevOptions options{.wanted = 4, .seed = seed};
      expect_right(chebyshev_subspace<Host>({a}, options), options, std::ssize(values), values);
    }
  }
}

// Few reductions are what the method is for: four an iteration, and a look at the spectrum.
TEST_F(ChebyshevOnHost, NeedsFewReductions) {
  const auto result = chebyshev_subspace<Host>({a_}, with(8));
  ASSERT_TRUE(result.converged());
  EXPECT_LE(result.reductions, 8 + 5 * result.iterations + 3);
  EXPECT_EQ(result.history.back().applications + 8, result.applications);  // those of the result's residuals
}

TEST_F(ChebyshevOnHost, LookTellsEndsAndCounts) {
  const Host model(context_, rows_, 1);
  const AnyOperator<Host> a(a_);
  const double rounding = 64 * epsilon<double> * exact_.back();
  const auto look = look_at_spectrum(a, 1., model, 1);
  EXPECT_GE(look.values.front(), exact_.front() - rounding);
  EXPECT_LE(look.values.back(), exact_.back() + rounding);
  EXPECT_GE(look.top, look.values.back());
  EXPECT_NEAR(look.top, exact_.back(), 0.02 * exact_.back());
  EXPECT_NEAR(std::accumulate(look.weights.begin(), look.weights.end(), 0.), 1, 1e-6);
  for (const std::int64_t number : {40, 100, 200, 400})
    EXPECT_NEAR(look.place_of(number, grid_.size()), exact_[static_cast<std::size_t>(number)], 0.1 * exact_.back());
  const auto upside_down = look_at_spectrum(a, -1., model, 1);
  EXPECT_NEAR(upside_down.top, -exact_.front(), 0.02 * exact_.back());
}

// A diagonal matrix shows what the polynomial does to every eigenvalue.
TEST_F(ChebyshevOnHost, FilterIsTheScaledPolynomialOfEachColumn) {
  auto a = diagonal(exact_);
  const DampedInterval<double> interval{exact_.front(), exact_[30], exact_.back()};
  const std::vector<int> degrees{12, 8, 8, 2};
  const Host v(context_, rows_, 4), work(context_, rows_, 4);
  fill(v, 1.0);
  EXPECT_EQ(chebyshev_filter(AnyOperator<Host>(a), 1., interval, degrees, v, work, false), 30);
  for (std::size_t i = 0; i < v.view().extent(0); ++i) {
    const double t = interval.place(exact_[static_cast<std::size_t>(rows_.begin()) + i]);
    for (std::size_t j = 0; j < 4; ++j) {
      const double scaled = chebyshev(degrees[j], t) / chebyshev(degrees[j], interval.place(interval.lowest));
      EXPECT_NEAR(v.view()(i, j), scaled, 100 * 12 * epsilon<double>);
    }
  }
}

/// Mikota's pair, of which B is diagonal with a condition of 150.
class ChebyshevOnPairs : public testing::Test {
 protected:
  using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;
  using Multiply = FunctionOperator<Host>::Multiply;

  const Mikota pair_{150};
  const Context context_ = Context::world(1);
  const RowDistribution rows_ = RowDistribution::uniform(pair_.n, context_.communicator());
  SparseOperator<double, Kokkos::HostSpace> a_{context_, rows_, pair_.k()}, b_{context_, rows_, pair_.m()};
  const Host diagonal_ = diagonal_of<Host>(context_, rows_, pair_.m());

  Result<Host> lowest(const Multiply& inverse_b, Which which = Which::smallest) {
    return chebyshev_subspace<Host>({.a = a_, .b = b_, .inverse_b = inverse_b},
                                    {.wanted = 6, .tolerance = 1e-12, .which = which});
  }
  /// Off by up to a third, in another way for each entry.
  Multiply rough_inverse() const {
    return [exact = inverse_of_diagonal(diagonal_), begin = rows_.begin()](const Host& x, const Host& y) {
      exact(x, y);
      for (std::size_t i = 0; i < y.view().extent(0); ++i) {
        for (std::size_t j = 0; j < y.view().extent(1); ++j)
          y.view()(i, j) *= 1 + std::sin(static_cast<double>(begin) + static_cast<double>(i)) / 3;
      }
    };
  }
};

TEST_F(ChebyshevOnPairs, ConvergeWhateverTheInverseOfB) {
  const auto exact = lowest(inverse_of_diagonal(diagonal_));
  for (const auto which : {Which::smallest, Which::largest}) {
    for (const auto& inverse : {inverse_of_diagonal(diagonal_), rough_inverse(), Multiply()}) {
      const auto result = lowest(inverse, which);
      EXPECT_TRUE(result.converged()) << result.why;
      which == Which::smallest ? pair_.expect_lowest(result) : pair_.expect_highest(result);
      for (const double error : result.backward_errors) EXPECT_LE(error, 1e-12);
      if (which == Which::smallest) {
        EXPECT_LE(result.applications, 2 * exact.applications);
      }
    }
  }
  // A look at B, at its inverse, and once a column.
  EXPECT_LE(exact.applications_b, exact.iterations * 10 + 6 + 60);
}

// A random vector hardly weighs the eigenvalue above all others, since B is smallest there.
TEST_F(ChebyshevOnPairs, ConvergeWhereBHidesAnEigenvalue) {
  const auto size = static_cast<std::size_t>(pair_.n);
  for (const double condition : {1e4, 1e8, 1e12}) {
    for (const double hidden : {1.1, 1.5, 30., 1e3}) {
      std::vector<double> exact(size), b(size), a(size);
      for (std::size_t i = 0; i < size; ++i) {
        exact[i] = i + 1 < size ? static_cast<double>(i) / static_cast<double>(size) : hidden;
        b[i] = std::pow(condition, -static_cast<double>(i) / static_cast<double>(size - 1));
        a[i] = exact[i] * b[i];
      }
      SparseOperator<double, Kokkos::HostSpace> of_a(context_, rows_, Diagonal(a)), of_b(context_, rows_, Diagonal(b));
      const auto inverse = inverse_of_diagonal(diagonal_of<Host>(context_, rows_, Diagonal(b)));
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(testing::Message() << condition << ", " << hidden << ", seed " << seed);
        const auto result = chebyshev_subspace<Host>({.a = of_a, .b = of_b, .inverse_b = inverse},
                                                     {.wanted = 4, .tolerance = 1e-10, .seed = seed});
        EXPECT_TRUE(result.converged()) << result.why;
        for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
          EXPECT_NEAR(result.eigenvalues[i], exact[i], 1e-10 * hidden);
        }
      }
    }
  }
}

TEST_F(ChebyshevOnPairs, InverseOfBIsAsGoodAsItSays) {
  const Problem<Host> problem{.a = a_, .b = b_};
  for (const auto& inverse : {inverse_of_diagonal(diagonal_), rough_inverse(), Multiply()}) {
    Problem<Host> with_inverse = problem;
    with_inverse.inverse_b = inverse;
    const Pencil<Host> pencil("test", with_inverse, 1., {});
    const Host x(context_, rows_, 3), bx(context_, rows_, 3), y(context_, rows_, 3), by(context_, rows_, 3);
    const InverseOfB<Host> d("test", pencil, x, 1);
    EXPECT_LE(d.error(), 1e-2);
    fill_random(x, 5);
    b_.apply(1, 0, x, 0, bx);
    d.apply(bx, y);
    axpby(-1., x, 1., y);
    b_.apply(1, 0, y, 0, by);
    const SmallMatrix<double> before(context_, 1, 3), after(context_, 1, 3);
    column_dots(x, bx, before);
    column_dots(y, by, after);
    // The ends of the spectrum are known from within.
    const double limit = 2 * d.error() + 64 * epsilon<double>;
    for (std::int64_t j = 0; j < 3; ++j) EXPECT_LE(after.data()[j], limit * limit * before.data()[j]);
  }
}

TEST_F(ChebyshevOnPairs, RefusesInversesThatAreNone) {
  const auto message = [&](const Problem<Host>& problem) {
    try {
      (void)chebyshev_subspace<Host>(problem, {.wanted = 3});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Multiply negative = [](const Host& x, const Host& y) { axpby(-1., x, 0., y); };
  EXPECT_NE(message({.a = a_, .b = b_, .inverse_b = negative}).find("B^-1 is not positive definite"),
            std::string::npos);
  std::vector<double> values;
  for (int i = 0; i < 150; ++i) values.push_back(std::pow(10., i / 15.));
  SparseOperator<double, Kokkos::HostSpace> steep(context_, rows_, Diagonal(values));
  EXPECT_NE(message({.a = a_, .b = steep}).find("chebyshev: B is too far from its approximate inverse"),
            std::string::npos);
}

TEST(DampedInterval, DegreesAreEvenAndAsSmallAsTheGainAllows) {
  const DampedInterval<double> interval{0, 1, 11};
  for (const double gain : {2., 1e3, 1e8}) {
    const int degree = interval.degree_for(0.5, gain, 200);
    EXPECT_EQ(degree % 2, 0);
    EXPECT_GE(chebyshev(degree, interval.place(0.5)), gain);
    if (degree > 2) {
      EXPECT_LT(chebyshev(degree - 2, interval.place(0.5)), gain);
    }
  }
  EXPECT_EQ(interval.degree_for(0.5, 1e300, 40), 40);
  EXPECT_EQ(interval.degree_for(2, 1e300, 40), 40);  // what is damped gains nothing
  EXPECT_EQ(interval.degree_for(0.5, 1, 40), 2);
  // Rounding errors along the lowest eigenvector stay small beside the column.
  const DampedInterval<double> far{-1000, 1, 11};
  const int degree = far.degree_for(0.5, 1e8, 200);
  EXPECT_LE(chebyshev(degree, far.place(-1000)) * 100 * epsilon<double>, chebyshev(degree, far.place(0.5)));
}

TEST(IntervalChoice, CutsAtTheLargestRitzValueButInNoLevel) {
  IntervalChoice<double> choice({0, 4, 11});
  choice.see({0.1, 0.2, 0.9}, {1e-3, 1e-3, 1e-2}, 2, false);
  EXPECT_EQ(choice.interval().cut, 0.9);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, false);  // a level that goes on
  EXPECT_EQ(choice.interval().cut, 0.9);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, true);  // in which nothing happens
  EXPECT_NEAR(choice.interval().cut, 0.2 + 0.7 / 8, 1e-12);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, true);
  EXPECT_NEAR(choice.interval().cut, 0.2 + 0.7 / 64, 1e-12);
  choice.see({0.1, 0.2, 20}, {1e-3, 1e-3, 1e-2}, 2, false);
  EXPECT_EQ(choice.interval().top, 20 + 1e-2);
}

}  // namespace
}  // namespace blockvec::solvers
