// Helpers over Highway, once per target: no include guard but Highway's toggle.
#if defined(BLOCKVEC_HOST_SIMD_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef BLOCKVEC_HOST_SIMD_INL_HPP
#undef BLOCKVEC_HOST_SIMD_INL_HPP
#else
#define BLOCKVEC_HOST_SIMD_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "src/host/summation.hpp"

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
/// Into the first-level cache: used at once.
HWY_INLINE void prefetch_near(const char* p) { __builtin_prefetch(p, 0, 3); }

inline constexpr std::int64_t fetch_steps = 8;
inline constexpr std::int64_t two_streams_bytes = 4096;

/// Lines that come into cache while something else is multiplied: `runs` runs of memory, `stride` bytes apart, spread
/// over `steps` steps. Line follows line, as the processor's own prefetching likes it: it then runs ahead by itself.
/// A run of several pages is fetched as two streams side by side, which keeps more lines under way.
class Fetch {
 public:
  Fetch() = default;
  Fetch(std::int64_t run, std::int64_t stride, std::int64_t runs, std::int64_t steps) {
    if (stride - run < line_bytes) {  // no gap of whole lines
      run = run + (runs - 1) * stride;
      runs = 1;
    }
    lines_ = ceil_div(run, line_bytes);
    if (lines_ * line_bytes > two_streams_bytes) {
      lines_ = ceil_div(lines_, 2);
      second_ = lines_ * line_bytes;
    }
    total_ = runs * lines_;
    per_step_ = ceil_div(total_, steps);
    skip_ = stride - lines_ * line_bytes;
  }

  /// From here on.
  void start(const void* first) {
    at_ = static_cast<const char*>(first);
    left_ = total_;
    left_in_run_ = lines_;
  }

  /// A few lines, to be called once in `fetch_steps` steps of the arithmetic.
  HWY_INLINE void step() {
    for (std::int64_t i = std::min(per_step_, left_); i > 0; --i) {
      prefetch(at_);
      if (second_ != 0) prefetch(at_ + second_);
      at_ += line_bytes;
      --left_;
      if (--left_in_run_ == 0) {
        at_ += skip_;
        left_in_run_ = lines_;
      }
    }
  }

 private:
  const char* at_ = nullptr;
  std::int64_t left_ = 0;
  std::int64_t per_step_ = 0;
  std::int64_t left_in_run_ = 0;
  std::int64_t total_ = 0;
  std::int64_t lines_ = 0;
  std::int64_t skip_ = 0;
  std::int64_t second_ = 0;  // how far on the second stream is; 0: there is none
};

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
