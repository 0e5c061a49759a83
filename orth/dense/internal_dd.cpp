#include <algorithm>
#include <limits>
#include <numeric>

#include "blockvec/instantiate.hpp"
#include "orth/dense/host_dense.hpp"
#include "orth/dense/internal.hpp"

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

template <class Scalar>
Wide<Scalar> wide_at(const DoubleDoubleMatrix<Scalar>& a, std::int64_t i, std::int64_t j) {
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

template <class Scalar>
bool upper_triangle_is_finite(const SmallMatrix<Scalar>& a) {
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      if (!finite(at(a, i, j))) return false;
    }
  }
  return true;
}

// Column by column: of the columns that are left, in their order or the one with the largest pivot in terms of its
// reference, until one falls to the tolerance. order[k]: the column that was taken as k-th.
template <class Scalar>
CholeskyResult<Scalar> factorize(const DoubleDoubleMatrix<Scalar>& g, RealOf<Scalar> tolerance,
                                 const SmallMatrix<Scalar>& r, const SmallMatrix<RealOf<Scalar>>* reference,
                                 bool pivots, std::int64_t* order) {
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

template <class Scalar>
CholeskyResult<Scalar> cholesky_dd(const DoubleDoubleMatrix<Scalar>& g, RealOf<Scalar> tolerance,
                                   const SmallMatrix<Scalar>& r, const SmallMatrix<RealOf<Scalar>>* reference,
                                   std::int64_t* order) {
  require_square("cholesky_dd", "G", g.high);
  require_shape("cholesky_dd", "G's lower half", g.low, g.rows(), g.columns());
  require_shape("cholesky_dd", "R", r, g.rows(), g.columns());
  if (reference != nullptr) require_shape("cholesky_dd", "reference", *reference, 1, g.columns());
  struct Order {};
  const bool pivots = order != nullptr;
  return factorize(g, tolerance, r, reference, pivots, pivots ? order : work_array<std::int64_t, Order>(g.columns()));
}

template <class Scalar>
void multiply_dd(RealOf<Scalar> alpha, const DoubleDoubleMatrix<Scalar>& a, bool conjugate_a,
                 const DoubleDoubleMatrix<Scalar>& b, RealOf<Scalar> beta, const DoubleDoubleMatrix<Scalar>& c) {
  const std::int64_t m = conjugate_a ? a.columns() : a.rows();
  const std::int64_t inner = conjugate_a ? a.rows() : a.columns();
  if (inner != b.rows()) {
    throw ShapeError("dense::multiply_dd: A is " + shape(a.high) + (conjugate_a ? " (conjugated)" : "") + ", B is " +
                     shape(b.high) + ", expected inner extents that agree");
  }
  for (const auto* x : {&a, &b, &c}) require_shape("multiply_dd", "a lower half", x->low, x->rows(), x->columns());
  require_shape("multiply_dd", "C", c.high, m, b.columns());
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

template <class Scalar>
void defect_from_identity(const DoubleDoubleMatrix<Scalar>& t, const SmallMatrix<Scalar>& d, std::int64_t first) {
  require_square("defect_from_identity", "D", d);
  require_shape("defect_from_identity", "T", t, d.rows(), d.columns() - first);
  for (std::int64_t column = 0; column < t.columns(); ++column) {
    const std::int64_t j = first + column;
    for (std::int64_t i = 0; i <= j; ++i) {
      const Scalar value = (at(t.high, i, column) - Scalar(i == j ? 1 : 0)) + at(t.low, i, column);
      at(d, i, j) = value;
      at(d, j, i) = conjugate(value);
    }
  }
}

template <class Scalar>
void subtract(const SmallMatrix<Scalar>& a, const DoubleDoubleMatrix<Scalar>& b) {
  require_shape("subtract", "B", b, a.rows(), a.columns());
  const auto subtract_real = [](RealOf<Scalar> x, RealOf<Scalar>& high, RealOf<Scalar>& low) {
    split(extend(high, low) - extend(x, RealOf<Scalar>(0)), high, low);
  };
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      const Scalar& x = at(a, i, j);
      Scalar& high = at(b.high, i, j);
      Scalar& low = at(b.low, i, j);
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        subtract_real(x.real(), high.real(), low.real());
        subtract_real(x.imag(), high.imag(), low.imag());
      } else {
        subtract_real(x, high, low);
      }
    }
  }
}

#define BLOCKVEC_DENSE_DD(Scalar)                                                                                  \
  template CholeskyResult<Scalar> cholesky_dd(const DoubleDoubleMatrix<Scalar>&, RealOf<Scalar>,                   \
                                              const SmallMatrix<Scalar>&, const SmallMatrix<RealOf<Scalar>>*,      \
                                              std::int64_t*);                                                      \
  template void multiply_dd(RealOf<Scalar>, const DoubleDoubleMatrix<Scalar>&, bool,                               \
                            const DoubleDoubleMatrix<Scalar>&, RealOf<Scalar>, const DoubleDoubleMatrix<Scalar>&); \
  template void defect_from_identity(const DoubleDoubleMatrix<Scalar>&, const SmallMatrix<Scalar>&, std::int64_t); \
  template void subtract(const SmallMatrix<Scalar>&, const DoubleDoubleMatrix<Scalar>&);
BLOCKVEC_FOR_SCALARS(BLOCKVEC_DENSE_DD)

}  // namespace blockvec::orth::dense
