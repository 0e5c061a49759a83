#pragma once

#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/tsmm/results.cuh"

/// tsmm in double precision for row-major operands that take little time (short K). Every block takes one row tile
/// (chunk). Panels (K slices) of A and C stream through shared memory past the block's sums in registers. No other
/// kernel must run first to pack C or to reset tickets, and no block waits for all of C.
///
/// A warp has 16 rows and all columns of B. The pitch of rows in a stage lets the lanes that read them meet different
/// banks. A block reads its whole chunk before it writes any of it, so that B may be A.
namespace blockvec::kernels::cuda {

struct TsmmPanels : TsmmTerms<double> {
  PlainLines<double> a;  ///< rows begin at multiples of 16 bytes
  Results<double> out;
  int m;
  int fetched;  ///< columns of A that a block prefetches into the L2 cache before all else
};

template <int warps, int pieces>
__global__ void __launch_bounds__(32 * warps, 16 / warps) tsmm_panels_kernel(const __grid_constant__ TsmmPanels p) {
  constexpr int threads = 32 * warps;
  constexpr int block_rows = 16 * warps;
  constexpr int columns = 8 * pieces;
  constexpr int panel = dispatch::panels_panel;
  constexpr int stages = dispatch::panels_stages;
  constexpr int pitch_a = panel + 4;
  constexpr int pitch_c = columns + 4;
  constexpr int start_c = block_rows * pitch_a;
  constexpr int stage_numbers = start_c + panel * pitch_c;
  extern __shared__ __align__(128) double ring[];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_size;
  const int warp = thread / warp_size;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * block_rows;
  release_next_kernel();
  const int lines = p.fetched / 16;
  for (int i = thread; i < block_rows * lines; i += threads) {
    const std::int64_t row = first_row + i / lines;
    if (row < p.out.k) prefetch_line(p.a.data + row * p.a.distance + i % lines * 16);
  }
  await_previous_kernel();
  if (!p.condition.holds()) return;

  const auto fill = [&](int stage, int depth) {
    if (depth < p.m) {
      double* const to = ring + stage * stage_numbers;
      copy_lines<16, threads>(p.a, first_row, block_rows, depth, panel, to, pitch_a, thread);
      const Small<double>& c = p.small;
#pragma unroll
      for (int first = 0; first < panel * columns; first += threads) {
        const int i = (first + thread) / columns;
        const int row = depth + i;
        const int column = (first + thread) % columns;
        const bool there = row < p.m && column < p.out.n && !(c.half == Half::upper && row > column) &&
                           !(c.half == Half::lower && row < column);
        async_copy<8>(to + start_c + i * pitch_c + column,
                      there ? c.data + row * c.row_stride + column * c.column_stride : c.data, there);
      }
    }
    commit_copies();
  };
#pragma unroll
  for (int s = 0; s + 1 < stages; ++s) fill(s, s * panel);

  double sum[1][pieces][4] = {};
  int stage = 0;
  for (int depth = 0; depth < p.m; depth += panel) {
    await_copies<stages - 2>();
    __syncthreads();  // all copies of this stage are done, and all warps have read the stage before this one
    fill(stage == 0 ? stages - 1 : stage - 1, depth + (stages - 1) * panel);
    const double* const here = ring + stage * stage_numbers;
    const double* const a = here + (16 * warp + lane / 4) * pitch_a + lane % 4;
    const double* const c = here + start_c + lane % 4 * pitch_c + column_of(p.out.neighbours, lane / 4);
#pragma unroll
    for (int d = 0; d < panel; d += 16) {
      double left[8];
      unrolled<8>([&](int v) { left[v] = a[v % 2 * 8 * pitch_a + d + v / 2 * 4]; });
      unrolled<pieces>([&](int x) {
        double right[4];
        unrolled<4>([&](int v) { right[v] = c[(d + 4 * v) * pitch_c + 8 * x]; });
        multiply_16x8x16(sum[0][x], left, right);
      });
    }
    stage = stage + 1 == stages ? 0 : stage + 1;
  }
  const double alpha = p.alpha.read().re;
  unrolled<4 * pieces>([&](int i) { sum[0][i / 4][i % 4] *= alpha; });
  const Factor beta = p.beta.read();
  const Places<double> places(p.out, warp, 0, lane);
  if (!beta.is_zero()) places.add<1>(first_row, beta, sum);
  places.write(first_row, sum);
}

}  // namespace blockvec::kernels::cuda
