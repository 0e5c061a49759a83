#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "solvers/chebyshev/filter.hpp"
#include "solvers/chebyshev/pencil_filter.hpp"
#include "solvers/chebyshev/search.hpp"

/// A filtered search's tall work: the look at the spectrum and the start, the filter, and the Ritz pairs of what comes
/// out of it.
namespace blockvec::solvers {

/// Norms, a test of B, and D ~ B^-1.
template <class Vector>
void ChebyshevSearch<Vector>::make_inverse() {
  pencil_.look(x_, options_.seed);
  inverse_.emplace("chebyshev", pencil_, x_, options_.seed);
}

/// Refuses an A in single precision that is none: of a random vector, both make about the same. Leaves one in which A's
/// numbers are zero or infinite.
template <class Vector>
void ChebyshevSearch<Vector>::require_close() {
  WorkspaceScope<Space> scope(context());
  const Vector x = scratch_like(scope, x_, 1), images = scratch_like(scope, x_, 2);
  const Vector exact = images.column(0), rounded = images.column(1);
  fill_normal(x, options_.seed);
  pencil_.apply_a(x, exact);
  single_->apply(sign_, x, rounded);
  pencil_.count_applications(1);
  ++applications_single_;
  axpby(Scalar(-1), exact, Scalar(1), rounded);
  const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, 2);
  column_norms(images, norms);
  const auto host = norms.to_host();
  const Real length = host(0, 0), difference = host(0, 1);
  if (!std::isfinite(length) || difference <= Real(least_likeness) * length) return;  // A is judged elsewhere
  if (!std::isfinite(difference) || difference == length) {
    is_out_of_range_ = true;
    return leave_single();
  }
  throw InputError(
      fmt::format("chebyshev: A in single precision is not A: of a random vector the two make vectors that "
                  "differ by {:.1e} of their length",
                  static_cast<double>(difference / length)));
}

/// Where the spectrum lies, and the norm of an A without B. With a B the look is at A D, which is Hermitian in D's
/// inner product and has the eigenvalues of D A.
template <class Vector>
auto ChebyshevSearch<Vector>::look_at_pencil() -> SpectrumLook<Real> {
  if (!pencil_.has_b()) {
    const auto look = look_at_spectrum(a_, sign_, x_, options_.seed);
    pencil_.count_applications(look.applications);
    pencil_.norm_a = look.norm();
    return look;
  }
  const FunctionOperator<Vector> a_d(context(), a_.rows(), [&](const Vector& x, const Vector& y) {
    WorkspaceScope<Space> scope(context());
    const Vector between = scratch_like(scope, x, x.width());
    inverse_->apply(x, between);
    pencil_.apply_a(between, y);
  });
  auto look = look_at_spectrum(AnyOperator<Vector>(a_d), Real(1), x_, options_.seed,
                               [&](const Vector& x, const Vector& y) { inverse_->apply(x, y); });
  // D A's eigenvalues are those of the pencil to this share of the spectrum's width, wherever its shift lies.
  if (!inverse_->is_exact()) look.top += 2 * inverse_->error() * (look.top - look.bottom);
  return look;
}

/// X becomes a first block, filtered where it is random, and its Ritz vectors.
template <class Vector>
void ChebyshevSearch<Vector>::start() {
  const auto look = look_at_pencil();
  const std::int64_t n = x_.global_rows(), deflated = pencil_.deflation().width();
  // Above the lowest Ritz value, which may stand for a level of any number of copies.
  const Real next = look.values[std::min<std::size_t>(1, look.values.size() - 1)];
  const Real cut = std::max(look.place_of(columns_ + columns_ / 2 + deflated, n),
                            look.values.front() + (next - look.values.front()) / 2);
  last_wanted_ = look.place_of(options_.wanted + deflated, n);
  choice_ = IntervalChoice<Real>({look.values.front(), cut, look.top});
  fill_random(x_, options_.seed);
  // The last columns stay random, so that nothing is missed that the initial vectors lack.
  const std::int64_t given = std::min(initial_.width(), options_.wanted);
  if (given > 0) copy(initial_.columns(0, given), x_.columns(0, given));
  is_whole_space_ = columns_ == pencil_.dimensions();
  const bool is_filtered =
      options_.max_iterations > 0 && given == 0 && !is_whole_space_ && choice_.interval().half_width() > 0;
  if (!is_filtered || deflated > 0) orthonormalize(options_.orth);
  if (!pencil_.trouble.empty()) return;
  if (is_filtered) {
    step(false);
  } else {
    rayleigh_ritz();
  }
}

