#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "solvers/jacobi_davidson/search.hpp"

/// What a Jacobi-Davidson search knows of its pairs: residuals, which of them have converged, and what it shows.
namespace blockvec::solvers {

template <class Vector>
void JacobiDavidsonSearch<Vector>::forget_residuals() {
  errors_.clear();
  residuals_.clear();
  margins_.clear();
}

/// Residuals and backward errors of the first columns of X, a block of them at most: of those behind the columns
/// whose errors are known.
template <class Vector>
void JacobiDavidsonSearch<Vector>::measure_residuals() {
  const std::int64_t begin = std::ssize(errors_), end = std::min(options_.block, small_.x()), b = end - begin;
  if (end == 0) return;
  if (b > 0) {
    const auto part_of = [&](const Vector& all) { return x_of(all, end).columns(begin, end); };
    const Vector x = part_of(basis_), r = residual_.columns(begin, end);
    WorkspaceScope<Space> scope(context());
    const auto theta = SmallMatrix<Real, Space>::scratch(scope, 1, b);
    HostMatrix<Real> values("BlockVec::solvers::values", 1, index(b));
    for (std::int64_t j = 0; j < b; ++j) values(0, index(j)) = small_.theta()[index(begin + j)];
    theta.from_host(values);
    residual(part_of(b_images()), theta, part_of(image_), r);
    const auto squares = SmallMatrix<Scalar, Space>::scratch(scope, 2, b);
    InnerProducts<Scalar, Layout, Space>(context())
        .add_dots(r, r, squares.block(0, 1, 0, b))
        .add_dots(x, x, squares.block(1, 2, 0, b))
        .reduce();
    const auto host = squares.to_host();
    for (std::size_t j = 0; j < index(b); ++j) {
      const Real length = std::sqrt(real_part(host(0, j))), length_of_x = std::sqrt(real_part(host(1, j)));
      longest_ = std::max(longest_, length_of_x);
      residuals_.push_back(static_cast<double>(length));
      margins_.push_back(length * length_of_x);
      errors_.push_back(pencil_.backward_error(length, original(small_.theta()[index(begin) + j]), length_of_x));
      if (!std::isfinite(errors_.back())) throw NotFiniteError("jacobi_davidson: a residual is not finite");
    }
  }
  const std::int64_t wanted = std::max<std::int64_t>(1, options_.wanted - locked_.count());
  // What is not looked at counts as an error of 1: a pair that takes a locked one's place is then no step back.
  const std::int64_t looked = std::min(end, wanted);
  error_ = log_error(std::span(errors_).first(index(looked)), options_.tolerance) * static_cast<double>(looked) +
           static_cast<double>(locked_.count()) * std::log10(options_.tolerance);
  error_ /= static_cast<double>(wanted + locked_.count());
}

/// Pairs that have converged, in order, at half the tolerance. Returns whether there were any.
template <class Vector>
bool JacobiDavidsonSearch<Vector>::lock() {
  std::int64_t count = 0;
  const std::int64_t most = std::min(to_find(), std::ssize(errors_));
  while (count < most && errors_[index(count)] <= options_.tolerance / 2) {
    const Real value = small_.theta()[index(count)];
    if (locked_.count() >= options_.wanted && !(rank(value) < rank(last_wanted()))) break;
    locked_.add(value, residuals_[index(count)]);
    ++count;
  }
  small_.remove(count);
  found_in_look_ += count;
  for (std::int64_t j = count; count > 0 && j < std::ssize(errors_); ++j)
    copy(residual_.column(j), residual_.column(j - count));
  for (auto* known : {&errors_, &residuals_}) known->erase(known->begin(), known->begin() + count);
  margins_.erase(margins_.begin(), margins_.begin() + count);
  return count > 0;
}

template <class Vector>
void JacobiDavidsonSearch<Vector>::observe() {
  const auto found = index(std::min(locked_.count(), options_.wanted));
  std::vector<double> residuals(locked_.residuals);
  residuals.resize(found);
  for (const double residual : residuals_) {
    if (std::ssize(residuals) < options_.wanted) residuals.push_back(residual);
  }
  std::vector<Real> values;
  for (std::size_t i = 0; i < found; ++i) values.push_back(original(locked_.values[i]));
  Step step = look_at_pairs(sign_, std::span<const Real>(values), std::move(residuals));
  step.applications = pencil_.applications();
  course_.see(std::move(step), error_, options_.wanted);
}

}  // namespace blockvec::solvers
