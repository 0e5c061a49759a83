#pragma once

#include <Kokkos_Macros.hpp>
#include <blockvec/double_double_matrix.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

/// Numbers as whole numbers of a common unit, whose sums do not depend on their order.
namespace blockvec {

/// |x| as the bits of a double: ordered as the values are, Inf above all numbers and NaN above Inf.
template <class Real>
KOKKOS_INLINE_FUNCTION std::int64_t magnitude_bits(Real x) {
  const auto wide = static_cast<double>(x);
  std::int64_t bits = 0;
  __builtin_memcpy(&bits, &wide, sizeof bits);
  return bits & std::int64_t{0x7fffffffffffffff};
}

/// Sums of numbers of which none is larger in size than a known one, M < 2^e: each is cut into limbs of 40 bits, units
/// of 2^(e - 40), 2^(e - 80) and so on, and limbs are added as 64-bit whole numbers by whoever and in any order:
/// exactly, for fewer than 2^23 numbers. A number loses at most half of the last unit: 2^-80 M with two limbs, 2^-160 M
/// with four. Where M is Inf or NaN the limbs count what there was of Inf and -Inf instead, NaN as both.
class Limbs {
 public:
  static constexpr std::int64_t most_terms = (std::int64_t{1} << 23) - 1;

  KOKKOS_INLINE_FUNCTION explicit Limbs(std::int64_t largest_magnitude_bits)
      : is_finite_(largest_magnitude_bits < std::int64_t{0x7ff0000000000000}) {
    if (!is_finite_) return;
    double largest = 0;
    __builtin_memcpy(&largest, &largest_magnitude_bits, sizeof largest);
    std::frexp(largest, &exponent_);
    // Two factors: their product may lie outside of the range of the type.
    const int shift = bits - exponent_;
    factor_ = std::ldexp(1.0, shift / 2);
    other_factor_ = std::ldexp(1.0, shift - shift / 2);
  }

  template <std::size_t count>
  KOKKOS_INLINE_FUNCTION void add(double x, std::int64_t (&limbs)[count]) const {
    if (!is_finite_) return count_not_finite(x, limbs);
    double rest = x * factor_ * other_factor_;
    for (std::size_t i = 0; i + 1 < count; ++i) {
      const auto whole = static_cast<std::int64_t>(rest);
      limbs[i] += whole;
      rest = (rest - static_cast<double>(whole)) * unit;
    }
    limbs[count - 1] += static_cast<std::int64_t>(rest + (rest < 0 ? -0.5 : 0.5));
  }

  /// What two limbs stand for, rounded once (twice in the range of denormal numbers).
  template <class Real>
  Real value(const std::int64_t (&limbs)[2]) const {
    if (!is_finite_) return not_finite<Real>(limbs);
    return std::ldexp(static_cast<Real>(joined(limbs[0], limbs[1])), exponent_ - 2 * bits);
  }

  /// What four limbs stand for as the unevaluated sum of two numbers.
  template <class Real>
  void value(const std::int64_t (&limbs)[4], Real& high, Real& low) const {
    if (!is_finite_) {
      high = not_finite<Real>(limbs);
      low = 0;
      return;
    }
    Whole upper = joined(limbs[0], limbs[1]), lower = joined(limbs[2], limbs[3]);
    const Whole carry = lower >> (2 * bits);
    upper += carry;
    lower -= carry * (Whole{1} << (2 * bits));
    const auto first = static_cast<double>(upper);
    const double second =
        static_cast<double>(upper - static_cast<Whole>(first)) + static_cast<double>(lower) * (1 / unit / unit);
    const DoubleDouble sum = two_sum(first, second);
    const DoubleDouble scaled{std::ldexp(sum.high, exponent_ - 2 * bits), std::ldexp(sum.low, exponent_ - 2 * bits)};
    if constexpr (std::is_same_v<Real, float>) {
      split(scaled.high + scaled.low, high, low);
    } else {
      high = scaled.high;
      low = scaled.low;
    }
  }

 private:
  using Whole = __int128;
  static constexpr int bits = 40;
  static constexpr double unit = 0x1p40;

  static Whole joined(std::int64_t upper, std::int64_t lower) {
    return static_cast<Whole>(upper) * (std::int64_t{1} << bits) + lower;
  }

  KOKKOS_INLINE_FUNCTION static void count_not_finite(double x, std::int64_t* limbs) {
    if (x - x == 0) return;
    limbs[0] += x != x || x > 0 ? 1 : 0;
    limbs[1] += x != x || x < 0 ? 1 : 0;
  }

  template <class Real>
  static Real not_finite(const std::int64_t* limbs) {
    if (limbs[0] > 0 && limbs[1] > 0) return std::numeric_limits<Real>::quiet_NaN();
    return limbs[0] > 0 ? std::numeric_limits<Real>::infinity() : -std::numeric_limits<Real>::infinity();
  }

  bool is_finite_;
  int exponent_ = 0;
  double factor_ = 1;
  double other_factor_ = 1;
};

}  // namespace blockvec
