#pragma once

#include "src/cuda/tsmttsm/ring.cuh"

/// tsmttsm of so few columns that tensor cores would mostly multiply padding: each thread owns rows and keeps all sums.
namespace blockvec::kernels::cuda {

/// Numbers of a row that a thread reads at once: all rows begin at multiples of so many.
template <int width>
inline constexpr int read_together = dispatch::narrow_neighbours(width);

/// Reads a row of `width` real numbers of a stage. They lie in columns of scalars of `parts` real numbers, or side by
/// side.
template <bool by_columns, int parts, int width, class Real>
__device__ inline void read_narrow_row(const Staged<Real>& operand, const unsigned char* stage, int row,
                                       double (&to)[width]) {
  constexpr int together = by_columns ? parts : read_together<width>;
  struct alignas(together * sizeof(Real)) Numbers {
    Real number[together];
  };
  const Real* const first =
      reinterpret_cast<const Real*>(stage) +
      (by_columns ? operand.columns.shift(0) + row * parts : operand.segment[0] + row * operand.row_step);
#pragma unroll
  for (int j = 0; j < width; j += together) {
    const auto some = *reinterpret_cast<const Numbers*>(first + (by_columns ? j / parts * operand.columns.pitch : j));
#pragma unroll
    for (int i = 0; i < together; ++i) to[j + i] = some.number[i];
  }
}

/// Both operands have `width` real columns; columns have scalars of `parts` real numbers. For a Gram matrix B is A. All
/// warps share every stage.
template <class Real, int parts, int width, bool gram, bool by_columns>
__global__ void __launch_bounds__(block_threads, 1) tsmttsm_narrow_kernel(const __grid_constant__ TsmttsmRing<Real> p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const Share share(p, width, width);
  run_ring<by_columns>(p, share, barriers, memory, [&](int, int) {
    const int thread = static_cast<int>(threadIdx.x);
    const int threads = p.groups * warp_size;
    double sum[width][width] = {};
    RingPosition at{0, 0};
    for (int left = share.turns<by_columns>(p); left > 0; --left) {
      barriers.full[at.stage].wait(at.parity);
      const unsigned char* const stage = memory + at.stage * p.stage_bytes;
#pragma unroll 4
      for (int row = thread; row < p.rows; row += threads) {
        double a[width];
        read_narrow_row<by_columns, parts>(p.a, stage, row, a);
        double b[width];
        if constexpr (!gram) read_narrow_row<by_columns, parts>(p.b, stage + p.offset_b, row, b);
#pragma unroll
        for (int i = 0; i < width; ++i) {
#pragma unroll
          for (int j = gram ? i : 0; j < width; ++j) sum[i][j] = fma(a[i], gram ? a[j] : b[j], sum[i][j]);
        }
      }
      barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
    }

    meet(1, threads);  // the stages have been read: their memory now takes the warps' sums
    double* const sums = reinterpret_cast<double*>(memory);
#pragma unroll
    for (int i = 0; i < width * width; ++i) {
      const int row = i / width;
      const int column = i % width;
      double all = gram && row > column ? sum[column][row] : sum[row][column];
#pragma unroll
      for (int apart = warp_size / 2; apart > 0; apart /= 2) all += __shfl_xor_sync(0xffffffffU, all, apart);
      if (thread % warp_size == 0) sums[thread / warp_size * width * width + i] = all;
    }
    meet(1, threads);
    if (thread >= width * width) return;
    double all = 0;
    for (int w = 0; w < p.groups; ++w) all += sums[w * width * width + thread];
    p.partial[static_cast<std::int64_t>(share.part) * width * width + thread] = all;
  });
}

}  // namespace blockvec::kernels::cuda
