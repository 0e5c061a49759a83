#pragma once

#include <string>

#include "solvers/lobpcg/search.hpp"

/// What a LOBPCG search tells at its end.
namespace blockvec::solvers {

template <class Vector>
std::string LobpcgSearch<Vector>::why_not() const {
  if (stagnation_.is_complete()) {
    return "the residuals did not fall by a tenth in " + std::to_string(stagnation_.patience()) + " iterations";
  }
  return "not converged within " + std::to_string(iterations_) + " iterations";
}

/// Does a level go on beyond the last wanted pair? The first guard column tells, as far as its residual allows.
template <class Vector>
bool LobpcgSearch<Vector>::is_last_level_cut(const std::vector<double>& eigenvalues) const {
  if (options_.wanted == basis_.global_rows() - deflation_.width()) return false;
  if (small_.x() == 0) return true;  // nobody has looked
  const double scale = static_cast<double>(norm_a_);
  const double next = static_cast<double>(small_.theta().front());
  const double last = static_cast<double>(sign_) * eigenvalues.back();
  const double residual = errors_[index(locked_)] * scale;
  return next - residual <= last + 10 * options_.tolerance * scale;
}

/// The wanted pairs, with residuals recomputed from A and B.
template <class Vector>
Result<Vector> LobpcgSearch<Vector>::finish() {
  const std::int64_t wanted = options_.wanted;
  const Vector x = basis_.columns(0, wanted);
  Result<Vector> result;
  result.residual_estimates.assign(residuals_.begin(), residuals_.begin() + wanted);

  WorkspaceScope<Space> scope(context());
  const Vector ax = scratch_like(scope, x, wanted);
  const Vector bx = problem_.b ? scratch_like(scope, x, wanted) : x;
  apply_(x, ax);
  if (problem_.b) metric_.apply(x, bx);
  const auto rows = SmallMatrix<Scalar, Space>::scratch(scope, 3, wanted);
  const auto row = [&](std::int64_t i) { return rows.block(i, i + 1, 0, wanted); };
  const auto gram = SmallMatrix<Scalar, Space>::scratch(scope, wanted, wanted);
  InnerProducts<Scalar, Layout, Space> products(context());
  products.add(x, bx, gram).add_dots(x, ax, row(0)).add_dots(x, bx, row(1)).add_dots(x, x, row(2)).reduce();
  const auto dots = rows.to_host();
  HostMatrix<Real> theta("BlockVec::solvers::values", 1, index(wanted));
  for (std::size_t j = 0; j < theta.extent(1); ++j) theta(0, j) = real_part(dots(0, j)) / real_part(dots(1, j));
  const auto values = SmallMatrix<Real, Space>::scratch(scope, 1, wanted);
  const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, wanted);
  values.from_host(theta);
  residual(bx, values, ax, norms);
  const auto residuals = norms.to_host();
  bool is_right = all_locked();
  for (std::size_t j = 0; j < theta.extent(1); ++j) {
    result.eigenvalues.push_back(static_cast<double>(sign_ * theta(0, j)));
    result.residual_norms.push_back(static_cast<double>(residuals(0, j)));
    result.backward_errors.push_back(backward_error(residuals(0, j), theta(0, j), std::sqrt(real_part(dots(2, j)))));
    if (!(result.backward_errors.back() <= options_.tolerance)) is_right = false;
  }
  const auto g = gram.to_host();
  for (std::size_t j = 0; j < g.extent(1); ++j) g(j, j) -= Scalar(1);
  result.orthogonality_loss =
      static_cast<double>(orth::dense::frobenius_norm(SmallMatrix<Scalar, Kokkos::HostSpace>(context(), g)));
  if (is_right) {
    result.status = Status::converged;
    result.last_level_cut = is_last_level_cut(result.eigenvalues);
    if (trial_.was_dropped()) result.why = "the preconditioner was left out: residuals fell faster without it";
  } else if (!trouble_.empty()) {
    result.status = Status::breakdown;
    result.why = "a block could not be made orthonormal: " + trouble_;
  } else if (stopping_.is_asked()) {
    result.status = Status::stopped;
    result.why = stopping_.why();
  } else {
    result.why = all_locked() ? "residuals recomputed from A stay above the tolerance" : why_not();
  }
  result.vectors = x;
  result.norm_estimate = static_cast<double>(norm_a_);
  if (problem_.b) result.norm_estimate_b = static_cast<double>(norm_b_);
  result.iterations = iterations_;
  result.starts = columns_;
  result.applications = applications_;
  result.applications_b = applications_b_;
  result.preconditionings = preconditionings_;
  result.reductions = reductions();
  result.seconds = seconds();
  result.history = history_;
  return result;
}

}  // namespace blockvec::solvers
