#pragma once

#include "src/cuda/unrolled.cuh"

/// Single-precision products by 3xTF32. A number is the sum of two numbers of 11 bits each. Tensor cores with
/// single-precision sums compute three of the four products of these halves, which stand for the product.
namespace blockvec::kernels::cuda {

/// A number's first 11 bits and the remainder, in the form of TF32 operands, of which tensor cores read 11 bits.
struct SplitNumber {
  unsigned high, low;
};

__device__ inline SplitNumber split(float x) {
  const unsigned high = __float_as_uint(x) & 0xffffe000U;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}
__device__ inline void split(float x, unsigned& high, unsigned& low) {
  const SplitNumber both = split(x);
  high = both.high;
  low = both.low;
}

/// sum += left right for a 16 x 8 x 8 MMA tile. Lanes hold entries as in multiply_16x8x8, with depths q and q + 4.
__device__ inline void multiply_tf32(float (&sum)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

/// Whether a lane's sums are all finite.
template <int count>
__device__ inline bool all_finite(const float* sum) {
  float zero[4] = {};
  unrolled<count>([&](int i) { zero[i % 4] = fmaf(sum[i], 0.0F, zero[i % 4]); });
  return (zero[0] + zero[1]) + (zero[2] + zero[3]) == 0;
}

}  // namespace blockvec::kernels::cuda
