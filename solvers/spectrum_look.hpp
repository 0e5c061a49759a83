#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "solvers/chebyshev_polynomial.hpp"
#include "solvers/counted_operator.hpp"
#include "solvers/tridiagonal.hpp"

namespace blockvec::solvers {

/// Ritz values of a Krylov space of one vector, and what the vector weighs in them.
template <class Real>
struct SpectrumLook {
  std::vector<Real> values, weights, residuals;  ///< ascending; the weights add up to 1
  Real bottom = 0, top = 0;                      ///< no eigenvalue is far beyond, in practice
  std::int64_t applications = 0;

  /// A vector counts as dependent on others below this share of the largest square.
  static Real least_share() { return std::sqrt(epsilon<Real>) / 100; }
  /// About the rounding errors of the values.
  Real rounding() const {
    return std::max(std::abs(values.front()), std::abs(values.back())) * epsilon<Real> / least_share();
  }
  /// Of A, from below.
  Real norm() const { return std::max(std::abs(values.front()), std::abs(values.back())) - rounding(); }
  /// About where the eigenvalue with this number lies, of `rows` in all: the weights estimate how many there are up to
  /// a Ritz value, since a random vector weighs all eigenvectors alike on average (Lin, Saad, Yang 2016, SIAM Review
  /// 58, 34).
  Real place_of(std::int64_t number, std::int64_t rows) const {
    Real below = 0, at = 0, value_at = values.front();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Real next = below + weights[i] * static_cast<Real>(rows) / 2;
      if (i > 0 && next >= static_cast<Real>(number)) {
        const Real share = next > at ? std::max<Real>(0, (static_cast<Real>(number) - at) / (next - at)) : Real(1);
        return value_at + share * (values[i] - value_at);
      }
      at = next;
      value_at = values[i];
      below += weights[i] * static_cast<Real>(rows);
    }
    return values.back();
  }
  /// About the share of all eigenvalues that lie below x.
  Real share_below(Real x) const {
    if (x < bottom) return 0;
    Real below = 0, share = 0, place = bottom;
    for (std::size_t i = 0; i <= values.size(); ++i) {
      const bool is_end = i == values.size();
      const Real next_place = is_end ? top : values[i], next_share = is_end ? Real(1) : below + weights[i] / 2;
      if (x <= next_place) {
        const Real part = next_place > place ? std::max<Real>(0, (x - place) / (next_place - place)) : Real(1);
        return share + part * (next_share - share);
      }
      if (!is_end) below += weights[i];
      place = next_place;
      share = next_share;
    }
    return 1;
  }
  /// About how many of `rows` eigenvalues lie within this distance of x.
  Real count_within(Real distance, Real x, std::int64_t rows) const {
    return (share_below(x + distance) - share_below(x - distance)) * static_cast<Real>(rows);
  }
  /// About how many of `rows` eigenvalues lie in levels that come within this distance of x. They may lie in an
  /// interval that is far narrower than the look tells places apart.
  Real count_of_levels_within(Real distance, Real x, std::int64_t rows) const {
    Real share = 0;
    for (const Level& level : levels()) {
      if (level.reaches(distance + rounding(), x)) share += level.weight;
    }
    return share * static_cast<Real>(rows);
  }
  /// About the distance from x within which so many eigenvalues lie, and no less than what reaches a level at an end.
  Real distance_of(Real count, Real x, std::int64_t rows) const {
    Real low = distance_of_end(x), high = std::max(low, farthest(x));
    for (int halvings = 0; halvings < 60; ++halvings) {
      const Real middle = low + (high - low) / 2;
      (count_within(middle, x, rows) < count ? low : high) = middle;
    }
    return high;
  }
  /// A distance from x that is no less than this one and goes on into the gaps beside the levels that it meets.
  Real distance_into_gaps(Real distance, Real x) const {
    Real reach = distance;
    for (const Level& level : levels()) {
      if (level.reaches(distance + rounding(), x) && level.gap < nowhere)
        reach = std::max({reach, level.high - x + level.gap / 4, x - level.low + level.gap / 4});
    }
    return reach;
  }
  /// No eigenvalue is farther from x, in practice.
  Real farthest(Real x) const { return std::max(top - x, x - bottom); }

