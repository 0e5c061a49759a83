#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/orth/dense.hpp>
#include <limits>
#include <numeric>

#include "blockvec/instantiate.hpp"
#include "orth/host_dense.hpp"

// Double-double matrices. Compiled with -ffp-contract=off (blockvec/kernels/double_double.hpp).
namespace blockvec::orth::dense {
namespace {

// Numbers as DoubleDoubleMatrix's entries are computed with: double or DoubleDouble, and complex numbers of them.
template <class Real>
struct WideComplex {
  Real re{}, im{};
};
template <class Scalar>
struct WideOf {
  using type = Extended<Scalar>;
};
template <class Real>
struct WideOf<Complex<Real>> {
  using type = WideComplex<Extended<Real>>;
};
template <class Scalar>
using Wide = typename WideOf<Scalar>::type;

template <class Real>
WideComplex<Real> operator-(const WideComplex<Real>& a, const WideComplex<Real>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class Real>
WideComplex<Real> operator+(const WideComplex<Real>& a, const WideComplex<Real>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class Real>
WideComplex<Real> operator*(const WideComplex<Real>& a, const WideComplex<Real>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class Real>
WideComplex<Real> operator*(const WideComplex<Real>& a, const Real& b) {
  return {a.re * b, a.im * b};
}
template <class Real>
WideComplex<Real> operator/(const WideComplex<Real>& a, const Real& b) {
  return {a.re / b, a.im / b};
}

double wide_conjugate(double x) { return x; }
DoubleDouble wide_conjugate(const DoubleDouble& x) { return x; }
template <class Real>
WideComplex<Real> wide_conjugate(const WideComplex<Real>& x) {
  return {x.re, -x.im};
}
double wide_square(double x) { return x * x; }
DoubleDouble wide_square(const DoubleDouble& x) { return x * x; }
template <class Real>
Real wide_square(const WideComplex<Real>& x) {
  return x.re * x.re + x.im * x.im;
}
double real_of(double x) { return x; }
DoubleDouble real_of(const DoubleDouble& x) { return x; }
template <class Real>
Real real_of(const WideComplex<Real>& x) {
  return x.re;
}
double root(double x) { return std::sqrt(x); }
DoubleDouble root(const DoubleDouble& x) { return square_root(x); }
double as_double(double x) { return x; }
double as_double(const DoubleDouble& x) { return x.high; }

template <class Scalar, class Space>
Wide<Scalar> wide_at(const DoubleDoubleMatrix<Scalar, Space>& a, std::int64_t i, std::int64_t j) {
  const Scalar& high = at(a.high, i, j);
  const Scalar& low = at(a.low, i, j);
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {extend(high.real(), low.real()), extend(high.imag(), low.imag())};
  } else {
    return extend(high, low);
  }
}

template <class Scalar>
void split_wide(const Wide<Scalar>& x, Scalar& high, Scalar& low) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    split(x.re, high.real(), low.real());
    split(x.im, high.imag(), low.imag());
  } else {
    split(x, high, low);
  }
}
template <class Scalar>
Scalar narrowed(const Wide<Scalar>& x) {
  Scalar high{}, low{};
  split_wide<Scalar>(x, high, low);
  return high;
}

struct CholeskyFactor {};
struct CholeskyReference {};

template <class Scalar, class Space>
bool upper_triangle_is_finite(const SmallMatrix<Scalar, Space>& a) {
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      if (!finite(at(a, i, j))) return false;
    }
  }
  return true;
}

// Column by column: of the columns that are left, in their order or the one with the largest pivot in terms of its
// reference, until one falls to the tolerance. order[k]: the column that was taken as k-th.
template <class Scalar, class Space>
CholeskyResult<Scalar> factorize(const DoubleDoubleMatrix<Scalar, Space>& g, RealOf<Scalar> tolerance,
                                 const SmallMatrix<Scalar, Space>& r,
                                 const SmallMatrix<RealOf<Scalar>, Space>* reference, bool pivots,
                                 std::int64_t* order) {
  using Real = RealOf<Scalar>;
  using WideReal = decltype(real_of(Wide<Scalar>{}));
  const std::int64_t n = g.columns();
  CholeskyResult<Scalar> result;
  result.finite = upper_triangle_is_finite(g.high);
  if (!result.finite) return result;
  // Row k of the factor at factor + k n, its columns numbered as G's; what the pivots have come to behind it.
  auto* const factor = work_array<Wide<Scalar>, CholeskyFactor>(n * n);
  auto* const left = work_array<WideReal, CholeskyReference>(n);
  std::iota(order, order + n, std::int64_t{0});
  for (std::int64_t j = 0; j < n; ++j) left[j] = real_of(wide_at(g, j, j));
  const auto length = [&](std::int64_t j) {
    return static_cast<double>(reference != nullptr ? at(*reference, 0, j) : real_part(at(g.high, j, j)));
  };
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (std::int64_t k = 0; k < n; ++k) {
    if (pivots) {
      const auto share = [&](std::int64_t j) { return length(j) > 0 ? as_double(left[j]) / length(j) : -1.0; };
      auto* const best =
          std::max_element(order + k, order + n, [&](std::int64_t i, std::int64_t j) { return share(i) < share(j); });
      std::swap(order[k], *best);
    }
    const std::int64_t j = order[k];
    if (!(as_double(left[j]) > std::max(static_cast<double>(tolerance) * length(j), 0.0))) break;
    const WideReal pivot = root(left[j]);
    Wide<Scalar>* const row = factor + k * n;
    for (std::int64_t l = k + 1; l < n; ++l) {
      const std::int64_t i = order[l];
      Wide<Scalar> sum = j < i ? wide_at(g, j, i) : wide_conjugate(wide_at(g, i, j));
      for (std::int64_t p = 0; p < k; ++p) sum = sum - wide_conjugate(factor[p * n + j]) * factor[p * n + i];
      row[i] = sum / pivot;
      left[i] = left[i] - wide_square(row[i]);
    }
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      row[j] = {pivot, WideReal{}};
    } else {
      row[j] = pivot;
    }
    const double share = as_double(pivot) / std::sqrt(static_cast<double>(real_part(at(g.high, j, j))));
    largest = std::max(largest, share);
    smallest = std::min(smallest, share);
    result.rank = k + 1;
  }
  for (std::int64_t l = 0; l < n; ++l) {
    for (std::int64_t k = 0; k < n; ++k) {
      at(r, k, l) = k <= l && k < result.rank ? narrowed<Scalar>(factor[k * n + order[l]]) : Scalar(0);
    }
  }
  if (largest > 0) result.condition_estimate = static_cast<Real>(largest / smallest);
  return result;
}

}  // namespace

