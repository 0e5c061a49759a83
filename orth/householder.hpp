#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "orth/dense/host_dense.hpp"

/// Householder QR of a few rows on the host: n x b, row-major without gaps, entries of columns not much larger than 1
/// (what is smaller than about 1e-140 of that, 1e-12 in single precision, counts as zero). Reflections
/// H_k = I - (1 - sigma_k) v_k v_k^H with v_k(k) = 1 and zeros above, A = H_0 H_1 ... R. LAPACK keeps tau_k = 1 -
/// sigma_k. Mostly sigma_k is small and is the share of its own entry that a pivot row keeps: kept as such, it loses no
/// digits.
namespace blockvec::orth::householder {

template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar make_scalar(RealOf<Scalar> re, RealOf<Scalar> im) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {re, im};
  } else {
    return re;
  }
}
template <class Scalar>
KOKKOS_INLINE_FUNCTION RealOf<Scalar> imaginary_part(const Scalar& x) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return x.imag();
  } else {
    return 0;
  }
}

/// One reflection acts on a pivot row and `count` rows below it, of length b: v has 1 in the pivot row and column k of
/// `v` in the others. (pivot; below) <- (I - (1 - sigma) v v^H) (pivot; below) for the columns from `begin` on.
template <class Scalar>
void reflect(const Scalar* v, std::int64_t count, std::int64_t b, std::int64_t k, Scalar sigma, Scalar* pivot,
             Scalar* below, std::int64_t begin, Scalar* sums) {
  std::fill(sums + begin, sums + b, Scalar(0));
  for (std::int64_t i = 0; i < count; ++i) {
    const Scalar factor = conjugate(v[i * b + k]);
    for (std::int64_t j = begin; j < b; ++j) sums[j] += factor * below[i * b + j];
  }
  const Scalar tau = Scalar(1) - sigma;
  for (std::int64_t j = begin; j < b; ++j) {
    const Scalar sum = tau * sums[j];
    sums[j] = tau * pivot[j] + sum;
    pivot[j] = sigma * pivot[j] - sum;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const Scalar factor = v[i * b + k];
    for (std::int64_t j = begin; j < b; ++j) below[i * b + j] -= factor * sums[j];
  }
}

/// Column k of the rows below becomes v, pivot[k] the entry of R, and the columns after it follow. Returns sigma.
template <class Scalar>
Scalar eliminate(Scalar* pivot, Scalar* below, std::int64_t count, std::int64_t b, std::int64_t k, Scalar* sums) {
  using Real = RealOf<Scalar>;
  constexpr Real nothing = std::numeric_limits<Real>::min() / (epsilon<Scalar> * epsilon<Scalar>);
  const Scalar alpha = pivot[k];
  Real rest = 0;
  for (std::int64_t i = 0; i < count; ++i) rest += dense::square(below[i * b + k]);
  const Real square = rest + dense::square(alpha);
  if (rest <= nothing && (square <= nothing || imaginary_part(alpha) == 0)) {
    for (std::int64_t i = 0; i < count; ++i) below[i * b + k] = Scalar(0);
    return Scalar(1);
  }
  const Real beta = -std::copysign(std::sqrt(square), real_part(alpha));
  const auto sigma = make_scalar<Scalar>(real_part(alpha) / beta, imaginary_part(alpha) / beta);
  const Scalar scale = Scalar(1) / (alpha - Scalar(beta));
  for (std::int64_t i = 0; i < count; ++i) below[i * b + k] *= scale;
  reflect(below, count, b, k, conjugate(sigma), pivot, below, k + 1, sums);
  pivot[k] = Scalar(beta);
  return sigma;
}

/// A <- the v_k below the diagonal, R on and above it; its diagonal is real but where rows end. sigma: min(n, b)
/// numbers, sums: scratch of b.
template <class Scalar>
void factor(Scalar* a, std::int64_t n, std::int64_t b, Scalar* sigma, Scalar* sums) {
  for (std::int64_t k = 0; k < std::min(n, b); ++k) {
    sigma[k] = eliminate(a + k * b, a + (k + 1) * b, n - k - 1, b, k, sums);
  }
}
/// C <- H_0 H_1 ... C for C as large as A.
template <class Scalar>
void apply(const Scalar* a, std::int64_t n, std::int64_t b, const Scalar* sigma, Scalar* c, Scalar* sums) {
  for (std::int64_t k = std::min(n, b) - 1; k >= 0; --k) {
    if (sigma[k] == Scalar(1)) continue;
    reflect(a + (k + 1) * b, n - k - 1, b, k, sigma[k], c + k * b, c + (k + 1) * b, 0, sums);
  }
}

