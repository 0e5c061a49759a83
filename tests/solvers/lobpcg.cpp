// LOBPCG: preconditioners that help and that do not, and what else is its own. See also spectra.cpp and conduct.cpp.
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <cmath>

#include "solvers/progress.hpp"
#include "solvers/spectrum_bounds.hpp"
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
