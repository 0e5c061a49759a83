#pragma once

#include <blockvec/kernels/double_double.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace blockvec {

/// What becomes of the values of all ranks.
enum class Reduction : std::int32_t { sum, max, min };
/// The types that values have on their way.
enum class WireType : std::int32_t {
  float32,       ///< single precision
  float64,       ///< double precision
  int64,         ///< whole numbers
  double_double  ///< two float64, as DoubleDouble; sum only
};
/// Bytes of one value.
constexpr std::size_t bytes_of(WireType type) {
  return type == WireType::float32 ? 4 : type == WireType::double_double ? sizeof(DoubleDouble) : 8;
}

/// What every collective operation of a Communicator begins with, whatever the ranks are about: a header, and as much
/// behind it as this rank has to say. So ranks that mean different things still meet in it, and learn so; and a rank
/// that has failed can say so to others, without knowing what they wait for.
struct Envelope {
  static constexpr std::size_t room = 65536;                                        ///< 64 x 64 complex doubles
  static constexpr std::int32_t nobody = std::numeric_limits<std::int32_t>::max();  ///< no rank refuses

  ///@{
  /// Of the ranks' fingerprints: all mean the same where these are equal.
  std::uint64_t lowest = 0, highest = 0;
  ///@}
  std::int32_t refusing = nobody;        ///< the lowest rank that refuses; the contents are then its reason
  std::uint32_t count = 0;               ///< values in the contents, or letters
  WireType type = WireType::int64;       ///< of the contents
  Reduction reduction = Reduction::sum;  ///< of the contents
  alignas(8) std::byte contents[room];   ///< uninitialised

  /// Takes in what the ranks above have sent: values become their reduction, with `other` as the second operand. In
  /// whatever order and grouping that happens, verdicts come out alike.
  void merge(const Envelope& other);
  /// The bytes in use, from the beginning: what has to be sent. Contents on which ranks disagree are left out.
  std::size_t bytes() const;
  /// Copies the bytes in use.
  void assign(const Envelope& other);
  /// The reason of a rank that refuses, as text.
  std::string_view reason() const { return {reinterpret_cast<const char*>(contents), count}; }
};
static_assert(sizeof(Envelope) == 32 + Envelope::room);

}  // namespace blockvec
