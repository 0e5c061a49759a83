#pragma once

#include <cstdint>

/// Scalars as device code sees them. Every operand is a matrix of real numbers there. A complex operand has its real
/// and imaginary parts alternate; products of such real views hold all that complex products need.
namespace blockvec::kernels::cuda {

/// alpha or beta in device code, for every scalar type. It is double because sums are kept in double precision.
struct Factor {
  double re;
  double im;
  __host__ __device__ bool is_zero() const { return re == 0 && im == 0; }
};

/// factor times x. A real factor multiplies the two parts of x separately, so that Inf stays Inf.
__device__ inline Factor scale(Factor factor, Factor x) {
  if (factor.im == 0) return {factor.re * x.re, factor.re * x.im};
  return {factor.re * x.re - factor.im * x.im, factor.re * x.im + factor.im * x.re};
}

/// Adds beta times two old numbers of B to two results. In single precision there is a single rounding: the product
/// alone need not fit.
template <class Sum, class Real>
__device__ inline void add_old(Sum& first, Sum& second, Real old_first, Real old_second, Factor beta) {
  if constexpr (sizeof(Sum) == 4) {
    if (beta.im == 0) {
      first = fmaf(static_cast<float>(beta.re), old_first, first);
      second = fmaf(static_cast<float>(beta.re), old_second, second);
      return;
    }
  }
  const Factor scaled = scale(beta, {static_cast<double>(old_first), static_cast<double>(old_second)});
  first = static_cast<Sum>(first + scaled.re);
  second = static_cast<Sum>(second + scaled.im);
}

/// alpha or beta of a call: a host value, or a value in device memory that is read when the kernel runs.
template <class Real>
struct Coefficient {
  Factor value;
  const Real* device;  ///< real and imaginary part; null: `value` counts
  int parts;

  __device__ Factor read() const {
    if (device == nullptr) return value;
    return {static_cast<double>(device[0]), parts == 2 ? static_cast<double>(device[1]) : 0.0};
  }
};

}  // namespace blockvec::kernels::cuda
