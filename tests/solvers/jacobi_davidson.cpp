// Block Jacobi-Davidson: what is its own. See also spectra.cpp and conduct.cpp.
#include <blockvec/solvers/jacobi_davidson.hpp>

#include "tests/solvers/on_grid.hpp"

namespace blockvec::solvers {
namespace {

JacobiDavidsonOptions with(std::int64_t wanted, std::int64_t block = 2) { return {.wanted = wanted, .block = block}; }

class JacobiDavidsonOnHost : public OnGrid {};

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

// Pairs that are not looked at for most of the search do not make it seem to stand still.
TEST_F(JacobiDavidsonOnHost, FindsManyPairsAFewAtATime) {
  const auto result = jacobi_davidson<Host>({a_}, with(150));
  expect_right(result, with(150), grid_.size(), exact_);
}

// Copies that come to light late are locked behind pairs with higher values. Wherever the search ends, an estimate is
// that of its pair.
TEST_F(JacobiDavidsonOnHost, EstimatesAreOfTheSamePairs) {
  std::vector<double> values(static_cast<std::size_t>(grid_.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i < 6 ? 0 : i < 12 ? 0.1 : 1 + static_cast<double>(i) / static_cast<double>(values.size());
  auto a = diagonal(values);
  JacobiDavidsonOptions options = with(10);
  bool is_through = false;
  for (options.max_iterations = 1; options.max_iterations < 200 && !is_through; ++options.max_iterations) {
    const auto result = jacobi_davidson<Host>({a}, options);
    ASSERT_EQ(result.residual_estimates.size(), result.residual_norms.size());
    for (std::size_t i = 0; i < result.residual_norms.size(); ++i) {
      if (result.residual_estimates[i] == 0) continue;  // nobody has looked
      EXPECT_NEAR(result.residual_estimates[i], result.residual_norms[i],
                  0.1 * result.residual_norms[i] + 64 * epsilon<double> * values.back())
          << "pair " << i << " after " << options.max_iterations << " iterations";
    }
    is_through = result.converged();
  }
  EXPECT_TRUE(is_through);
}

TEST_F(JacobiDavidsonOnHost, RefusesOptionsThatDoNotFit) {
  const auto refusal = [&](const JacobiDavidsonOptions& options) {
    return message_of([&] { (void)jacobi_davidson<Host>({a_}, options); });
  };
  EXPECT_EQ(refusal(with(4, -1)), "jacobi_davidson: a block has at least 1 column, not -1");
  EXPECT_EQ(refusal({.wanted = 4, .basis = 9}),
            "jacobi_davidson: a basis of 9 columns is too small to keep 8 with blocks of 2: at least 12");
  EXPECT_EQ(refusal({.inner_steps = 0}), "jacobi_davidson: there is at least 1 inner step, not 0");
}

}  // namespace
}  // namespace blockvec::solvers
