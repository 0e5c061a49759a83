#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "orth/dense/host_dense.hpp"

/// Decompositions of small matrices by cyclic Jacobi rotations: loops that give the same bits on every processor.
/// Matrices are column-major without gaps.
namespace blockvec::orth::dense {

/// From here on LAPACK is quicker than rotations by more than a message between ranks takes.
inline constexpr std::int64_t widest_by_rotations = 32;

/// J = [c, s phase; -s conj(phase), c] that makes J^H [left, entry; conj(entry), right] J diagonal: left - t |entry|
/// and right + t |entry| stand there. Source: Golub, Van Loan 2013, section 8.5.
template <class Scalar>
struct Rotation {
  using Real = RealOf<Scalar>;

  /// `size`: |entry|, not zero.
  Rotation(Real left, Real right, const Scalar& entry, Real size) {
    const Real ratio = (right - left) / (2 * size);
    const Real far = std::abs(ratio);  // from 1 / eps on, its square does not see the 1, and may leave the range
    const Real root = far < 1 / epsilon<Scalar> ? std::sqrt(1 + ratio * ratio) : far;
    t = std::copysign(Real(1), ratio) / (far + root);
    c = 1 / std::sqrt(1 + t * t);
    s_phase = entry / size * (t * c);
  }
  /// [x_p, x_q] <- [x_p, x_q] J, columns of n entries.
  void apply(std::int64_t n, Scalar* x_p, Scalar* x_q) const {
    const Scalar back = conjugate(s_phase);
    for (std::int64_t k = 0; k < n; ++k) {
      const Scalar left = x_p[k], right = x_q[k];
      x_p[k] = left * c - right * back;
      x_q[k] = left * s_phase + right * c;
    }
  }

  Real t, c;
  Scalar s_phase;
};

/// Rotations are tried for so many sweeps over all pairs of columns.
inline constexpr int most_sweeps = 60;

/// Eigenvalues and eigenvectors of a small Hermitian matrix. A and Z are n x n, A with both triangles set. Afterwards
/// A's diagonal holds the eigenvalues, ascending, and Z's columns their eigenvectors. Error: a few n eps ||A||, less
/// for graded matrices. False: no convergence. About 7 sweeps of 6 n^3 products. Source: Golub, Van Loan 2013,
/// section 8.5.
template <class Scalar>
bool diagonalize_by_rotations(std::int64_t n, Scalar* a, Scalar* z) {
  using Real = RealOf<Scalar>;
  const auto diagonal_entry = [&](std::int64_t i) { return real_part(a[i + i * n]); };
  Real largest = 0;
  for (std::int64_t j = 0; j < n * n; ++j) {
    largest = std::max(largest, magnitude(a[j]));
    z[j] = Scalar(j % n == j / n ? 1 : 0);
  }
  const Real nothing = epsilon<Scalar> * epsilon<Scalar> * largest;
  bool rotated = true;
  for (int sweep = 0; sweep < most_sweeps && rotated; ++sweep) {
    rotated = false;
    for (std::int64_t q = 1; q < n; ++q) {
      for (std::int64_t p = 0; p < q; ++p) {
        const Scalar entry = a[p + q * n];
        const Real size = magnitude(entry), left = diagonal_entry(p), right = diagonal_entry(q);
        const Real both = std::sqrt(std::abs(left)) * std::sqrt(std::abs(right));
        if (!(size > std::max(epsilon<Scalar> * both, nothing))) continue;
        rotated = true;
        const Rotation<Scalar> rotation(left, right, entry, size);
        rotation.apply(n, a + p * n, a + q * n);
        rotation.apply(n, z + p * n, z + q * n);
        for (std::int64_t k = 0; k < n; ++k) {
          a[p + k * n] = conjugate(a[k + p * n]);
          a[q + k * n] = conjugate(a[k + q * n]);
        }
        a[p + p * n] = Scalar(left - rotation.t * size);
        a[q + q * n] = Scalar(right + rotation.t * size);
        a[p + q * n] = a[q + p * n] = Scalar(0);
      }
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t least = j;
    for (std::int64_t i = j + 1; i < n; ++i) {
      if (diagonal_entry(i) < diagonal_entry(least)) least = i;
    }
    if (least == j) continue;
    std::swap(a[j + j * n], a[least + least * n]);
    for (std::int64_t k = 0; k < n; ++k) std::swap(z[k + j * n], z[k + least * n]);
  }
  return !rotated;
}

template <class Scalar>
RealOf<Scalar> squared_length(std::int64_t m, const Scalar* x) {
  RealOf<Scalar> sum = 0;
  for (std::int64_t i = 0; i < m; ++i) sum += square(x[i]);
  return sum;
}
/// x^H y.
template <class Scalar>
Scalar dot(std::int64_t m, const Scalar* x, const Scalar* y) {
  Scalar sum = Scalar(0);
  for (std::int64_t i = 0; i < m; ++i) sum += conjugate(x[i]) * y[i];
  return sum;
}

/// Sets columns [begin, n) of X (m x n, m >= n), of which those before are orthonormal, so that all are: unit vectors
/// of the rows of which the others have the least, orthogonalised twice.
template <class Scalar>
void complete_orthonormal(std::int64_t m, std::int64_t n, std::int64_t begin, Scalar* x) {
  using Real = RealOf<Scalar>;
  for (std::int64_t j = begin; j < n; ++j) {
    std::int64_t row = 0;
    Real least = std::numeric_limits<Real>::infinity();
    for (std::int64_t i = 0; i < m; ++i) {
      Real length = 0;
      for (std::int64_t l = 0; l < j; ++l) length += square(x[i + l * m]);
      if (length < least) row = i;
      least = std::min(least, length);
    }
    Scalar* const column = x + j * m;
    std::fill_n(column, m, Scalar(0));
    column[row] = Scalar(1);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t l = 0; l < j; ++l) {
        const Scalar* const other = x + l * m;
        const Scalar part = dot(m, other, column);
        for (std::int64_t i = 0; i < m; ++i) column[i] -= other[i] * part;
      }
      const Real length = std::sqrt(squared_length(m, column));
      for (std::int64_t i = 0; i < m; ++i) column[i] = column[i] / length;
    }
  }
}