 private:
  static constexpr Real nowhere = std::numeric_limits<Real>::max();

  /// Many eigenvalues close together, or one.
  struct Level {
    Real low, high, weight;
    Real gap;  // that is empty on either side
    bool reaches(Real distance, Real x) const { return low - distance <= x && x <= high + distance; }
  };
  /// What residuals do not tell from its neighbours belongs to the same level, which is narrow beside its gap. Values
  /// that weigh next to nothing and have not come out at all may lie in a gap: they are none.
  std::vector<Level> levels() const {
    std::vector<Level> found;
    Real residual = 0;  // of the latest value
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (weights[i] * static_cast<Real>(values.size()) < Real(0.01) && residuals[i] > (top - bottom) / 20) continue;
      const bool is_apart = found.empty() || values[i] - found.back().high > 4 * std::max(residual, residuals[i]);
      if (is_apart) {
        const Real gap = found.empty() ? nowhere : values[i] - found.back().high;
        if (!found.empty()) found.back().gap = std::min(found.back().gap, gap);
        found.push_back({values[i], values[i], weights[i], gap});
      } else {
        found.back().high = values[i];
        found.back().weight += weights[i];
      }
      residual = residuals[i];
    }
    const bool is_one = found.size() == 1;
    std::erase_if(found, [&](const Level& level) { return level.high - level.low > (is_one ? 0 : level.gap / 4); });
    return found;
  }

  /// Where the value at an end has come out well, it is a level, perhaps of many copies. From an x there or beyond,
  /// what reaches the level may reach into the gap beside it, too: no polynomial parts it from its own rounding errors.
  Real distance_of_end(Real x) const {
    const std::size_t last = values.size() - 1;
    if (last == 0) return 0;
    const auto into_gap = [](Real beyond, Real residual, Real gap) {  // x is so far beyond the level
      return residual <= gap / 10 && beyond >= -gap / 100 ? beyond + gap / 4 : Real(0);
    };
    return std::max(into_gap(x - values[last], top - values[last], values[last] - values[last - 1]),
                    into_gap(values[0] - x, values[0] - bottom, values[1] - values[0]));
  }
};

namespace detail {

/// An interval that Chebyshev polynomials are taken on.
template <class Real>
struct LookInterval {
  Real low, high;

