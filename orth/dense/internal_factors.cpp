#include <algorithm>
#include <cmath>
#include <limits>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/dense/internal.hpp"
#include "orth/householder.hpp"

// Factors of the methods, and what is to be known of a factor.
namespace blockvec::orth::dense {

template <class Scalar>
void multiply_upper(const SmallMatrix<Scalar>& u, const SmallMatrix<Scalar>& b) {
  require_square("multiply_upper", "U", u);
  require_shape("multiply_upper", "B", b, u.rows(), b.columns());
  const std::int64_t n = u.rows();
  for (std::int64_t j = 0; j < b.columns(); ++j) {
    for (std::int64_t i = 0; i < n; ++i) {  // row i needs only rows i and below, not yet overwritten
      Scalar sum = Scalar(0);
      for (std::int64_t l = i; l < n; ++l) sum += at(u, i, l) * at(b, l, j);
      at(b, i, j) = sum;
    }
  }
}

template <class Scalar>
RealOf<Scalar> amplification(const SmallMatrix<RealOf<Scalar>>& squares, const SmallMatrix<Scalar>& x) {
  using Real = RealOf<Scalar>;
  require_square("amplification", "X", x);
  require_shape("amplification", "squares", squares, 1, x.columns());
  const std::int64_t n = x.columns();
  if (n == 0) return 1;
  Real sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Real length = at(squares, 0, i) > 0 ? std::sqrt(at(squares, 0, i)) : Real(1);
    for (std::int64_t j = i; j < n; ++j) sum += square(length * at(x, i, j));
  }
  const Real others = static_cast<Real>(n - 1);
  const Real bound = sum - others * others / static_cast<Real>(n);
  return std::isnan(bound) ? std::numeric_limits<Real>::infinity() : std::max(bound, Real(1));
}

template <class Scalar>
RealOf<Scalar> shift_diagonal(const SmallMatrix<Scalar>& g, const SmallMatrix<RealOf<Scalar>>& squares,
                              RealOf<Scalar> factor) {
  using Real = RealOf<Scalar>;
  require_square("shift_diagonal", "G", g);
  require_shape("shift_diagonal", "squares", squares, 1, g.columns());
  Real sum = 0;
  for (std::int64_t j = 0; j < g.columns(); ++j) {
    for (std::int64_t i = 0; i < g.rows(); ++i) {
      const Real lengths = std::sqrt(at(squares, 0, i)) * std::sqrt(at(squares, 0, j));
      if (lengths > 0) sum += square(at(g, i, j) / lengths);
    }
  }
  const Real shift = factor * std::sqrt(sum);
  for (std::int64_t j = 0; j < g.columns(); ++j) at(g, j, j) += Scalar(shift * at(squares, 0, j));
  return shift;
}

template <class Scalar>
CholeskyResult<Scalar> inspect_factor(const SmallMatrix<Scalar>& r, RealOf<Scalar> tolerance,
                                      const SmallMatrix<RealOf<Scalar>>& reference) {
  using Real = RealOf<Scalar>;
  require_square("inspect_factor", "R", r);
  require_shape("inspect_factor", "reference", reference, 1, r.columns());
  CholeskyResult<Scalar> result;
  Real largest = 0, smallest = std::numeric_limits<Real>::infinity();
  for (std::int64_t j = 0; j < r.columns(); ++j) {
    Real length = 0;
    for (std::int64_t i = 0; i <= j; ++i) length += square(at(r, i, j));
    if (!std::isfinite(length)) result.finite = false;
    const Real pivot = magnitude(at(r, j, j));
    if (!(pivot > tolerance * std::sqrt(at(reference, 0, j)))) continue;
    ++result.rank;
    largest = std::max(largest, pivot / std::sqrt(length));
    smallest = std::min(smallest, pivot / std::sqrt(length));
  }
  if (largest > 0) result.condition_estimate = largest / smallest;
  return result;
}

