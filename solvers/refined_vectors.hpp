#pragma once

#include <algorithm>
#include <blockvec/orth/dense.hpp>
#include <blockvec/scalar.hpp>
#include <blockvec/small_matrix.hpp>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

/// Small arithmetic of a search for the pairs nearest to a target, on the host: unitary matrices Z, so that V Z has
/// approximate eigenvectors of A - target B in front, nearest first, for an orthonormal V with Z_V = (A - target B) V.
namespace blockvec::solvers::nearest {

/// The columns of Z in this order.
template <class Scalar>
void reorder(const SmallMatrix<Scalar>& z, const std::vector<std::int64_t>& order, std::int64_t first = 0) {
  const SmallMatrix<Scalar> from(z.context(), z.rows(), std::ssize(order));
  orth::dense::copy(z.block(0, z.rows(), first, first + from.columns()), from);
  for (std::int64_t j = 0; j < from.columns(); ++j)
    std::copy_n(from.data() + order[static_cast<std::size_t>(j)] * from.ld(), z.rows(),
                z.data() + (first + j) * z.ld());
}

/// Z(:, begin : end) becomes Ritz vectors of its span, nearest to zero first.
template <class Scalar>
void rayleigh_ritz(const SmallMatrix<Scalar>& h, const SmallMatrix<Scalar>& z, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = z.rows(), k = end - begin;
  const auto part = z.block(0, n, begin, end);
  const SmallMatrix<Scalar> image(z.context(), n, k), projected(z.context(), k, k);
  const SmallMatrix<RealOf<Scalar>> values(z.context(), 1, k);
  orth::dense::multiply(Scalar(1), h, false, part, false, Scalar(0), image);
  orth::dense::multiply(Scalar(1), part, true, image, false, Scalar(0), projected);
  orth::dense::eigendecomposition(projected, values, projected);
  orth::dense::multiply(Scalar(1), part, false, projected, false, Scalar(0), image);
  orth::dense::copy(image, part);
  std::vector<std::int64_t> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return std::abs(values.data()[i * values.ld()]) < std::abs(values.data()[j * values.ld()]);
  });
  reorder(z, order, begin);
}

/// Z's columns y as y^H H y.
template <class Scalar>
std::vector<RealOf<Scalar>> rayleigh_quotients(const SmallMatrix<Scalar>& h, const SmallMatrix<Scalar>& z) {
  const SmallMatrix<Scalar> image(z.context(), z.rows(), z.columns()), one(z.context(), 1, 1);
  orth::dense::multiply(Scalar(1), h, false, z, false, Scalar(0), image);
  std::vector<RealOf<Scalar>> values;
  for (std::int64_t j = 0; j < z.columns(); ++j) {
    orth::dense::multiply(Scalar(1), z.block(0, z.rows(), j, j + 1), true, image.block(0, z.rows(), j, j + 1), false,
                          Scalar(0), one);
    values.push_back(real_part(*one.data()));
  }
  return values;
}

/// R with R^H R = F to rounding errors of the columns of Z_V, F = Z_V^H Z_V. V was rotated to the singular vectors that
/// were known before, so that the columns of Z_V differ in length, and with unit length are far from dependent. So F
/// holds all digits of R, however small a singular value is: errors are relative to the columns.
template <class Scalar>
SmallMatrix<Scalar> graded_factor(const SmallMatrix<Scalar>& f) {
  using Real = RealOf<Scalar>;
  const std::int64_t n = f.columns();
  const SmallMatrix<Scalar> r(f.context(), n, n);
  const auto at = [](const auto& a, std::int64_t i, std::int64_t j) -> auto& { return a.data()[i + j * a.ld()]; };
  std::vector<Real> lengths;
  for (std::int64_t j = 0; j < n; ++j) lengths.push_back(std::sqrt(std::max<Real>(0, real_part(at(f, j, j)))));
  // What is added for columns that are dependent all the same, in squares of their lengths.
  for (Real ridge = 4 * static_cast<Real>(n) * epsilon<Real>;; ridge *= 16) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        const Real scale = lengths[static_cast<std::size_t>(i)] * lengths[static_cast<std::size_t>(j)];
        at(r, i, j) = i == j ? Scalar(1 + ridge) : scale > 0 ? at(f, i, j) / scale : Scalar(0);
      }
    }
    const auto found = orth::dense::cholesky(r, epsilon<Real>, r);
    if (!found.finite || found.rank == n) break;  // what is not finite is named by the decomposition that follows
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) at(r, i, j) *= lengths[static_cast<std::size_t>(j)];
  }
  return r;
}

/// Refined extraction: Z are the right singular vectors of (A - target) V, the smallest singular value first. So they
/// come down to the distances of the nearest eigenvalues, as Ritz values do at an end of the spectrum. Vectors of
/// eigenvalues on both sides of the target, equally far, are parted by Rayleigh-Ritz with H = V^H Z_V, as far as the
/// first `lead` ones go. Sources: refined vectors, Jia 1997 (Linear Algebra Appl. 259, 1); of a fixed target, Wu,
/// Romero, Stathopoulos 2017 (SIAM J. Sci. Comput. 39, S248).
template <class Scalar>
void refined_vectors(const SmallMatrix<Scalar>& h, const SmallMatrix<Scalar>& f, std::int64_t lead,
                     const SmallMatrix<Scalar>& z) {
  using Real = RealOf<Scalar>;
  /// Singular values this close, relatively, count as equal: a mixture of two vectors then converges no faster.
  constexpr Real alike = Real(1.01);
  const std::int64_t n = h.columns();
  const auto r = graded_factor(f);
  const SmallMatrix<Real> values(h.context(), 1, n);
  orth::dense::svd(r, r, values, z);
  std::vector<std::int64_t> ascending(static_cast<std::size_t>(n));
  std::iota(ascending.rbegin(), ascending.rend(), 0);
  reorder(z, ascending);
  const auto value = [&](std::int64_t j) { return values.data()[(n - 1 - j) * values.ld()]; };
  for (std::int64_t begin = 0, end = 0; begin < std::min(lead, n); begin = end) {
    while (end < n && value(end) <= alike * value(begin)) ++end;
    if (end - begin > 1) rayleigh_ritz(h, z, begin, end);
  }
}

}  // namespace blockvec::solvers::nearest