/// The same for two upper triangles of b rows, one above the other: the lower one gives way to the v_k.
template <class Scalar>
void couple(Scalar* upper, Scalar* lower, std::int64_t b, Scalar* sigma, Scalar* sums) {
  for (std::int64_t k = 0; k < b; ++k) sigma[k] = eliminate(upper + k * b, lower, k + 1, b, k, sums);
}
/// C <- H_0 H_1 ... C, C being b rows at `upper` above b rows at `lower`.
template <class Scalar>
void apply_coupling(const Scalar* v, std::int64_t b, const Scalar* sigma, Scalar* upper, Scalar* lower, Scalar* sums) {
  for (std::int64_t k = b - 1; k >= 0; --k) {
    if (sigma[k] != Scalar(1)) reflect(v, k + 1, b, k, sigma[k], upper + k * b, lower, 0, sums);
  }
}

/// Rows by a binary tree of short pieces. Rounding in sums over n rows of a column goes to the pivot row, whose errors
/// in Q R are then sqrt(n) times those of the others; they also turn columns away from one another. So n is small here,
/// and the R's of neighbours are joined two at a time.
struct Pieces {
  Pieces(std::int64_t rows_, std::int64_t b) : rows(rows_), count(std::max<std::int64_t>(1, rows_ / shortest(b))) {}
  std::int64_t begin(std::int64_t i) const { return rows / count * i + std::min(i, rows % count); }
  std::int64_t sigmas(std::int64_t b) const { return 2 * count * b; }  ///< of the pieces, then of the couplings
  std::int64_t rows, count;

 private:
  /// Fewer rows mean more couplings, each of which works on b rows.
  static std::int64_t shortest(std::int64_t b) { return std::max<std::int64_t>(16, 4 * b); }
};
template <class Scalar>
void factor_by_pieces(Scalar* a, std::int64_t n, std::int64_t b, Scalar* sigma, Scalar* sums) {
  const Pieces pieces(n, b);
  for (std::int64_t i = 0; i < pieces.count; ++i) {
    factor(a + pieces.begin(i) * b, pieces.begin(i + 1) - pieces.begin(i), b, sigma + i * b, sums);
  }
  for (std::int64_t step = 1; step < pieces.count; step *= 2) {
    for (std::int64_t i = step; i < pieces.count; i += 2 * step) {
      couple(a + pieces.begin(i - step) * b, a + pieces.begin(i) * b, b, sigma + (pieces.count + i) * b, sums);
    }
  }
}
/// Below its first b rows, C holds zeros.
template <class Scalar>
void apply_by_pieces(const Scalar* a, std::int64_t n, std::int64_t b, const Scalar* sigma, Scalar* c, Scalar* sums) {
  const Pieces pieces(n, b);
  std::int64_t step = 1;
  while (step < pieces.count) step *= 2;
  for (step /= 2; step > 0; step /= 2) {
    for (std::int64_t i = step; i < pieces.count; i += 2 * step) {
      const std::int64_t upper = pieces.begin(i - step) * b, lower = pieces.begin(i) * b;
      apply_coupling(a + lower, b, sigma + (pieces.count + i) * b, c + upper, c + lower, sums);
    }
  }
  for (std::int64_t i = 0; i < pieces.count; ++i) {
    const std::int64_t begin = pieces.begin(i);
    apply(a + begin * b, pieces.begin(i + 1) - begin, b, sigma + i * b, c + begin * b, sums);
  }
}

/// Row `row` of what stands on and above the diagonal, zeros before.
template <class Scalar>
void copy_upper_row(const Scalar* a, std::int64_t b, std::int64_t row, Scalar* to) {
  std::fill_n(to, std::min(row, b), Scalar(0));
  if (row < b) std::copy(a + row * b + row, a + (row + 1) * b, to + row);
}

/// Multiplies row k of R by the number of modulus 1 that makes its diagonal entry real and not negative; returns that
/// number's conjugate, by which column k of Q is to be multiplied.
template <class Scalar>
Scalar make_positive(Scalar* row, std::int64_t k, std::int64_t b) {
  const RealOf<Scalar> size = dense::magnitude(row[k]);
  if (!(size > 0)) return Scalar(1);
  const Scalar phase = row[k] / size;
  for (std::int64_t j = k; j < b; ++j) row[j] *= conjugate(phase);
  row[k] = Scalar(size);
  return phase;
}

}  // namespace blockvec::orth::householder