  Real centre() const { return low + (high - low) / 2; }
  Real half() const { return (high - low) / 2; }
  /// The smallest that holds both.
  LookInterval hull(const LookInterval& other) const { return {std::min(low, other.low), std::max(high, other.high)}; }
  /// About the same centre. The polynomial of this degree is at most `growth` in it.
  LookInterval where_at_most(Real growth, int degree) const {
    const Real reach = half() * chebyshev_inverse(degree, std::max(growth, Real(1)));
    return {centre() - reach, centre() + reach};
  }
  bool holds(const LookInterval& other) const { return low <= other.low && other.high <= high; }
};

/// A's projection on the span of V's first columns, from G = V^H V and A V = V T for a T (n + 1 x n) that is
/// tridiagonal: its ratio of entries is that of Chebyshev polynomials on the interval. What depends on others to
/// rounding is left out. The ends are the lowest and the largest value and their residuals (Zhou, Li 2011).
template <class Real, class Scalar>
SpectrumLook<Real> ritz_values(const SmallMatrix<Scalar>& gram, const LookInterval<Real>& interval) {
  const Context& context = gram.context();
  const auto g_host = gram.to_host();
  const auto all = static_cast<std::int64_t>(g_host.extent(0)), n = all - 1;
  const auto entry = [&](std::int64_t i, std::int64_t j) {
    return real_part(g_host(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
  };
  using Matrix = SmallMatrix<Real>;
  const auto at = [](const Matrix& a, std::int64_t i, std::int64_t j) -> Real& { return a.data()[i + j * a.ld()]; };
  const Matrix g(context, all, all), t(context, all, n), gt(context, all, n);
  for (std::int64_t j = 0; j < all; ++j) {
    for (std::int64_t i = 0; i < all; ++i) at(g, i, j) = (entry(i, j) + entry(j, i)) / 2;
  }
  orth::dense::fill(t, Real(0));
  for (std::int64_t j = 0; j < n; ++j) {  // A v_0 = centre v_0 + half v_1, else half / 2 to either side
    at(t, j, j) = interval.centre();
    at(t, j + 1, j) = j == 0 ? interval.half() : interval.half() / 2;
    if (j > 0) at(t, j - 1, j) = interval.half() / 2;
  }
  orth::dense::multiply(Real(1), g, false, t, false, Real(0), gt);
  const Matrix u(context, n, n), squares(context, 1, n);
  orth::dense::eigendecomposition(g.block(0, n, 0, n), squares, u);
  std::int64_t lost = 0;
  SpectrumLook<Real> look;
  while (squares.data()[lost] <= look.least_share() * squares.data()[n - 1]) ++lost;
  const std::int64_t kept = n - lost;
  const Matrix q = u.block(0, n, lost, n);  // V Q is orthonormal
  for (std::int64_t j = 0; j < kept; ++j) {
    for (std::int64_t i = 0; i < n; ++i) at(q, i, j) /= std::sqrt(squares.data()[lost + j]);
  }
  const Matrix hq(context, n, kept), small(context, kept, kept), values(context, 1, kept), z(context, n, kept);
  orth::dense::multiply(Real(1), gt.block(0, n, 0, n), false, q, false, Real(0), hq);
  orth::dense::multiply(Real(1), q, true, hq, false, Real(0), small);
  orth::dense::eigendecomposition(small, values, small);
  orth::dense::multiply(Real(1), q, false, small, false, Real(0), z);

  for (std::int64_t j = 0; j < kept; ++j) {
    Real part = 0;
    for (std::int64_t i = 0; i < n; ++i) part += at(g, 0, i) * at(z, i, j);
    look.values.push_back(values.data()[j]);
    look.weights.push_back(part * part / at(g, 0, 0));
  }
  // ||A x||^2 - theta^2 for each Ritz vector x.
  const Matrix image(context, all, kept), in_g(context, all, kept);
  orth::dense::multiply(Real(1), t, false, z, false, Real(0), image);
  orth::dense::multiply(Real(1), g, false, image, false, Real(0), in_g);
  for (std::int64_t j = 0; j < kept; ++j) {
    const Real value = values.data()[j];
    Real square = 0;
    for (std::int64_t i = 0; i < all; ++i) square += at(image, i, j) * at(in_g, i, j);
    look.residuals.push_back(std::sqrt(std::max<Real>(square - value * value, 0)));
  }
  look.bottom = look.values.front() - look.residuals.front();
  look.top = look.values.back() + look.residuals.back();
  return look;
}

/// What a look works on: A, M, and columns that start with a random one.
template <class Vector>
class LookedAt {
 public:
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Vector::Space;
  using Multiply = typename FunctionOperator<Vector>::Multiply;

  LookedAt(WorkspaceScope<Space>& scope, const AnyOperator<Vector>& a, Real sign, const Vector& model,
           std::uint64_t seed, const Multiply& m, std::int64_t columns)
      : scope_(scope), a_(a), sign_(sign), m_(m), v_(scratch_like(scope, model, columns)) {
    if (m_) image_ = scratch_like(scope, model, columns);
    const Vector start = v_.column(0);
    fill_normal(start, seed);
    const auto square = SmallMatrix<Scalar, Space>::scratch(scope, 1, 1);
    column_dots(image_of(start, 0), start, square);
    scale(start, Scalar(1 / std::sqrt(real_part(square.to_host()(0, 0)))));
  }

  std::int64_t applications() const { return applications_; }

  /// The ends of the spectrum as far as these few Lanczos steps tell. The recurrence has one reduction a step: ||w||^2
  /// tells what is left of w by Pythagoras.
  LookInterval<Real> lanczos(std::int64_t most_steps) {
    const auto dots = SmallMatrix<Scalar, Space>::scratch(scope_, 2, 1);
    std::vector<Real> diagonal, beside{0};
    WorkspaceScope<Space> scope(v_.context());
    Vector before = scratch_like(scope, v_, 1), q = scratch_like(scope, v_, 1), w = v_.column(1);
    copy(v_.column(0), q);
    fill(before, Scalar(0));
    while (std::ssize(diagonal) < std::min(most_steps, v_.global_rows())) {
      apply(Scalar(sign_), Scalar(0), q, Scalar(0), w);
      InnerProducts<Scalar, typename Vector::Layout, Space>(v_.context())
          .add_dots(image_of(q, 0), w, dots.block(0, 1, 0, 1))
          .add_dots(image_of(w, 1), w, dots.block(1, 2, 0, 1))
          .reduce();
      const auto host = dots.to_host();
      const Real alpha = real_part(host(0, 0)), square = real_part(host(1, 0));
      if (!std::isfinite(alpha) || !std::isfinite(square)) {
        throw NotFiniteError("A applied to a random vector is not finite");
      }
      const Real rest = square - alpha * alpha - beside.back() * beside.back();
      diagonal.push_back(alpha);
      if (!(rest > 64 * epsilon<Real> * square)) {  // an invariant space
        beside.push_back(0);
        break;
      }
      axpby(Scalar(-alpha), q, Scalar(1), w);
      axpby(Scalar(-beside.back()), before, Scalar(1), w);
      beside.push_back(std::sqrt(rest));
      scale(w, Scalar(1 / beside.back()));
      copy(q, before);
      copy(w, q);
    }
    const auto steps = std::ssize(diagonal);
    const auto [values, z] =
        tridiagonal_eigenpairs<Real>(v_.context(), diagonal, std::span<const Real>(beside).subspan(1));
    const auto end = [&, &z = z](std::int64_t j) { return beside.back() * std::abs(z.data()[steps - 1 + j * z.ld()]); };
    return {values.data()[0] - end(0), values.data()[steps - 1] + end(steps - 1)};
  }

  /// The Gram matrix of the Chebyshev polynomials on this interval, as far as its entries are in the range of numbers:
  /// they overflow where an eigenvalue lies far beyond.
  SmallMatrix<Scalar> gram_of_polynomials(const LookInterval<Real>& interval) {
    const Real centre = interval.centre(), half = interval.half();
    for (std::int64_t j = 1; j < v_.width(); ++j) {
      const Vector next = v_.column(j);
      if (j > 1) copy(v_.column(j - 2), next);
      apply(Scalar((j > 1 ? 2 : 1) * sign_ / half), Scalar(sign_ * centre), v_.column(j - 1), Scalar(j > 1 ? -1 : 0),
            next);
    }
    const SmallMatrix<Scalar> gram(v_.context(), v_.width(), v_.width());
    inner_product(v_, image_of(v_, 0), gram);
    const auto host = gram.to_host();
    const Real most = epsilon<Real> * std::numeric_limits<Real>::max();
    std::int64_t finite = 0;
    while (finite < v_.width() && real_part(host(finite, finite)) < most) ++finite;
    if (finite < 2) throw NotFiniteError("A applied to a random vector is not finite");
    return gram.block(0, finite, 0, finite);
  }

 private:
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) {
    a_.apply(alpha, shift, x, beta, y);
    ++applications_;
  }
  /// Those of X's columns under M.
  Vector image_of(const Vector& x, std::int64_t place) {
    if (!m_) return x;
    const Vector y = image_.columns(place, place + x.width());
    m_(x, y);
    return y;
  }

  WorkspaceScope<Space>& scope_;
  const AnyOperator<Vector>& a_;
  Real sign_;
  const Multiply& m_;
  Vector v_, image_;
  std::int64_t applications_ = 0;
};

}  // namespace detail

/// From a random vector made by `seed`: a few Lanczos steps tell roughly where the spectrum lies; Chebyshev polynomials
/// of A on this interval then span the Krylov space, and their Gram matrix is all that a Rayleigh-Ritz needs. So one
/// reduction does for that. What lies beyond the interval overgrows the rest there. Where an eigenvalue that the
/// random vector hardly weighs could be hidden, the polynomials are taken once more, on what has been seen.
/// In terms of sign * A. An A that is Hermitian in the inner product x^H M y of a positive definite M is given with
/// this M, as y = M x. Of 32 columns it costs 37 products with a column and 8 reductions; scratch for 34 columns like
/// `model`'s; M on 48 columns, and scratch for 33 more. With fewer rows than columns less; 31 products, a reduction
/// and M on 32 columns for each further interval, of which there are four at most.
template <class Vector>
SpectrumLook<RealOf<typename Vector::Scalar>> look_at_spectrum(
    const AnyOperator<Vector>& a, RealOf<typename Vector::Scalar> sign, const Vector& model, std::uint64_t seed,
    const typename FunctionOperator<Vector>::Multiply& m = {}, std::int64_t most_columns = 32) {
  using Real = RealOf<typename Vector::Scalar>;
  using Look = SpectrumLook<Real>;
  WorkspaceScope<typename Vector::Space> scope(model.context());
  detail::LookedAt<Vector> looked_at(scope, a, sign, model, seed, m, std::min(most_columns, model.global_rows() + 1));
  // Few steps, so that no polynomial overgrows the others.
  auto interval = looked_at.lanczos(most_columns * 3 / 16);
  Look look;
  if (!(interval.half() > 0)) {  // one eigenvalue is all that was seen
    look.values = {interval.centre()};
    look.weights = {1};
    look.residuals = {0};
    look.bottom = look.top = interval.centre();
    look.applications = looked_at.applications();
    return look;
  }
  // A random vector weighs one eigenvector in a hundred less than the first. It weighs those of a small M by M's
  // condition less.
  const Real least_weight = (m ? epsilon<Real> : Real(1e-4)) / static_cast<Real>(model.global_rows());
  const Real share = Look::least_share();
  constexpr int most_intervals = 5;
  std::optional<detail::LookInterval<Real>> seen;  // where the Ritz values of all intervals lie
  for (int number = 1;; ++number) {
    const auto gram = looked_at.gram_of_polynomials(interval);
    const auto degree = static_cast<int>(gram.columns()) - 1;
    look = detail::ritz_values<Real>(gram, interval);
    const detail::LookInterval<Real> values{look.values.front(), look.values.back()};
    seen = seen ? seen->hull(values) : values;
    const auto found = seen->hull({look.bottom, look.top});
    const bool is_overgrown = !interval.where_at_most(1 / std::sqrt(share), degree).holds(values);
    // The squares of all columns add up to about half their number. What has not grown to its share is not seen.
    const Real counts = share * static_cast<Real>(degree) / 2;
    const auto bound =
        least_weight < counts ? found.hull(interval.where_at_most(std::sqrt(counts / least_weight), degree)) : found;
    look.bottom = bound.low;
    look.top = bound.high;
    const Real room = (found.high - found.low) / 20;
    const bool is_close = found.low - bound.low <= room && bound.high - found.high <= room;
    const auto next = is_overgrown ? interval.hull(found) : found;
    if (number == most_intervals || (!is_overgrown && is_close) || !(next.half() > 0)) break;
    interval = next;
  }
  // Those that the last interval hides weigh nothing.
  if (seen->low < look.values.front()) {
    look.values.insert(look.values.begin(), seen->low);
    look.weights.insert(look.weights.begin(), 0);
    look.residuals.insert(look.residuals.begin(), 0);
  }
  if (seen->high > look.values.back()) {
    look.values.push_back(seen->high);
    look.weights.push_back(0);
    look.residuals.push_back(0);
  }
  look.applications = looked_at.applications();
  return look;
}

}  // namespace blockvec::solvers