/// These columns of X go through the filter, in order of their degrees.
template <class Vector>
void ChebyshevSearch<Vector>::filter(std::int64_t begin, std::int64_t end, bool has_pairs, Real last_wanted) {
  const std::int64_t width = end - begin;
  const Vector x = x_.columns(begin, end), even = even_.columns(0, width);
  const auto degree = [&](std::int64_t i) { return degrees_[index(begin - locked_ + i)]; };
  std::vector<std::int64_t> order(index(width));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return degree(i) > degree(j); });
  std::vector<int> degrees;
  std::vector<Real> values;
  for (const std::int64_t i : order) {
    degrees.push_back(degree(i));
    values.push_back(values_[index(begin + i)]);
  }
  gather_columns(x, order, even);
  if (has_pairs) gather_columns(residual_.columns(begin, end), order, odd_.columns(0, width));
  is_single() ? filter_in_single(degrees, values, has_pairs, last_wanted)
              : filter_in_full(degrees, values, has_pairs, last_wanted);
  copy(even, x);
}

/// `even` holds X's columns in order, and in the end what the filter makes of them; `odd` their residuals, which tell
/// A X = R + X diag(theta), so that this costs no product.
template <class Vector>
void ChebyshevSearch<Vector>::filter_in_full(const std::vector<int>& degrees, const std::vector<Real>& values,
                                             bool has_pairs, Real last_wanted) {
  const auto width = std::ssize(degrees);
  const Vector even = even_.columns(0, width), odd = odd_.columns(0, width);
  if (pencil_.has_b()) {
    const auto apply_a = [&](const Vector& from, const Vector& to) { pencil_.apply_a(from, to); };
    return filter_pencil(apply_a, degrees, values, has_pairs, last_wanted);
  }
  const auto& interval = choice_.interval();
  if (has_pairs) {
    WorkspaceScope<Space> scope(context());
    const auto factors = SmallMatrix<Scalar, Space>::scratch(scope, 1, width);
    HostMatrix<Scalar> host("BlockVec::solvers::factors", 1, index(width));
    const Real t = interval.place(interval.lowest);
    for (std::size_t i = 0; i < values.size(); ++i) host(0, i) = Scalar(interval.place(values[i]) / t);
    factors.from_host(host);
    axpby_columns(factors, even, Scalar(-1 / (t * interval.half_width())), odd);
  }
  pencil_.count_applications(chebyshev_filter(a_, sign_, interval, degrees, even, odd, has_pairs));
}

/// As filter_in_full(), by A in single precision. With a B this is A's part of the recurrence only.
template <class Vector>
void ChebyshevSearch<Vector>::filter_in_single(const std::vector<int>& degrees, const std::vector<Real>& values,
                                               bool has_pairs, Real last_wanted) {
  const auto width = std::ssize(degrees);
  const Vector even = even_.columns(0, width), odd = odd_.columns(0, width);
  const auto count = [&](std::int64_t columns) {
    pencil_.count_applications(columns);
    applications_single_ += columns;
  };
  if (pencil_.has_b()) {
    const auto apply_a = [&](const Vector& from, const Vector& to) {
      single_->apply(sign_, from, to);
      count(from.width());
    };
    filter_pencil(apply_a, degrees, values, has_pairs, last_wanted);
  } else if (has_pairs) {
    count(single_->filter_pairs(sign_, choice_.interval(), degrees, values, odd, even));
  } else {
    count(single_->filter(sign_, choice_.interval(), degrees, even));
  }
}

/// The same for B^-1 A.
template <class Vector>
template <class ApplyA>
void ChebyshevSearch<Vector>::filter_pencil(const ApplyA& apply_a, const std::vector<int>& degrees,
                                            const std::vector<Real>& values, bool has_pairs, Real last_wanted) {
  const auto width = std::ssize(degrees);
  const Vector even = even_.columns(0, width), odd = odd_.columns(0, width);
  if (has_pairs)
    return pencil_filter(pencil_, apply_a, *inverse_, last_wanted, choice_.interval(), degrees, values, even, odd);
  const FunctionOperator<Vector> d_a(context(), a_.rows(), [&](const Vector& x, const Vector& y) {
    WorkspaceScope<Space> scope(context());
    const Vector between = scratch_like(scope, x, x.width());
    apply_a(x, between);
    inverse_->apply_in_place_of(between, y);
  });
  chebyshev_filter(AnyOperator<Vector>(d_a), Real(1), choice_.interval(), degrees, even, odd, false);
}

