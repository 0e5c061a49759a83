#pragma once

#include <cmath>

#if defined(__CUDACC__)
#define BLOCKVEC_HOST_DEVICE __host__ __device__
#else
#define BLOCKVEC_HOST_DEVICE
#endif

/// @file
/// Double-double arithmetic: a number as the unevaluated sum of two, with 106 bits instead of 53. Rounding to nearest
/// is taken for granted, and that the compiler leaves products and sums as they are written: files that multiply with
/// this are compiled with -ffp-contract=off.
/// Sources: Dekker 1971, Knuth (two_sum), Ogita, Rump, Oishi 2005, Joldes, Muller, Popescu 2017 (error bounds).
namespace blockvec {

/// high + low; |low| is at most half a unit in the last place of high.
struct DoubleDouble {
  double high = 0;  ///< the number, rounded
  double low = 0;   ///< what rounding left out
};

/// a + b exactly.
BLOCKVEC_HOST_DEVICE inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// a + b exactly, for |a| >= |b| or a = 0.
BLOCKVEC_HOST_DEVICE inline DoubleDouble quick_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// a b exactly, except for underflow.
BLOCKVEC_HOST_DEVICE inline DoubleDouble two_product(double a, double b) {
#ifdef __CUDA_ARCH__
  const double product = __dmul_rn(a, b);
#else
  const double product = a * b;
#endif
  return {product, std::fma(a, b, -product)};
}

/// Relative error at most 3 u^2, where |a| + |b| is not much larger than |a + b|; in any case 3 u^2 (|a| + |b|).
/// Commutative to the last bit.
BLOCKVEC_HOST_DEVICE inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = two_sum(a.high, b.high);
  const DoubleDouble low = two_sum(a.low, b.low);
  const DoubleDouble sum = quick_two_sum(high.high, high.low + low.high);
  return quick_two_sum(sum.high, sum.low + low.low);
}
/// Exactly.
BLOCKVEC_HOST_DEVICE inline DoubleDouble operator-(const DoubleDouble& a) { return {-a.high, -a.low}; }
/// As a sum.
BLOCKVEC_HOST_DEVICE inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }

/// Relative error at most 5 u^2.
BLOCKVEC_HOST_DEVICE inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = two_product(a.high, b.high);
  return quick_two_sum(high.high, high.low + (a.high * b.low + a.low * b.high));
}

/// Relative error at most 10 u^2.
BLOCKVEC_HOST_DEVICE inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * DoubleDouble{first, 0};
  return quick_two_sum(first, rest.high / b.high);
}

/// Of a positive number.
BLOCKVEC_HOST_DEVICE inline DoubleDouble square_root(const DoubleDouble& a) {
  const double first = std::sqrt(a.high);
  const DoubleDouble rest = a - two_product(first, first);
  return quick_two_sum(first, rest.high / (2 * first));
}

}  // namespace blockvec
