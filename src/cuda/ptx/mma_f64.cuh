#pragma once

#include "src/cuda/unrolled.cuh"

/// One warp's tensor-core product in double precision: a 16 x 16 tile times a 16 x 8 tile, added to a 16 x 8 tile.
///
/// The lanes hold these entries, with g = lane / 4 and q = lane % 4:
///   left[v]   row g + 8 (v % 2),   depth q + 4 (v / 2)       v = 0..7
///   right[v]  depth q + 4 v,       column g                  v = 0..3
///   sum[v]    row g + 8 (v / 2),   column 2 q + v % 2        v = 0..3
namespace blockvec::kernels::cuda {

__device__ inline void multiply_8x8x4(double (&sum)[2], double left, double right) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(sum[0]), "+d"(sum[1])
      : "d"(left), "d"(right));
}

/// Products of compute capability 8.0, which has only the smaller instruction; lanes hold the same entries.
template <int steps>
__device__ inline void multiply_in_steps(double (&sum)[4], const double (&left)[2 * steps],
                                         const double (&right)[steps]) {
  unrolled<2>([&](int half) {
    double part[2] = {sum[2 * half], sum[2 * half + 1]};
#pragma unroll
    for (int v = 0; v < steps; ++v) multiply_8x8x4(part, left[2 * v + half], right[v]);
    sum[2 * half] = part[0];
    sum[2 * half + 1] = part[1];
  });
}

__device__ inline void multiply_16x8x16(double (&sum)[4], const double (&left)[8], const double (&right)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
      "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(left[4]), "d"(left[5]), "d"(left[6]), "d"(left[7]),
        "d"(right[0]), "d"(right[1]), "d"(right[2]), "d"(right[3]));
#else
  multiply_in_steps(sum, left, right);
#endif
}

/// Like multiply_16x8x16 with a depth of 8: it takes left[0..3] and right[0..1].
__device__ inline void multiply_16x8x8(double (&sum)[4], const double (&left)[4], const double (&right)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(right[0]), "d"(right[1]));
#else
  multiply_in_steps(sum, left, right);
#endif
}

/// Like multiply_16x8x16 with a depth of 4: it takes left[0..1] and right[0].
__device__ inline void multiply_16x8x4(double (&sum)[4], const double (&left)[2], double right) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(left[0]), "d"(left[1]), "d"(right));
#else
  multiply_in_steps(sum, left, {right});
#endif
}

}  // namespace blockvec::kernels::cuda