/// Columns that a filter in single precision has taken beyond its range, since A reaches farther than was seen, begin
/// anew, from now on in A's own precision. Returns whether there are such. One reduction.
template <class Vector>
bool ChebyshevSearch<Vector>::replace_lost_columns(Real last_wanted) {
  std::vector<std::int64_t> lost;
  {
    WorkspaceScope<Space> scope(context());
    const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, active());
    column_norms(active_of(x_), norms);
    const auto host = norms.to_host();
    for (std::int64_t j = locked_; j < columns_; ++j)
      if (!std::isfinite(host(0, index(j - locked_)))) lost.push_back(j);
  }
  if (lost.empty()) return false;
  is_out_of_range_ = true;
  leave_single();
  for (const std::int64_t j : lost) {
    fill_random(x_.column(j), options_.seed, j);
    degrees_[index(j - locked_)] = first_degree();
  }
  for (auto begin = lost.begin(); begin != lost.end();) {
    auto end = begin + 1;
    while (end != lost.end() && *end == *begin + (end - begin) && end - begin < options_.filter_width) ++end;
    filter(*begin, *begin + (end - begin), false, last_wanted);
    begin = end;
  }
  return true;
}

/// Ritz vectors take the place of X's active columns, with A X - B X diag(theta) beside them.
template <class Vector>
void ChebyshevSearch<Vector>::rotate() {
  const std::int64_t k = active();
  const Vector x = active_of(x_), ax = active_of(residual_);
  pencil_.apply_a(x, ax);
  const SmallMatrix<Scalar> g(context(), k, k);
  const SmallMatrix<Real> theta(context(), 1, k);
  inner_product(x, ax, g);
  orth::dense::eigendecomposition(g, theta, g);
  multiply_in_place(x, g);
  multiply_in_place(ax, g);
  if (pencil_.has_b()) multiply_in_place(b_image(locked_, columns_), g);
  measure_residuals(theta);
}

template <class Vector>
void ChebyshevSearch<Vector>::measure_residuals(const SmallMatrix<Real>& theta) {
  const std::int64_t k = active();
  const Vector x = active_of(x_), ax = active_of(residual_), bx = pencil_.has_b() ? b_image(locked_, columns_) : x;
  WorkspaceScope<Space> scope(context());
  if (pencil_.has_b()) {
    const auto squares = SmallMatrix<Scalar, Space>::scratch(scope, 3, k);
    const auto row = [&](std::int64_t i) { return squares.block(i, i + 1, 0, k); };
    InnerProducts<Scalar, Layout, Space>(context())
        .add_dots(x, x, row(0))
        .add_dots(ax, ax, row(1))
        .add_dots(bx, bx, row(2))
        .reduce();
    const auto host = squares.to_host();
    for (std::int64_t j = 0; j < k; ++j) {
      const auto length = [&](std::size_t i) { return std::sqrt(real_part(host(i, index(j)))); };
      lengths_[index(locked_ + j)] = length(0);
      pencil_.norm_a = std::max(pencil_.norm_a, length(1) / length(0));
      pencil_.norm_b = std::max(pencil_.norm_b, length(2) / length(0));
    }
  }
  const auto values = SmallMatrix<Real, Space>::scratch(scope, 1, k);
  const auto norms = SmallMatrix<Real, Space>::scratch(scope, 1, k);
  values.from_host(theta.to_host());
  residual(bx, values, ax, norms);
  const auto host = norms.to_host();
  for (std::int64_t j = 0; j < k; ++j) {
    const auto at = index(locked_ + j);
    values_[at] = theta.data()[j];
    residuals_[at] = host(0, index(j));
    if (std::isfinite(residuals_[at])) continue;
    throw NotFiniteError("chebyshev: the residual of column " + std::to_string(locked_ + j) + " of X is not finite");
  }
}

}  // namespace blockvec::solvers