template <class Scalar>
void qr_factor(const SmallMatrix<Scalar>& y, const SmallMatrix<Scalar>& r) {
  struct Rows {};
  const std::int64_t d = y.rows(), n = y.columns();
  require_shape("qr_factor", "R", r, n, n);
  if (d < n) throw ShapeError("dense::qr_factor: Y is " + shape(y) + ", expected at least as many rows as columns");
  Scalar* const rows = work_array<Scalar, Rows>((d + 2) * n);
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = 0; j < n; ++j) rows[i * n + j] = at(y, i, j);
  }
  householder::factor(rows, d, n, rows + d * n, rows + (d + 1) * n);
  for (std::int64_t i = 0; i < n; ++i) {
    householder::make_positive(rows + i * n, i, n);
    for (std::int64_t j = 0; j < n; ++j) at(r, i, j) = j < i ? Scalar(0) : rows[i * n + j];
  }
}

template <class Scalar>
SvqbResult<Scalar> svqb(const SmallMatrix<Scalar>& c, const SmallMatrix<RealOf<Scalar>>& reference,
                        RealOf<Scalar> tolerance, const SmallMatrix<Scalar>& b, const SmallMatrix<Scalar>& r) {
  using Real = RealOf<Scalar>;
  struct Lengths {};
  require_square("svqb", "C", c);
  require_shape("svqb", "reference", reference, 1, c.columns());
  require_shape("svqb", "B", b, c.rows(), c.columns());
  require_shape("svqb", "R", r, c.rows(), c.columns());
  const std::int64_t n = c.columns();
  SvqbResult<Scalar> result;
  if (n == 0) return result;
  Real* const lengths = work_array<Real, Lengths>(2 * n);
  for (std::int64_t j = 0; j < n; ++j) lengths[j] = at(reference, 0, j) > 0 ? std::sqrt(at(reference, 0, j)) : Real(1);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) at(c, i, j) = at(c, i, j) / lengths[i] / lengths[j];
  }
  const SmallMatrix<Real> values(c.context(),
                                 typename SmallMatrix<Real>::View(lengths + n, 1, static_cast<std::size_t>(n)));
  eigendecomposition(c, values, c);
  const Real largest = at(values, 0, n - 1);
  const Real floor = tolerance * largest;
  // A block of zeros has nothing to be lifted to.
  const auto lifted = [&](std::int64_t k) { return largest > 0 ? std::max(at(values, 0, k), floor) : Real(1); };
  for (std::int64_t k = 0; k < n; ++k) {
    if (at(values, 0, k) > floor && largest > 0) ++result.rank;
    const Real root = std::sqrt(lifted(k));
    for (std::int64_t i = 0; i < n; ++i) {
      at(b, i, k) = at(c, i, k) / (lengths[i] * root);
      at(r, k, i) = at(reference, 0, i) > 0 ? conjugate(at(c, i, k)) * (root * lengths[i]) : Scalar(0);
    }
  }
  result.amplification = std::max(Real(1), 1 / lifted(0));
  result.condition_estimate = std::sqrt(std::max(Real(1), lifted(n - 1) / lifted(0)));
  return result;
}

#define BLOCKVEC_DENSE_FACTORS(Scalar)                                                                             \
  template void multiply_upper(const SmallMatrix<Scalar>&, const SmallMatrix<Scalar>&);                            \
  template RealOf<Scalar> amplification(const SmallMatrix<RealOf<Scalar>>&, const SmallMatrix<Scalar>&);           \
  template RealOf<Scalar> shift_diagonal(const SmallMatrix<Scalar>&, const SmallMatrix<RealOf<Scalar>>&,           \
                                         RealOf<Scalar>);                                                          \
  template CholeskyResult<Scalar> inspect_factor(const SmallMatrix<Scalar>&, RealOf<Scalar>,                       \
                                                 const SmallMatrix<RealOf<Scalar>>&);                              \
  template void qr_factor(const SmallMatrix<Scalar>&, const SmallMatrix<Scalar>&);                                 \
  template SvqbResult<Scalar> svqb(const SmallMatrix<Scalar>&, const SmallMatrix<RealOf<Scalar>>&, RealOf<Scalar>, \
                                   const SmallMatrix<Scalar>&, const SmallMatrix<Scalar>&);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_DENSE_FACTORS)

}  // namespace blockvec::orth::dense
