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

/// Sums of numbers of which none is larger in size than a known one, M: each is cut into limbs of 40 bits, units of
/// 2^(40 q), 2^(40 (q - 1)) and so on, q being the largest with 2^(40 q) <= M, and limbs are added as 64-bit whole
/// numbers by whoever and in any order: exactly, for fewer than 2^23 numbers. Limbs beyond the last are dropped; those
/// before do not depend on how many there are, nor on q, so that limbs relative to a smaller M can be taken over.
/// A number loses less than the last unit: 2^-80 M with three limbs, 2^-160 M with five. Where M is Inf or NaN the
/// limbs count what there was of Inf and -Inf instead, NaN as both.
class Limbs {
 public:
  static constexpr std::size_t plain = 3, extended = 5;  ///< how many, for sums in working precision and twice that
  static constexpr std::int64_t most_terms = (std::int64_t{1} << 23) - 1;

  KOKKOS_INLINE_FUNCTION explicit Limbs(std::int64_t largest_magnitude_bits)
      : is_finite_(largest_magnitude_bits < std::int64_t{0x7ff0000000000000}), is_zero_(largest_magnitude_bits == 0) {
    if (!is_finite_) return;
    double largest = 0;
    __builtin_memcpy(&largest, &largest_magnitude_bits, sizeof largest);
    int exponent = 0;
    std::frexp(largest, &exponent);
    first_ = exponent > 0 ? (exponent - 1) / bits : -((bits - exponent) / bits);
    // Two factors: their product may lie outside of the range of the type.
    const int shift = -bits * first_;
    factor_ = std::ldexp(1.0, shift / 2);
    other_factor_ = std::ldexp(1.0, shift - shift / 2);
  }

  template <std::size_t count>
  KOKKOS_INLINE_FUNCTION void add(double x, std::int64_t (&limbs)[count]) const {
    if (!is_finite_) return count_not_finite(x, limbs);
    double rest = x * factor_ * other_factor_;
    for (std::size_t i = 0; i < count; ++i) {
      const auto whole = static_cast<std::int64_t>(rest);
      limbs[i] += whole;
      rest = (rest - static_cast<double>(whole)) * unit;
    }
  }

  /// Adds sums of numbers that were cut relative to another largest one, which is not larger than this.
  template <std::size_t count>
  KOKKOS_INLINE_FUNCTION void add(const Limbs& their, const std::int64_t* sums, std::int64_t (&limbs)[count]) const {
    if (their.is_zero_ || their.is_finite_ != is_finite_) return;  // nothing, or nothing that counts beside Inf
    const auto lower = static_cast<std::size_t>(is_finite_ ? first_ - their.first_ : 0);
    for (std::size_t i = lower; i < count; ++i) limbs[i] += sums[i - lower];
  }

  /// What three limbs stand for, rounded once (twice in the range of denormal numbers).
  template <class Real>
  KOKKOS_INLINE_FUNCTION Real value(const std::int64_t (&limbs)[plain]) const {
    if (!is_finite_) return not_finite<Real>(limbs);
    const std::int64_t carry = limbs[2] >> bits, low = limbs[2] - (carry << bits);
    const Whole high = static_cast<Whole>(limbs[0]) * (std::int64_t{1} << bits) + limbs[1] + carry;
    constexpr Whole room = Whole{1} << 80;  // of larger ones the result holds no digit of the low limb
    if (high < room && high > -room) {
      return rounded<Real>(high * (std::int64_t{1} << bits) + low, bits * (first_ - 2));
    }
    return rounded<Real>(2 * high + (low != 0 ? 1 : 0), bits * (first_ - 1) - 1);
  }

  /// What five limbs stand for as the unevaluated sum of two numbers.
  template <class Real>
  KOKKOS_INLINE_FUNCTION void value(const std::int64_t (&limbs)[extended], Real& high, Real& low) const {
    if (!is_finite_) {
      high = not_finite<Real>(limbs);
      low = 0;
      return;
    }
    // Digits of at most half a unit in size: what follows the first that is not zero is less than it.
    std::int64_t digits[extended];
    for (std::size_t i = 0; i < extended; ++i) digits[i] = limbs[i];
    for (std::size_t i = extended - 1; i > 0; --i) {
      const std::int64_t carry = (digits[i] + (std::int64_t{1} << (bits - 1))) >> bits;
      digits[i] -= carry << bits;
      digits[i - 1] += carry;
    }
    // The first may be longer than a double; both of its parts have its sign.
    const std::int64_t upper = digits[0] / (std::int64_t{1} << 32) * (std::int64_t{1} << 32);
    double terms[extended + 1] = {static_cast<double>(upper), static_cast<double>(digits[0] - upper)};
    double scale = 1;
    for (std::size_t i = 1; i < extended; ++i) terms[i + 1] = static_cast<double>(digits[i]) * (scale /= unit);
    DoubleDouble sum{terms[extended], 0};
    for (std::size_t i = extended; i-- > 0;) {
      const DoubleDouble next = two_sum(terms[i], sum.high);
      sum = {next.high, sum.low + next.low};
    }
    sum = two_sum(sum.high, sum.low);
    const DoubleDouble scaled{std::ldexp(sum.high, bits * first_), std::ldexp(sum.low, bits * first_)};
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

  /// x 2^exponent.
  template <class Real>
  KOKKOS_INLINE_FUNCTION static Real rounded(Whole x, int exponent) {
    auto size = static_cast<unsigned __int128>(x < 0 ? -x : x);
    bool loses = false;
    for (; size >> 62 != 0; ++exponent) {  // what falls off counts as a last digit beyond those of the result
      loses = loses || (size & 1) != 0;
      size >>= 1;
    }
    const auto whole = static_cast<std::int64_t>(size) | (loses ? 1 : 0);
    const auto value = static_cast<double>(static_cast<Real>(x < 0 ? -whole : whole));
    return static_cast<Real>(std::ldexp(value, exponent));
  }

  KOKKOS_INLINE_FUNCTION static void count_not_finite(double x, std::int64_t* limbs) {
    if (x - x == 0) return;
    limbs[0] += x != x || x > 0 ? 1 : 0;
    limbs[1] += x != x || x < 0 ? 1 : 0;
  }

  template <class Real>
  KOKKOS_INLINE_FUNCTION static Real not_finite(const std::int64_t* limbs) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity(), nan = std::numeric_limits<Real>::quiet_NaN();
    if (limbs[0] > 0 && limbs[1] > 0) return nan;
    return limbs[0] > 0 ? infinity : -infinity;
  }

  bool is_finite_, is_zero_;
  int first_ = 0;  // q
  double factor_ = 1;
  double other_factor_ = 1;
};

}  // namespace blockvec
