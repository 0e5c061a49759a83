#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <blockvec/solvers/result.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <blockvec/solvers/which.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace blockvec::solvers {

/// Converged, and right: eigenvalues with multiplicities, residuals as promised, orthonormal vectors.
template <class Vector, class Options>
void expect_right(const Result<Vector>& result, const Options& options, std::int64_t rows, std::vector<double> exact) {
  if (options.which == Which::largest) std::reverse(exact.begin(), exact.end());
  EXPECT_TRUE(result.converged());
  EXPECT_EQ(std::ssize(result.eigenvalues), options.wanted);
  const double norm = std::max(std::abs(exact.front()), std::abs(exact.back()));
  const auto n = static_cast<double>(rows);
  // The estimate of the norm is a Ritz value.
  EXPECT_LE(result.norm_estimate, norm * (1 + 8 * n * epsilon<double>)) << result.norm_estimate / norm - 1;
  const double limit = options.tolerance * result.norm_estimate;
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i) {
    EXPECT_LE(result.residual_norms[i], limit);
    // An eigenvalue lies within the residual of a Ritz value.
    EXPECT_NEAR(result.eigenvalues[i], exact[i], limit + 8 * n * epsilon<double> * norm) << i;
  }
  EXPECT_LE(result.orthogonality_loss, 64 * static_cast<double>(options.wanted) * std::sqrt(n) * epsilon<double>);
  EXPECT_EQ(result.vectors.width(), options.wanted);
}

/// Its diagonal is all there is.
template <class Scalar = double>
class Diagonal final : public RowSource<Scalar> {
 public:
  explicit Diagonal(std::vector<Scalar> values) : values_(std::move(values)) {}
  std::int64_t size() const override { return std::ssize(values_); }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    entries.add(row, values_[static_cast<std::size_t>(row)]);
  }
  std::string describe() const override { return "diagonal"; }

 private:
  std::vector<Scalar> values_;
};

}  // namespace blockvec::solvers
