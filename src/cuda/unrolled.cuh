#pragma once

namespace blockvec::kernels::cuda {

/// Calls f(i), f(i, j) or f(i, j, k) with all numbers below `counts`, the last one fastest. All loops are unrolled, so
/// that arrays that f indexes by these numbers stay in registers.
template <int count, int... counts, class F, class... Outer>
__device__ __forceinline__ void unrolled(const F& f, Outer... outer) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if constexpr (sizeof...(counts) == 0) {
      f(outer..., i);
    } else {
      unrolled<counts...>(f, outer..., i);
    }
  }
}

}  // namespace blockvec::kernels::cuda
