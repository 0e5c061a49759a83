#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "orth/host_dense.hpp"

namespace blockvec::orth::dense {

/// Eigenvalues and eigenvectors of a small Hermitian matrix by cyclic Jacobi rotations: loops that give the same bits
/// on every processor. A and Z are n x n, column-major without gaps, A with both triangles set. Afterwards A's diagonal
/// holds the eigenvalues, ascending, and Z's columns their eigenvectors. Error: a few n eps ||A||, less for graded
/// matrices. False: no convergence. About 7 sweeps of 6 n^3 products. Source: Golub, Van Loan 2013, section 8.5.
template <class Scalar>
bool diagonalize_by_rotations(std::int64_t n, Scalar* a, Scalar* z) {
  using Real = RealOf<Scalar>;
  constexpr int most_sweeps = 60;
  const auto diagonal = [&](std::int64_t i) { return real_part(a[i + i * n]); };
  Real largest = 0;
  for (std::int64_t j = 0; j < n * n; ++j) {
    largest = std::max(largest, magnitude(a[j]));
    z[j] = Scalar(j % n == j / n ? 1 : 0);
  }
  const Real nothing = epsilon<Scalar> * epsilon<Scalar> * largest;
  // Columns p and q of X <- those of X J, J = [c, s phase; -s conj(phase), c].
  const auto rotate = [&](Scalar* x, std::int64_t p, std::int64_t q, Real c, const Scalar& s_phase) {
    const Scalar back = conjugate(s_phase);
    Scalar* const x_p = x + p * n;
    Scalar* const x_q = x + q * n;
    for (std::int64_t k = 0; k < n; ++k) {
      const Scalar left = x_p[k], right = x_q[k];
      x_p[k] = left * c - right * back;
      x_q[k] = left * s_phase + right * c;
    }
  };
  bool rotated = true;
  for (int sweep = 0; sweep < most_sweeps && rotated; ++sweep) {
    rotated = false;
    for (std::int64_t q = 1; q < n; ++q) {
      for (std::int64_t p = 0; p < q; ++p) {
        const Scalar entry = a[p + q * n];
        const Real size = magnitude(entry), left = diagonal(p), right = diagonal(q);
        const Real both = std::sqrt(std::abs(left)) * std::sqrt(std::abs(right));
        if (!(size > std::max(epsilon<Scalar> * both, nothing))) continue;
        rotated = true;
        const Real ratio = (right - left) / (2 * size);
        const Real t = std::copysign(Real(1), ratio) / (std::abs(ratio) + std::sqrt(1 + ratio * ratio));
        const Real c = 1 / std::sqrt(1 + t * t);
        const Scalar s_phase = entry / size * (t * c);
        rotate(a, p, q, c, s_phase);
        rotate(z, p, q, c, s_phase);
        for (std::int64_t k = 0; k < n; ++k) {
          a[p + k * n] = conjugate(a[k + p * n]);
          a[q + k * n] = conjugate(a[k + q * n]);
        }
        a[p + p * n] = Scalar(left - t * size);
        a[q + q * n] = Scalar(right + t * size);
        a[p + q * n] = a[q + p * n] = Scalar(0);
      }
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t least = j;
    for (std::int64_t i = j + 1; i < n; ++i) {
      if (diagonal(i) < diagonal(least)) least = i;
    }
    if (least == j) continue;
    std::swap(a[j + j * n], a[least + least * n]);
    for (std::int64_t k = 0; k < n; ++k) std::swap(z[k + j * n], z[k + least * n]);
  }
  return !rotated;
}

}  // namespace blockvec::orth::dense
