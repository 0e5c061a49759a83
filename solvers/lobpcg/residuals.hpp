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
  const std::int64_t k = small_.x();
  const Vector x = x_of(basis_), ax = x_of(image_), bx = x_of(b_images()), r = w_of(basis_, k);
  WorkspaceScope<Space> scope(context());
  const auto theta = SmallMatrix<Real, Space>::scratch(scope, 1, k);
  HostMatrix<Real> values("BlockVec::solvers::values", 1, index(k));
  for (std::int64_t j = 0; j < k; ++j) values(0, index(j)) = small_.theta()[index(j)];
  theta.from_host(values);
  residual(bx, theta, ax, r);
  const auto squares = SmallMatrix<Scalar, Space>::scratch(scope, 4, k);
  const auto row = [&](std::int64_t i) { return squares.block(i, i + 1, 0, k); };
  InnerProducts<Scalar, Layout, Space> products(context());
  products.add_dots(r, r, row(0));
  if (problem_.b) products.add_dots(x, x, row(1)).add_dots(ax, ax, row(2)).add_dots(bx, bx, row(3));
  products.reduce();
  const auto host = squares.to_host();
  const auto length = [&](std::size_t i, std::int64_t j) { return std::sqrt(real_part(host(i, index(j)))); };
  if (problem_.b) {
    for (std::int64_t j = 0; j < k; ++j) {
      pencil_.norm_a = std::max(pencil_.norm_a, length(2, j) / length(1, j));
      pencil_.norm_b = std::max(pencil_.norm_b, length(3, j) / length(1, j));
    }
  } else {
    for (const Real value : small_.theta()) pencil_.norm_a = std::max(pencil_.norm_a, std::abs(value));
  }
  for (std::int64_t j = 0; j < k; ++j) {
    const Real length_of_residual = length(0, j);
    const auto at = index(locked_ + j);
    residuals_[at] = static_cast<double>(length_of_residual);
    if (problem_.b) lengths_[at] = length(1, j);
    errors_[at] = pencil_.backward_error(length_of_residual, small_.theta()[index(j)], lengths_[at]);
    if (!std::isfinite(errors_[at])) {
      throw NotFiniteError("lobpcg: the residual of column " + std::to_string(locked_ + j) + " of X is not finite");
    }
  }
  error_ = log_error(std::span(errors_).first(index(options_.wanted)), options_.tolerance);
}

/// Pairs that have converged, in order from the wanted end. What couples them to others is neglected from then on, so
/// half of the tolerance is asked for.
template <class Vector>
void LobpcgSearch<Vector>::lock() {
  std::int64_t count = 0;
  while (locked_ + count < options_.wanted && errors_[index(locked_ + count)] <= options_.tolerance / 2) ++count;
  for (std::int64_t j = 0; j < count; ++j) values_.push_back(small_.theta()[index(j)]);
  if (count == 0) return;
  small_.remove(count);
  locked_ += count;
  residual_place_ = count;
}

template <class Vector>
void LobpcgSearch<Vector>::observe() {
  Step step = look_at_pairs<Real>(sign_, values_, {residuals_.begin(), residuals_.begin() + options_.wanted});
  step.applications = pencil_.applications();
  course_.see(std::move(step), error_, options_.wanted);
}

}  // namespace blockvec::solvers