/// The singular value decomposition X = U diag(values) V^H of a small X (m x n, m >= n) with entries not much larger
/// than 1, by rotations of pairs of its columns until all are orthogonal. U takes X's place; V is n x n; values (n)
/// descend. Values whose squares leave the type's range count as zeros. Error: a few n eps ||X||, less where columns
/// are of different lengths. False: no convergence. About 7 sweeps of n^2 (7 m + 4 n) / 2 products. Source: Demmel,
/// Veselic 1992, SIAM J. Matrix Anal. Appl. 13(4).
template <class Scalar>
bool decompose_by_rotations(std::int64_t m, std::int64_t n, Scalar* x, RealOf<Scalar>* values, Scalar* v) {
  using Real = RealOf<Scalar>;
  const Real tolerance = epsilon<Scalar> * std::sqrt(static_cast<Real>(m));  // what rounding leaves of a dot product
  const Real nothing = std::numeric_limits<Real>::min() / epsilon<Scalar>;
  for (std::int64_t j = 0; j < n * n; ++j) v[j] = Scalar(j % n == j / n ? 1 : 0);
  bool rotated = true;
  for (int sweep = 0; sweep < most_sweeps && rotated; ++sweep) {
    rotated = false;
    for (std::int64_t q = 1; q < n; ++q) {
      for (std::int64_t p = 0; p < q; ++p) {
        Scalar* const x_p = x + p * m;
        Scalar* const x_q = x + q * m;
        const Real left = squared_length(m, x_p), right = squared_length(m, x_q);
        if (!(left > nothing) || !(right > nothing)) continue;
        const Scalar entry = dot(m, x_p, x_q);
        const Real size = magnitude(entry);
        if (!(size > tolerance * std::sqrt(left) * std::sqrt(right))) continue;
        rotated = true;
        const Rotation<Scalar> rotation(left, right, entry, size);
        rotation.apply(m, x_p, x_q);
        rotation.apply(n, v + p * n, v + q * n);
      }
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    const Real length = squared_length(m, x + j * m);
    values[j] = length > nothing ? std::sqrt(length) : Real(0);
  }
  std::int64_t rank = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t most = std::max_element(values + j, values + n) - values;
    if (most != j) {
      std::swap(values[j], values[most]);
      std::swap_ranges(x + j * m, x + (j + 1) * m, x + most * m);
      std::swap_ranges(v + j * n, v + (j + 1) * n, v + most * n);
    }
    if (!(values[j] > 0)) continue;
    for (std::int64_t i = 0; i < m; ++i) x[i + j * m] = x[i + j * m] / values[j];
    rank = j + 1;
  }
  complete_orthonormal(m, n, rank, x);
  return !rotated;
}

}  // namespace blockvec::orth::dense
