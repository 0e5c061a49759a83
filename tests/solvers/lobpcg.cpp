// LOBPCG: preconditioners that help and that do not, and what else is its own. See also spectra.cpp and conduct.cpp.
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <cmath>

#include "solvers/progress.hpp"
#include "solvers/spectrum_bounds.hpp"
#include "solvers/subspace_problem.hpp"
#include "tests/solvers/on_grid.hpp"

namespace blockvec::solvers {
namespace {

LobpcgOptions with(std::int64_t wanted, std::int64_t guard = LobpcgOptions::automatic_guard) {
  return {.wanted = wanted, .guard = guard};
}

class LobpcgOnHost : public OnGrid {};

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

// Residuals, and W's products with [X P W]: what comes before and after the iterations takes some more.
TEST_F(LobpcgOnHost, TakesTwoReductionsAnIteration) {
  const auto result = lobpcg<Host>({a_}, with(6));
  expect_right(result, with(6), grid_.size(), exact_);
  const auto short_one = lobpcg<Host>({a_}, {.wanted = 6, .max_iterations = 1});
  EXPECT_GE(result.iterations, 20);
  EXPECT_LE(result.reductions - short_one.reductions, 2 * (result.iterations - 1));
}

// W lies near X, and its columns lie near one another: the coefficients make it orthonormal as well as sweeps do.
TEST_F(LobpcgOnHost, OrthonormalizesInCoefficients) {
  constexpr double most = 1e4;
  const Host s(context_, rows_, 8), image(context_, rows_, 8);
  const Host x = s.columns(0, 4), w = s.columns(4, 8), ax = image.columns(0, 4), aw = image.columns(4, 8);
  fill_normal(s, 3);
  (void)orth::Orthogonalizer(context_).normalize(x);
  SubspaceProblem<double> small(context_, 8);
  a_.apply(x, ax);
  const SmallMatrix<double> g(context_, 4, 4), h(context_, 8, 8), values(context_, 1, 8), near(context_, 4, 4);
  inner_product(x, ax, g);
  const auto z = small.start(g);
  multiply_in_place(x, z);
  multiply_in_place(ax, z);
  for (std::size_t j = 0; j < 4; ++j) near.data()[j * 5] = near.data()[j * 4] = 1;
  update(1., x, near, 0.01, w);
  a_.apply(w, aw);
  const auto set_products = [&] {
    inner_product(s, w, small.gram_of_w(4));
    inner_product(s, aw, small.image_of_w(4));
  };
  set_products();
  EXPECT_FALSE(small.orthonormalize_w(4, 2.));
  set_products();
  ASSERT_TRUE(small.orthonormalize_w(4, most));

  const Host q = s.deep_copy();
  (void)orth::Orthogonalizer(context_).normalize(q);
  const Host aq(context_, rows_, 8);
  a_.apply(q, aq);
  inner_product(q, aq, h);
  orth::dense::eigendecomposition(h, values, h);

  const std::vector<std::int64_t> active{0, 1, 2, 3};
  multiply_in_place(s, small.step(4, 4, active));
  EXPECT_EQ(small.p(), 4);
  EXPECT_LE(orth::orthogonality_loss(s), 8 * most * epsilon<double>);
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(small.theta()[j], values.data()[j], 8 * most * epsilon<double> * exact_.back());
  }
}

// Squares of residuals, and A's images of them, would leave the range.
TEST_F(LobpcgOnHost, TakesMatricesOfAnySize) {
  for (const double factor : {1e-150, 1e150}) {
    std::vector<double> values(static_cast<std::size_t>(grid_.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = factor * static_cast<double>(i + 1);
    const auto result = lobpcg<Host>({diagonal(values)}, with(4));
    ASSERT_TRUE(result.converged()) << result.why;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(result.eigenvalues[i], values[i], 1e-8 * values.back());
  }
}

TEST_F(LobpcgOnHost, RefusesGuardsThatCannotBe) {
  EXPECT_EQ(message_of([&] { (void)lobpcg<Host>({a_}, with(4, -2)); }), "lobpcg: there cannot be -2 guard columns");
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
