#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "solvers/lobpcg/search.hpp"

/// What a LOBPCG search knows of its pairs: residuals, which of them have converged, and what it shows.
namespace blockvec::solvers {

/// R = A X - B X diag(theta) in the place of W, and the backward errors of X's columns.
template <class Vector>
void LobpcgSearch<Vector>::measure_residuals() {
  const std::int64_t k = columns_;
  const Vector x = x_of(basis_), ax = x_of(image_), bx = x_of(b_images()), r = w_of(basis_, k);
  WorkspaceScope<Space> scope(context());
  const auto theta = SmallMatrix<Real, Space>::scratch(scope, 1, k);
  HostMatrix<Real> values("BlockVec::solvers::values", 1, index(k));
  for (std::int64_t j = 0; j < k; ++j) values(0, index(j)) = small_.theta()[index(j)];
  theta.from_host(values);
  residual(bx, theta, ax, r);
  const auto squares = SmallMatrix<Scalar, Space>::scratch(scope, 2, k);
  const auto row = [&](std::int64_t i) { return squares.block(i, i + 1, 0, k); };
  InnerProducts<Scalar, Layout, Space> products(context());
  products.add_dots(r, r, row(0));
  if (problem_.b) products.add_dots(x, x, row(1));
  products.reduce();
  const auto host = squares.to_host();
  const auto length = [&](std::size_t i, std::int64_t j) { return std::sqrt(real_part(host(i, index(j)))); };
  for (std::int64_t j = 0; j < k; ++j) {
    const auto at = index(j);
    const Real value = std::abs(small_.theta()[at]), residual_length = length(0, j);
    residuals_[at] = static_cast<double>(residual_length);
    if (problem_.b) lengths_[at] = length(1, j);
    // x^H A x = theta and x^H B x = 1.
    pencil_.norm_a = std::max(pencil_.norm_a, value / (lengths_[at] * lengths_[at]));
    if (problem_.b) pencil_.norm_b = std::max(pencil_.norm_b, 1 / (lengths_[at] * lengths_[at]));
    errors_[at] = pencil_.backward_error(residual_length, value, lengths_[at]);
    if (!std::isfinite(errors_[at])) {
      throw NotFiniteError("lobpcg: the residual of column " + std::to_string(j) + " of X is not finite");
    }
  }
  error_ = log_error(std::span(errors_).first(index(options_.wanted)), options_.tolerance);
}

template <class Vector>
void LobpcgSearch<Vector>::observe() {
  const std::span<const Real> values(small_.theta());
  Step step = look_at_pairs<Real>(sign_, values.first(index(found())),
                                  {residuals_.begin(), residuals_.begin() + options_.wanted});
  step.applications = pencil_.applications();
  course_.see(std::move(step), error_, options_.wanted);
}

}  // namespace blockvec::solvers