template <class Scalar, class Space>
CholeskyResult<Scalar> cholesky_dd(const DoubleDoubleMatrix<Scalar, Space>& g, RealOf<Scalar> tolerance,
                                   const SmallMatrix<Scalar, Space>& r,
                                   const SmallMatrix<RealOf<Scalar>, Space>* reference, std::int64_t* order) {
  using Real = RealOf<Scalar>;
  require_square("cholesky_dd", "G", g.high);
  require_shape("cholesky_dd", "G's lower half", g.low, g.rows(), g.columns());
  require_shape("cholesky_dd", "R", r, g.rows(), g.columns());
  if (reference != nullptr) require_shape("cholesky_dd", "reference", *reference, 1, g.columns());
  if constexpr (!is_host_space<Space>) {
    const SmallMatrix<Real, Space> none(g.context(), {});
    return on_host(
        [&](const auto& high, const auto& low, const auto& to, const auto& lengths) {
          return cholesky_dd(DoubleDoubleMatrix<Scalar>{high, low}, tolerance, to,
                             reference != nullptr ? &lengths : nullptr, order);
        },
        reads(g.high), reads(g.low), writes(r), reads(reference != nullptr ? *reference : none));
  } else {
    struct Order {};
    const bool pivots = order != nullptr;
    return factorize(g, tolerance, r, reference, pivots, pivots ? order : work_array<std::int64_t, Order>(g.columns()));
  }
}

template <class Scalar, class Space>
void multiply_dd(RealOf<Scalar> alpha, const DoubleDoubleMatrix<Scalar, Space>& a, bool conjugate_a,
                 const DoubleDoubleMatrix<Scalar, Space>& b, RealOf<Scalar> beta,
                 const DoubleDoubleMatrix<Scalar, Space>& c) {
  const std::int64_t m = conjugate_a ? a.columns() : a.rows();
  const std::int64_t inner = conjugate_a ? a.rows() : a.columns();
  if (inner != b.rows()) {
    throw ShapeError("dense::multiply_dd: A is " + shape(a.high) + (conjugate_a ? " (conjugated)" : "") + ", B is " +
                     shape(b.high) + ", expected inner extents that agree");
  }
  for (const auto* x : {&a, &b, &c}) require_shape("multiply_dd", "a lower half", x->low, x->rows(), x->columns());
  require_shape("multiply_dd", "C", c.high, m, b.columns());
  if constexpr (!is_host_space<Space>) {
    using Pair = DoubleDoubleMatrix<Scalar>;
    return on_host(
        [&](const auto& ah, const auto& al, const auto& bh, const auto& bl, const auto& ch, const auto& cl) {
          multiply_dd<Scalar, Kokkos::HostSpace>(alpha, Pair{ah, al}, conjugate_a, Pair{bh, bl}, beta, Pair{ch, cl});
        },
        reads(a.high), reads(a.low), reads(b.high), reads(b.low), updates(c.high), updates(c.low));
  } else {
    using WideReal = decltype(real_of(Wide<Scalar>{}));
    const auto wide_alpha = WideReal{static_cast<double>(alpha)}, wide_beta = WideReal{static_cast<double>(beta)};
    for (std::int64_t j = 0; j < b.columns(); ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        Wide<Scalar> sum{};
        for (std::int64_t l = 0; l < inner; ++l) {
          sum = sum + (conjugate_a ? wide_conjugate(wide_at(a, l, i)) : wide_at(a, i, l)) * wide_at(b, l, j);
        }
        sum = sum * wide_alpha;
        if (beta != RealOf<Scalar>(0)) sum = sum + wide_at(c, i, j) * wide_beta;
        split_wide<Scalar>(sum, at(c.high, i, j), at(c.low, i, j));
      }
    }
  }
}

#define BLOCKVEC_DENSE_DD(Scalar, Space)                                                                 \
  template CholeskyResult<Scalar> cholesky_dd(const DoubleDoubleMatrix<Scalar, Space>&, RealOf<Scalar>,  \
                                              const SmallMatrix<Scalar, Space>&,                         \
                                              const SmallMatrix<RealOf<Scalar>, Space>*, std::int64_t*); \
  template void multiply_dd(RealOf<Scalar>, const DoubleDoubleMatrix<Scalar, Space>&, bool,              \
                            const DoubleDoubleMatrix<Scalar, Space>&, RealOf<Scalar>,                    \
                            const DoubleDoubleMatrix<Scalar, Space>&);
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_DENSE_DD)

}  // namespace blockvec::orth::dense
