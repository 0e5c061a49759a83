#pragma once

#include <gtest/gtest.h>

#include <blockvec/scalar.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <cmath>
#include <cstdint>

namespace blockvec::solvers {

/// Mikota's pair: K = tridiag(-(n-i), 2(n-i)+1, .), M = diag(1/i), with the eigenvalues j^2.
struct Mikota {
  std::int64_t n;
  RowFunction<double> k() const {
    return RowFunction<double>(n, [n = n](std::int64_t row, RowEntries<double>& entries) {
      const auto below = static_cast<double>(n - row - 1);  // of row + 1, counted from 1
      entries.add(row, 2 * below + 1);
      if (row > 0) entries.add(row - 1, -(below + 1));
      if (row + 1 < n) entries.add(row + 1, -below);
    });
  }
  RowFunction<double> m() const {
    return RowFunction<double>(
        n, [](std::int64_t row, RowEntries<double>& entries) { entries.add(row, 1 / static_cast<double>(row + 1)); });
  }
  template <class Result>
  void expect_lowest(const Result& result) const {
    expect(result, [](std::size_t j) { return static_cast<double>(j + 1); });
  }
  template <class Result>
  void expect_highest(const Result& result) const {
    expect(result, [this](std::size_t j) { return static_cast<double>(n) - static_cast<double>(j); });
  }

 private:
  template <class Result, class Root>
  void expect(const Result& result, const Root& root_of) const {
    const auto size = static_cast<double>(n);
    for (std::size_t j = 0; j < result.eigenvalues.size(); ++j) {
      const double root = root_of(j);
      // An eigenvalue lies within ||r|| ||B^-1|| / ||x|| of theta; ||x|| >= ||B||^-1/2 = 1.
      EXPECT_NEAR(result.eigenvalues[j], root * root,
                  size * result.residual_norms[j] + epsilon<double> * size * size * size);
    }
    // B has the condition n.
    EXPECT_LE(result.orthogonality_loss,
              size * 64 * static_cast<double>(result.vectors.width()) * std::sqrt(size) * epsilon<double>);
  }
};

/// The pair as operators, on the ranks of the world, with the inverse of M.
template <class Space>
class MikotaOperators {
 public:
  using Vector = BlockVector<double, RowMajor, Space>;

  explicit MikotaOperators(const Mikota& pair)
      : context_(Context::world(1)),
        rows_(RowDistribution::uniform(pair.n, context_.communicator())),
        k_(context_, rows_, pair.k()),
        m_(context_, rows_, pair.m()),
        inverse_(inverse_of_diagonal(diagonal_of<Vector>(context_, rows_, pair.m()))) {}
  /// Which refers to this.
  Problem<Vector> problem() { return {.a = k_, .b = m_, .inverse_b = inverse_}; }

 private:
  Context context_;
  RowDistribution rows_;
  SparseOperator<double, Space> k_, m_;
  typename FunctionOperator<Vector>::Multiply inverse_;
};

}  // namespace blockvec::solvers
