// Helpers over Highway, once per target: no include guard but Highway's toggle.
#if defined(BLOCKVEC_HOST_SIMD_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BLOCKVEC_HOST_SIMD_INL_HPP
#undef BLOCKVEC_HOST_SIMD_INL_HPP
#else
#define BLOCKVEC_HOST_SIMD_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vec = hn::Vec<Tag<T>>;
template <class T>
using Mask = hn::Mask<Tag<T>>;

template <class T>
inline constexpr std::int64_t lanes_of = static_cast<std::int64_t>(hn::MaxLanes(Tag<T>()));

/// Vector registers: what bounds a register tile.
inline constexpr int registers = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64 ? 32 : 16;

/// Into the second-level cache, where it outlives what is being multiplied.
HWY_INLINE void prefetch(const char* p) { __builtin_prefetch(p, 0, 2); }

/// The first `count` (1 to all) lanes from p, zeros above; nothing behind them is read.
template <class T>
HWY_INLINE Vec<T> load_first(const T* p, [[maybe_unused]] Mask<T> mask, [[maybe_unused]] std::int64_t count) {
  const Tag<T> d;
#if HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_AVX2  // AVX2 has masked loads of the widths used here
  if (count == lanes_of<T>) return hn::LoadU(d, p);
  alignas(64) T lanes[lanes_of<T>] = {};
  for (std::int64_t i = 0; i < count; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
#else
  return hn::MaskedLoad(mask, d, p);
#endif
}

/// The first `count` lanes to p; nothing behind them is touched.
template <class T>
HWY_INLINE void store_first(Vec<T> v, T* p, [[maybe_unused]] Mask<T> mask, [[maybe_unused]] std::int64_t count) {
  const Tag<T> d;
#if HWY_MEM_OPS_MIGHT_FAULT && HWY_TARGET != HWY_AVX2
  if (count == lanes_of<T>) return hn::StoreU(v, d, p);
  alignas(64) T lanes[lanes_of<T>];
  hn::Store(v, d, lanes);
  for (std::int64_t i = 0; i < count; ++i) p[i] = lanes[i];
#else
  hn::BlendedStore(v, mask, d, p);
#endif
}

}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
