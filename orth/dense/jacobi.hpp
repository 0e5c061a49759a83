#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "orth/host_dense.hpp"

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

}  // namespace blockvec::orth::dense
