#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tsmm_boxes.cuh"

/// tsmm of up to 64 by 64 columns in double precision with C in registers: shared memory is read for A alone, which
/// takes fewer joules a byte. Where the card's power limits its clock, that counts.
///
/// A warp holds 32 columns of C and multiplies 16 rows of A at a time, as C^T A^T. Groups of warps, `row_warps` deep
/// and `column_warps` wide, take the stages in turn.
namespace blockvec::kernels::cuda {
namespace {

constexpr int pieces = 2;  // of 16 columns of B
constexpr int sets = 2;    // of 8 rows
constexpr int steps = dispatch::most_held_columns / 16;

/// Lane 4 g + q of a piece holds columns 2 g and 2 g + 1, of each step of 16 in depth 2 q, 2 q + 1 and the same 8 on:
/// lanes read 16 bytes of A at a time, and eight lanes write a line of B.
struct HeldFactor {
  double left[steps][pieces][8];

  __device__ HeldFactor(const TsmmBoxes<double>& p, int column0, int lane) {
    const Factor alpha = p.alpha.read();
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int x = 0; x < pieces; ++x) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
          const int row = 16 * s + 8 * (v / 4) + lane % 4 * 2 + v / 2 % 2;
          const int column = column0 + 16 * x + lane / 4 * 2 + v % 2;
          const bool counts = row < p.m && column < p.out.n && !(p.small.half == Half::upper && row > column) &&
                              !(p.small.half == Half::lower && row < column);
          left[s][x][v] = counts ? p.small.data[row * p.small.row_stride + column * p.small.column_stride] : 0.0;
        }
      }
    }
#pragma unroll
    for (int i = 0; i < steps * pieces * 8; ++i) left[i / (8 * pieces)][i / 8 % pieces][i % 8] *= alpha.re;
  }

  /// `a` points to this lane's first entries.
  __device__ void multiply(double (&sum)[pieces][sets][4], const double* a, int pitch, int m) const {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      if (16 * s >= m) break;
      double right[sets][4];
#pragma unroll
      for (int t = 0; t < sets; ++t) {
#pragma unroll
        for (int v = 0; v < 4; v += 2) {
          const double2 pair = *reinterpret_cast<const double2*>(a + 8 * t * pitch + 16 * s + 4 * v);
          right[t][v] = pair.x;
          right[t][v + 1] = pair.y;
        }
      }
#pragma unroll
      for (int t = 0; t < sets; ++t) {
#pragma unroll
        for (int x = 0; x < pieces; ++x) multiply_16x8x16(sum[x][t], left[s][x], right[t]);
      }
    }
  }
};

__global__ void __launch_bounds__(block_threads, 1) tsmm_held_kernel(const __grid_constant__ TsmmBoxes<double> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int group_warps = p.row_warps * p.column_warps;
  const int groups = computing_warps / group_warps;
  const BoxStages<double> stages{barriers, chunk_of, memory, p.a.numbers() * static_cast<int>(sizeof(double)), 0};
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(group_warps));
  await_previous_kernel();
  __syncthreads();
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (reads_a && warp == computing_warps) load_chunks<1, false>(p, stages, tickets, groups);
    return;
  }

  take_registers<232>();
  const int group = warp / group_warps;
  const int warp_row = warp % group_warps % p.row_warps * 16;
  const int column0 = warp % group_warps / p.row_warps * 16 * pieces;
  const int columns = p.out.n - column0 - lane / 4 * 2;
  double* const to = p.out.b.data + column0 + lane / 4 * 2;
  const auto write = [&](std::int64_t chunk, const double(&sum)[pieces][sets][4]) {
    const std::int64_t first = chunk * p.out.box_rows + warp_row + lane % 4 * 2;
#pragma unroll
    for (int t = 0; t < sets; ++t) {
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        const std::int64_t row = first + 8 * t + odd;
        if (row >= p.out.k) continue;
#pragma unroll
        for (int x = 0; x < pieces; ++x) {
          if (16 * x < columns) {
            write_pair(to + row * p.out.b.row_stride + 16 * x, sum[x][t][odd], sum[x][t][2 + odd]);
          }
        }
      }
    }
  };
  if (!reads_a) {
    const double zero[pieces][sets][4] = {};
    for (std::uint32_t chunk = blockIdx.x * groups + group; chunk < p.chunks; chunk += gridDim.x * groups) {
      write(chunk, zero);
    }
    return;
  }

  const HeldFactor c(p, column0, lane);
  const int first = (warp_row + lane / 4) * p.a.pitch + lane % 4 * 2;
  RingPosition at{group, 0};
  for (;; at.advance(groups, p.stages)) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    double sum[pieces][sets][4] = {};
    c.multiply(sum, reinterpret_cast<const double*>(memory + at.stage * stages.bytes()) + first, p.a.pitch, p.m);
    write(chunk, sum);
    barriers.empty[at.stage].arrive();  // after what needs all that was read: reads under way would be too late
  }
#endif
}

}  // namespace

template <class Real>
TsmmBoxesKernel<Real> tsmm_held_kernel_of() {
  return tsmm_held_kernel;
}
template TsmmBoxesKernel<double> tsmm_held_kernel_of<double>();

}  // namespace blockvec::kernels::cuda
