// Names of methods, and which one is chosen.
#include <gtest/gtest.h>

#include <array>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/method.hpp>

namespace blockvec::solvers {
namespace {

constexpr std::array all{Method::lanczos,   Method::lobpcg,   Method::jacobi_davidson,
                         Method::chebyshev, Method::interior, Method::dense};

TEST(Method, HasAName) {
  for (const Method method : all) EXPECT_EQ(method_named(name_of(method)), method);
  EXPECT_EQ(name_of(Method::dense), "dense");
  EXPECT_THROW((void)method_named("full"), InputError);
}

Method chosen(const ProblemTraits& problem) { return choose_method(problem, all).method; }

TEST(Method, IsDenseWhereTheWholeSpectrumIsCheapest) {
  // All kinds of problems of 72 rows; a spectrum that nobody could hold; and rows that are not known.
  for (const bool is_inside : {false, true}) {
    for (const bool has_b : {false, true}) {
      ProblemTraits problem{.is_inside = is_inside, .has_b = has_b, .rows = 72};
      EXPECT_EQ(chosen(problem), Method::dense);
      for (const std::int64_t rows : {100000, 0}) {
        problem.rows = rows;
        EXPECT_NE(chosen(problem), Method::dense) << rows;
      }
    }
  }
  EXPECT_NE(choose_method({.rows = 72}, std::array{Method::lanczos}).method, Method::dense);
}

// The more a search has to do, the larger is a matrix that is decomposed in its place.
TEST(Method, IsDenseForMoreRowsWhereSearchesTakeMore) {
  const auto most_rows = [](ProblemTraits problem) {
    for (problem.rows = 1; chosen(problem) == Method::dense; ++problem.rows) {
    }
    return problem.rows - 1;
  };
  // docs/dense.md has these.
  const std::int64_t one_matrix = most_rows({});
  EXPECT_EQ(one_matrix, 136);
  EXPECT_EQ(most_rows({.has_b = true}), 192);
  EXPECT_EQ(most_rows({.is_inside = true}), 333);
  EXPECT_EQ(most_rows({.is_inside = true, .has_b = true}), 965);
  EXPECT_LT(one_matrix, most_rows({.wanted = 60}));
  EXPECT_LT(one_matrix, most_rows({.is_inside = true}));
  EXPECT_LT(one_matrix, most_rows({.wants_wide_blocks = true}));
  EXPECT_GT(one_matrix, most_rows({.is_complex = true}));
  EXPECT_LT(most_rows({.is_inside = true, .has_b = true, .has_inverse_b = true}),
            most_rows({.is_inside = true, .has_b = true}));
  // However many are wanted, the matrices stay small: 6 rows^2 numbers.
  EXPECT_LE(6 * 8 * most_rows({.wanted = 100000}) * most_rows({.wanted = 100000}), 1 << 26);
}

// A search of some hundred rows is given up before it takes many times as long as LAPACK does.
TEST(Method, HasABudgetWhereLapackMayTakeOver) {
  const auto budget = [](const ProblemTraits& problem) { return choose_method(problem, all).most_applications; };
  EXPECT_EQ(budget({.rows = 72}), 0) << "it is LAPACK";
  EXPECT_EQ(budget({.rows = 0}), 0);
  EXPECT_GT(budget({.rows = 3344}), 0) << "docs/dense.md";
  EXPECT_EQ(budget({.rows = 3345}), 0);
  EXPECT_EQ(choose_method({.rows = 1000}, std::array{Method::lanczos}).most_applications, 0);
  EXPECT_GT(budget({.rows = 400}), 400);
  EXPECT_LT(budget({.rows = 400}), budget({.rows = 3000}));
  EXPECT_GT(budget({.rows = 1000}), budget({.rows = 1000, .row_entries = 1000}));
  EXPECT_LT(budget({.rows = 1000}), budget({.has_b = true, .rows = 1000}));
}

}  // namespace
}  // namespace blockvec::solvers
