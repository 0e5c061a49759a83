#pragma once

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/solvers/operator.hpp>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/chebyshev_polynomial.hpp"
#include "solvers/counted_operator.hpp"
#include "solvers/tridiagonal.hpp"

namespace blockvec::solvers {

/// Ritz values of a Krylov space of one vector, and what the vector weighs in them.
template <class Real>
struct SpectrumLook {
  std::vector<Real> values, weights;  ///< ascending; the weights add up to 1
  /// The lowest and the largest value and their residuals: no eigenvalue is beyond, in practice (Zhou, Li 2011).
  Real bottom = 0, top = 0;
  std::int64_t applications = 0;

  /// A vector counts as dependent on others below this share of the largest square; rounding errors of the values are
  /// about eps over it.
  static Real least_share() { return std::sqrt(epsilon<Real>) / 100; }
  /// Of A, from below.
  Real norm() const {
    return std::max(std::abs(values.front()), std::abs(values.back())) * (1 - epsilon<Real> / least_share());
  }
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
  /// About the distance from x within which so many eigenvalues lie.
  Real distance_of(Real count, Real x, std::int64_t rows) const {
    Real low = 0, high = farthest(x);
    for (int halvings = 0; halvings < 60; ++halvings) {
      const Real middle = low + (high - low) / 2;
      (count_within(middle, x, rows) < count ? low : high) = middle;
    }
    return high;
  }
  /// No eigenvalue is farther from x, in practice.
  Real farthest(Real x) const { return std::max(top - x, x - bottom); }
};

namespace detail {

/// A's projection on the span of V's first columns, from G = V^H V and A V = V T for a T (n + 1 x n) that is
/// tridiagonal: its ratio of entries is that of Chebyshev polynomials on [centre - half, centre + half]. What depends
/// on others to rounding is left out.
template <class Real, class Scalar>
SpectrumLook<Real> with_ritz_values(SpectrumLook<Real> look, const SmallMatrix<Scalar>& gram, Real centre, Real half) {
  const Context& context = gram.context();
  const auto g_host = gram.to_host();
  const auto all = static_cast<std::int64_t>(g_host.extent(0)), n = all - 1;
  const auto entry = [&](std::int64_t i, std::int64_t j) {
    return real_part(g_host(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
  };
  using Matrix = SmallMatrix<Real>;
  const auto at = [](const Matrix& a, std::int64_t i, std::int64_t j) -> Real& { return a.data()[i + j * a.ld()]; };
  const Matrix g(context, all, all), t(context, all, n), gt(context, all, n), h(context, n, n);
  for (std::int64_t j = 0; j < all; ++j) {
    for (std::int64_t i = 0; i < all; ++i) at(g, i, j) = (entry(i, j) + entry(j, i)) / 2;
  }
  orth::dense::fill(t, Real(0));
  for (std::int64_t j = 0; j < n; ++j) {  // A v_0 = centre v_0 + half v_1, else half / 2 to either side
    at(t, j, j) = centre;
    at(t, j + 1, j) = j == 0 ? half : half / 2;
    if (j > 0) at(t, j - 1, j) = half / 2;
  }
  orth::dense::multiply(Real(1), g, false, t, false, Real(0), gt);
  const Matrix u(context, n, n), squares(context, 1, n);
  orth::dense::eigendecomposition(g.block(0, n, 0, n), squares, u);
  std::int64_t lost = 0;
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
  // ||A x||^2 - theta^2 for a Ritz vector x.
  const Matrix image(context, all, 1), in_g(context, all, 1);
  const auto residual_of = [&](std::int64_t j, Real value) {
    orth::dense::multiply(Real(1), t, false, z.block(0, n, j, j + 1), false, Real(0), image);
    orth::dense::multiply(Real(1), g, false, image, false, Real(0), in_g);
    Real square = 0;
    for (std::int64_t i = 0; i < all; ++i) square += image.data()[i] * in_g.data()[i];
    return std::sqrt(std::max<Real>(square - value * value, 0));
  };
  look.bottom = look.values.front() - residual_of(0, look.values.front());
  look.top = look.values.back() + residual_of(kept - 1, look.values.back());
  return look;
}

}  // namespace detail

/// From a random vector made by `seed`: a few Lanczos steps tell roughly where the
/// spectrum lies; Chebyshev polynomials of A on this interval then span the Krylov space, and their Gram matrix is all
/// that a Rayleigh-Ritz needs. So one reduction does for that. In terms of sign * A. An A that is Hermitian in the
/// inner product x^H M y of a positive definite M is given with this M, as y = M x. Of 32 columns it
/// costs 37 products with a column and 8 reductions; scratch for 34 columns like `model`'s; M on 48 columns, and
/// scratch for 33 more. With fewer rows than columns less; half as much again for each time that an eigenvalue turns
/// out to lie far beyond that interval.
template <class Vector>
SpectrumLook<RealOf<typename Vector::Scalar>> look_at_spectrum(
    const AnyOperator<Vector>& a, RealOf<typename Vector::Scalar> sign, const Vector& model, std::uint64_t seed,
    const typename FunctionOperator<Vector>::Multiply& m = {}, std::int64_t most_columns = 32) {
  using Scalar = typename Vector::Scalar;
  using Real = RealOf<Scalar>;
  using Space = typename Vector::Space;
  const std::int64_t lanczos_steps = most_columns * 3 / 16;  // so that no polynomial overgrows the others
  const Context& context = model.context();
  WorkspaceScope<Space> scope(context);
  const Vector v = scratch_like(scope, model, std::min(most_columns, model.global_rows() + 1));
  const Vector start = v.column(0);
  const auto dots = SmallMatrix<Scalar, Space>::scratch(scope, 2, 1);
  const auto dot = [&](std::int64_t i) { return dots.block(i, i + 1, 0, 1); };
  const Vector image = m ? scratch_like(scope, model, v.width()) : Vector();
  /// Those of X's columns under M.
  const auto image_of = [&](const Vector& x, std::int64_t place) {
    if (!m) return x;
    const Vector y = image.columns(place, place + x.width());
    m(x, y);
    return y;
  };
  fill_normal(start, seed);
  column_dots(image_of(start, 0), start, dot(0));
  scale(start, Scalar(1 / std::sqrt(real_part(dots.to_host()(0, 0)))));

  // The Lanczos recurrence with one reduction a step: ||w||^2 tells what is left of w by Pythagoras.
  SpectrumLook<Real> look;
  std::vector<Real> diagonal, beside{0};
  {
    Vector before = scratch_like(scope, model, 1), q = scratch_like(scope, model, 1), w = v.column(1);
    copy(start, q);
    fill(before, Scalar(0));
    while (std::ssize(diagonal) < std::min(lanczos_steps, model.global_rows())) {
      a.apply(Scalar(sign), Scalar(0), q, Scalar(0), w);
      ++look.applications;
      InnerProducts<Scalar, typename Vector::Layout, Space>(context)
          .add_dots(image_of(q, 0), w, dot(0))
          .add_dots(image_of(w, 1), w, dot(1))
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
  }
  const auto steps = std::ssize(diagonal);
  const auto [values, z] = tridiagonal_eigenpairs<Real>(context, diagonal, std::span<const Real>(beside).subspan(1));
  const auto end = [&, &z = z](std::int64_t j) { return beside.back() * std::abs(z.data()[steps - 1 + j * z.ld()]); };
  Real low = values.data()[0] - end(0), high = values.data()[steps - 1] + end(steps - 1);
  constexpr int most_passes = 4;
  for (int pass = 1;; ++pass) {
    const Real centre = low + (high - low) / 2, half = (high - low) / 2;
    if (!(half > 0)) {  // one eigenvalue is all that was seen
      look.values = {centre};
      look.weights = {1};
      look.bottom = look.top = centre;
      return look;
    }
    for (std::int64_t j = 1; j < v.width(); ++j) {
      const Vector next = v.column(j);
      if (j > 1) copy(v.column(j - 2), next);
      a.apply(Scalar((j > 1 ? 2 : 1) * sign / half), Scalar(sign * centre), v.column(j - 1), Scalar(j > 1 ? -1 : 0),
              next);
    }
    look.applications += v.width() - 1;
    const SmallMatrix<Scalar> gram(context, v.width(), v.width());
    inner_product(v, image_of(v, 0), gram);
    auto found = detail::with_ritz_values(look, gram, centre, half);
    // What lies beyond the interval overgrows the rest, which counts as dependent then. It is seen well itself.
    const Real reach = std::max(found.values.back() - centre, centre - found.values.front()) / half;
    const Real grown = chebyshev(static_cast<int>(v.width()) - 1, std::max(reach, Real(1)));
    if (pass == most_passes || grown * grown * look.least_share() <= 1) return found;
    low = std::min(low, found.bottom);
    high = std::max(high, found.top);
  }
}

}  // namespace blockvec::solvers
