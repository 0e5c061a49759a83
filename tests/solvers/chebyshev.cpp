// Chebyshev-filtered subspace iteration: its look at the spectrum, its filter. See also spectra.cpp and conduct.cpp.
#include <blockvec/solvers/chebyshev.hpp>
#include <numeric>

#include "solvers/chebyshev/filter.hpp"
#include "solvers/spectrum_look.hpp"
#include "tests/solvers/on_grid.hpp"

namespace blockvec::solvers {
namespace {

ChebyshevOptions with(std::int64_t wanted, std::int64_t extra = ChebyshevOptions::automatic_extra) {
  return {.wanted = wanted, .extra = extra};
}

class ChebyshevOnHost : public OnGrid {};

TEST_F(ChebyshevOnHost, RefusesPairs) {
  auto b = diagonal(std::vector<double>(static_cast<std::size_t>(grid_.size()), 2.0));
  EXPECT_THROW((void)chebyshev_subspace<Host>({.a = a_, .b = b}, with(4)), InputError);
}

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
  choice.see({0.1, 0.2, 0.9}, {1e-3, 1e-3, 1e-2}, 2, 2);
  EXPECT_EQ(choice.interval().cut, 0.9);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, 2);  // a level that goes on
  EXPECT_EQ(choice.interval().cut, 0.9);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, 0);  // in which nothing happens
  EXPECT_NEAR(choice.interval().cut, 0.2 + 0.7 / 8, 1e-12);
  choice.see({0.1, 0.2, 0.2}, {1e-3, 1e-3, 1e-2}, 2, 0);
  EXPECT_NEAR(choice.interval().cut, 0.2 + 0.7 / 64, 1e-12);
  choice.see({0.1, 0.2, 20}, {1e-3, 1e-3, 1e-2}, 2, 2);
  EXPECT_EQ(choice.interval().top, 20 + 1e-2);
}

}  // namespace
}  // namespace blockvec::solvers
