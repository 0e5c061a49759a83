// How results in a small buffer reach memory. Once per target, as simd-inl.hpp.
#if defined(BLOCKVEC_HOST_EMIT_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BLOCKVEC_HOST_EMIT_INL_HPP
#undef BLOCKVEC_HOST_EMIT_INL_HPP
#else
#define BLOCKVEC_HOST_EMIT_INL_HPP
#endif

#include <algorithm>
#include <cstdint>

#include "src/host/products.hpp"
#include "src/host/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {

template <class T>
inline constexpr std::int64_t line_entries = line_bytes / static_cast<std::int64_t>(sizeof(T));

/// Where in its line of memory p stands, in numbers.
template <class T>
HWY_INLINE std::int64_t phase_of(const T* p) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) % line_bytes / sizeof(T));
}

/// Where in an aligned vector p stands, in numbers.
template <class T>
HWY_INLINE std::int64_t vector_phase(const T* p) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) / sizeof(T)) % lanes_of<T>;
}

/// Indices that turn a vector in its lanes: by `phase` lanes up, the highest ones to the bottom.
template <class T>
struct Turns {
  using Index = hn::TFromD<hn::RebindToSigned<Tag<T>>>;
  constexpr Turns() : index() {
    for (std::int64_t phase = 0; phase < lanes_of<T>; ++phase) {
      for (std::int64_t l = 0; l < lanes_of<T>; ++l) {
        index[phase][l] = static_cast<Index>((l + lanes_of<T> - phase) % lanes_of<T>);
      }
    }
  }
  alignas(64) Index index[lanes_of<T>][lanes_of<T>];
};
template <class T>
constexpr Turns<T> turns;

template <class T>
HWY_INLINE void copy_run(const T* from, T* to, std::int64_t count) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  if (i < count) {
    const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(count - i));
    store_first(load_first(from + i, mask, count - i), to + i, mask, count - i);
  }
}

/// Whole lines, past the caches: both ends stand at the start of a line.
template <class T>
HWY_INLINE void stream_lines(const T* from, T* to, std::int64_t count) {
  const Tag<T> d;
  for (std::int64_t i = 0; i < count; i += lanes_of<T>) hn::Stream(hn::Load(d, from + i), d, to + i);
}

/// to = from + beta to. Complex numbers stand as pairs, and count is even then.
template <class T>
HWY_INLINE void add_run(const T* from, T* to, std::int64_t count, const Product<T>& product) {
  if (product.beta_im == T(0)) {
    const Tag<T> d;
    constexpr std::int64_t lanes = lanes_of<T>;
    const Vec<T> beta = hn::Set(d, product.beta_re);
    for (std::int64_t i = 0; i < count; i += lanes) {
      const std::int64_t here = std::min(lanes, count - i);
      const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(here));
      const Vec<T> sum = hn::MulAdd(beta, load_first(to + i, mask, here), load_first(from + i, mask, here));
      store_first(sum, to + i, mask, here);
    }
  } else {
    for (std::int64_t i = 0; i < count; i += 2) {
      const T re = to[i];
      const T im = to[i + 1];
      to[i] = from[i] + (product.beta_re * re - product.beta_im * im);
      to[i + 1] = from[i + 1] + (product.beta_re * im + product.beta_im * re);
    }
  }
}

/// A run of results without gaps. To be streamed, it stands in the buffer as it shall stand in its line of memory.
template <class T>
HWY_INLINE void emit_run(const T* from, T* to, std::int64_t count, const Product<T>& product) {
  if (product.store == Store::add) return add_run(from, to, count, product);
  if (product.store == Store::plain) return copy_run(from, to, count);
  const std::int64_t head = std::min(count, (line_entries<T> - phase_of(to)) % line_entries<T>);
  const std::int64_t lines = (count - head) / line_entries<T> * line_entries<T>;
  copy_run(from, to, head);
  stream_lines(from + head, to + head, lines);
  copy_run(from + head + lines, to + head + lines, count - head - lines);
}

}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
