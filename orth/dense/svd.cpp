#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <cmath>
#include <limits>

#include "blockvec/instantiate.hpp"
#include "orth/dense/first_rank.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/dense/jacobi.hpp"
#include "orth/dense/lapack.hpp"

namespace blockvec::orth::dense {
namespace {

struct SvdGiven {};
struct SvdFactors {};
struct SvdValues {};

/// The largest part, real or imaginary, of an entry.
template <class Scalar, class Space>
RealOf<Scalar> largest_part(const SmallMatrix<Scalar, Space>& a) {
  RealOf<Scalar> largest = 0;
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        largest = std::max({largest, std::abs(at(a, i, j).real()), std::abs(at(a, i, j).imag())});
      } else {
        largest = std::max(largest, std::abs(at(a, i, j)));
      }
    }
  }
  return largest;
}

/// The power of two that brings `largest` near to 1; it and its inverse are normal numbers.
template <class Real>
Real scale_to_one(Real largest) {
  using Limits = std::numeric_limits<Real>;
  if (!(largest > 0)) return 1;
  return std::ldexp(Real(1), std::clamp(-std::ilogb(largest), Limits::min_exponent + 1, Limits::max_exponent - 2));
}

template <class Scalar, class Space>
[[noreturn]] void fail(const SmallMatrix<Scalar, Space>& a, const std::string& what) {
  throw Error("dense::svd: " + what + " for A (" + shape(a) + ")");
}

/// Of A, or of A^H where that has the fewer columns: its U is then A's V.
template <class Scalar, class Space>
void svd_by_rotations(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& u,
                      const SmallMatrix<RealOf<Scalar>, Space>& values, const SmallMatrix<Scalar, Space>& v) {
  using Real = RealOf<Scalar>;
  const bool tall = a.rows() >= a.columns();
  const std::int64_t m = std::max(a.rows(), a.columns()), n = std::min(a.rows(), a.columns());
  Scalar* const x = work_array<Scalar, SvdFactors>(m * n + n * n);
  Scalar* const y = x + m * n;
  Real* const lengths = work_array<Real, SvdValues>(n);
  const Real scale = scale_to_one(largest_part(a));  // squares stay in range
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) x[i + j * m] = (tall ? at(a, i, j) : conjugate(at(a, j, i))) * scale;
  }
  if (!decompose_by_rotations(m, n, x, lengths, y)) fail(a, "rotations did not converge");
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) at(tall ? u : v, i, j) = x[i + j * m];
    for (std::int64_t i = 0; i < n; ++i) at(tall ? v : u, i, j) = y[i + j * n];
    at(values, 0, j) = lengths[j] / scale;
  }
}

template <class Scalar, class Space>
void svd_by_lapack(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& u,
                   const SmallMatrix<RealOf<Scalar>, Space>& values, const SmallMatrix<Scalar, Space>& v) {
  using Real = RealOf<Scalar>;
  constexpr std::int64_t reals = sizeof(Scalar) / sizeof(Real);
  const std::int64_t m = a.rows(), n = a.columns(), k = std::min(m, n);
  // U, then V^H, then the singular values.
  Scalar* const left = work_array<Scalar, SvdFactors>((m + n) * k + k);
  Scalar* const right = left + m * k;
  const Real* const lengths = reinterpret_cast<const Real*>(right + n * k);
  on_first_rank(a.context(), (m + n) * k * reals + k, reinterpret_cast<Real*>(left), [&](Real* numbers) {
    Scalar* const given = work_array<Scalar, SvdGiven>(m * n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) given[i + j * m] = at(a, i, j);
    }
    Scalar* const to = reinterpret_cast<Scalar*>(numbers);
    const int info = call_gesdd(static_cast<lapack_int>(m), static_cast<lapack_int>(n), given,
                                numbers + (m + n) * k * reals, to, to + m * k);
    if (info != 0) fail(a, "LAPACK's gesdd ended with info = " + std::to_string(info));
  });
  for (std::int64_t j = 0; j < k; ++j) {
    for (std::int64_t i = 0; i < m; ++i) at(u, i, j) = left[i + j * m];
    for (std::int64_t i = 0; i < n; ++i) at(v, i, j) = conjugate(right[j + i * k]);
    at(values, 0, j) = lengths[j];
  }
}

}  // namespace

template <class Scalar, class Space>
void svd(const SmallMatrix<Scalar, Space>& a, const SmallMatrix<Scalar, Space>& u,
         const SmallMatrix<RealOf<Scalar>, Space>& values, const SmallMatrix<Scalar, Space>& v) {
  const std::int64_t k = std::min(a.rows(), a.columns());
  require_shape("svd", "U", u, a.rows(), k);
  require_shape("svd", "values", values, 1, k);
  require_shape("svd", "V", v, a.columns(), k);
  if constexpr (!is_host_space<Space>) {
    return on_host(
        [&](const auto& from, const auto& to_u, const auto& s, const auto& to_v) { return svd(from, to_u, s, to_v); },
        reads(a), writes(u), writes(values), writes(v));
  }
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      if (!finite(at(a, i, j))) {
        throw NotFiniteError("dense::svd: A (" + shape(a) + ") holds NaN or Inf in column " + std::to_string(j));
      }
    }
  }
  if (k == 0) return;
  if (k <= widest_by_rotations) {
    svd_by_rotations(a, u, values, v);
  } else {
    svd_by_lapack(a, u, values, v);
  }
}

#define BLOCKVEC_DENSE_SVD(Scalar, Space)                                                 \
  template void svd(const SmallMatrix<Scalar, Space>&, const SmallMatrix<Scalar, Space>&, \
                    const SmallMatrix<RealOf<Scalar>, Space>&, const SmallMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_SVD)

}  // namespace blockvec::orth::dense
