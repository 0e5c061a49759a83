#include <algorithm>
#include <blockvec/envelope.hpp>
#include <cstring>

namespace blockvec {
namespace {

template <class T, class Combine>
void combine_all(const std::byte* from, std::byte* to, std::size_t count, Combine combine) {
  const T* const terms = reinterpret_cast<const T*>(from);
  T* const results = reinterpret_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) results[i] = combine(results[i], terms[i]);
}

template <class T>
void reduce(Reduction reduction, const std::byte* from, std::byte* to, std::size_t count) {
  const auto sum = [](const T& a, const T& b) { return a + b; };
  if constexpr (std::is_same_v<T, DoubleDouble>) {
    combine_all<T>(from, to, count, sum);
  } else {
    switch (reduction) {
      case Reduction::sum:
        return combine_all<T>(from, to, count, sum);
      case Reduction::max:
        return combine_all<T>(from, to, count, [](T a, T b) { return std::max(a, b); });
      case Reduction::min:
        return combine_all<T>(from, to, count, [](T a, T b) { return std::min(a, b); });
    }
  }
}

}  // namespace

std::size_t Envelope::bytes() const {
  constexpr std::size_t header = offsetof(Envelope, contents);
  if (refusing != nobody) return header + count;
  return lowest == highest ? header + count * bytes_of(type) : header;
}

void Envelope::assign(const Envelope& other) { std::memcpy(static_cast<void*>(this), &other, other.bytes()); }

void Envelope::merge(const Envelope& other) {
  if (refusing != nobody || other.refusing != nobody) {
    if (other.refusing < refusing) assign(other);
    return;
  }
  const bool alike = lowest == highest && lowest == other.lowest && lowest == other.highest;
  lowest = std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
  if (!alike) return;
  switch (type) {
    case WireType::float32:
      return reduce<float>(reduction, other.contents, contents, count);
    case WireType::float64:
      return reduce<double>(reduction, other.contents, contents, count);
    case WireType::int64:
      return reduce<std::int64_t>(reduction, other.contents, contents, count);
    case WireType::double_double:
      return reduce<DoubleDouble>(reduction, other.contents, contents, count);
  }
}

}  // namespace blockvec
