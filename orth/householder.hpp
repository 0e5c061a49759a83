#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "orth/host_dense.hpp"

/// Householder QR of a few rows on the host: n x b, row-major without gaps, entries of columns not much larger than 1
/// (what is smaller than about 1e-140 of that, 1e-12 in single precision, counts as zero). Reflections
/// H_k = I - tau_k v_k v_k^H with v_k(k) = 1 and zeros above, A = H_0 H_1 ... R, as LAPACK has them.
namespace blockvec::orth::householder {

template <class Scalar>
Scalar make_scalar(RealOf<Scalar> re, RealOf<Scalar> im) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {re, im};
  } else {
    return re;
  }
}
template <class Scalar>
RealOf<Scalar> imaginary_part(const Scalar& x) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return x.imag();
  } else {
    return 0;
  }
}

/// C(k:, :) <- (I - tau v v^H) C(k:, :) for the columns from `begin` on, v being column k of A.
template <class Scalar>
void reflect(const Scalar* a, std::int64_t n, std::int64_t b, std::int64_t k, Scalar tau, Scalar* c, std::int64_t begin,
             Scalar* sums) {
  std::copy(c + k * b + begin, c + (k + 1) * b, sums + begin);
  for (std::int64_t i = k + 1; i < n; ++i) {
    const Scalar v = dense::conjugate(a[i * b + k]);
    for (std::int64_t j = begin; j < b; ++j) sums[j] += v * c[i * b + j];
  }
  for (std::int64_t j = begin; j < b; ++j) {
    sums[j] = sums[j] * tau;
    c[k * b + j] -= sums[j];
  }
  for (std::int64_t i = k + 1; i < n; ++i) {
    const Scalar v = a[i * b + k];
    for (std::int64_t j = begin; j < b; ++j) c[i * b + j] -= v * sums[j];
  }
}

/// A <- the v_k below the diagonal, R on and above it; its diagonal is real but where rows end. tau: min(n, b) numbers,
/// sums: scratch of b.
template <class Scalar>
void factor(Scalar* a, std::int64_t n, std::int64_t b, Scalar* tau, Scalar* sums) {
  using Real = RealOf<Scalar>;
  constexpr Real nothing = std::numeric_limits<Real>::min() / (epsilon<Scalar> * epsilon<Scalar>);
  for (std::int64_t k = 0; k < std::min(n, b); ++k) {
    const Scalar alpha = a[k * b + k];
    Real below = 0;
    for (std::int64_t i = k + 1; i < n; ++i) below += dense::square(a[i * b + k]);
    const Real square = below + dense::square(alpha);
    if (below <= nothing && (square <= nothing || imaginary_part(alpha) == 0)) {
      tau[k] = Scalar(0);
      for (std::int64_t i = k + 1; i < n; ++i) a[i * b + k] = Scalar(0);
      continue;
    }
    const Real beta = -std::copysign(std::sqrt(square), dense::real_part(alpha));
    tau[k] = make_scalar<Scalar>((beta - dense::real_part(alpha)) / beta, -imaginary_part(alpha) / beta);
    const Scalar scale = Scalar(1) / (alpha - Scalar(beta));
    for (std::int64_t i = k + 1; i < n; ++i) a[i * b + k] *= scale;
    reflect(a, n, b, k, dense::conjugate(tau[k]), a, k + 1, sums);
    a[k * b + k] = Scalar(beta);
  }
}

/// C <- H_0 H_1 ... C for C as large as A.
template <class Scalar>
void apply(const Scalar* a, std::int64_t n, std::int64_t b, const Scalar* tau, Scalar* c, Scalar* sums) {
  for (std::int64_t k = std::min(n, b) - 1; k >= 0; --k) {
    if (tau[k] != Scalar(0)) reflect(a, n, b, k, tau[k], c, 0, sums);
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
  for (std::int64_t j = k; j < b; ++j) row[j] *= dense::conjugate(phase);
  row[k] = Scalar(size);
  return phase;
}

}  // namespace blockvec::orth::householder
