#pragma once

#include "src/cuda/tsmm_columns_pieces.cuh"

/// tsmm of narrow column-major operands without tensor cores: chunks of rows go through a ring as
/// in tsmm_columns_pieces.cuh, a thread computes whole rows. It reads them all before it writes results to their
/// places, so that nobody waits for anybody in a chunk.
namespace blockvec::kernels::cuda {

inline constexpr int fma_warps = 8;
inline constexpr int fma_block_threads = (fma_warps + 4) * warp_size;

/// `columns`: of B at most, even; a thread has so many rows at a time. C lies in shared memory, row by row of so many.
template <class Real, int parts, int columns, int rows>
__global__ void __launch_bounds__(fma_block_threads, 1)
    tsmm_columns_fma_kernel(const __grid_constant__ TsmmColumnPieces<Real> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ PieceStages shared;
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  if (threadIdx.x == 0) shared.initialize(p.stages, fma_warps);
  await_previous_kernel();
  __syncthreads();

  const int numbers = p.stored + p.early;
  if (warp >= fma_warps) {
    const int own = warp - fma_warps;
    if (own == 0) load_pieces(p, shared, memory, numbers, 1);
    if (own > 0 && own <= piece_storers) store_pieces(p, shared, memory, own - 1);
    return;
  }

  constexpr int unit = bulk_unit<Real>;
  constexpr int row_numbers = columns * parts;
  Real* const packed = reinterpret_cast<Real*>(memory + p.stages * p.stage_bytes);
  const Factor alpha = p.alpha.read();
  for (int i = static_cast<int>(threadIdx.x); i < p.m * row_numbers; i += fma_warps * warp_size) {
    const int row = i / row_numbers;
    const int column = i % row_numbers;
    packed[i] = column < p.n * parts ? static_cast<Real>(p.small.scaled(row * parts, column, alpha)) : Real(0);
  }
  meet(1, fma_warps * warp_size);
  const int m = alpha.is_zero() ? 0 : p.m;
  const Factor beta = p.beta.read();
  const bool adds = p.loads_b && !beta.is_zero();
  struct alignas(parts * sizeof(Real)) Scalar {
    Real part[parts];
  };

  for (RingPosition at{0, 0};; at.advance(1, p.stages)) {
    shared.full[at.stage].wait(at.parity);
    if (shared.chunk_of[at.stage] == no_chunk) break;
    Real* const stage = reinterpret_cast<Real*>(memory + at.stage * p.stage_bytes);
    for (int first = warp * warp_size * rows; first * parts < numbers; first += fma_warps * warp_size * rows) {
      const int place = (first + lane) * parts;
      Real sum[rows][columns][parts] = {};
      const Real* a = stage + p.a.shift + place;
#pragma unroll 4
      for (int k = 0; k < m; ++k, a += p.a.pitch) {
        Scalar x[rows];
#pragma unroll
        for (int r = 0; r < rows; ++r) x[r] = *reinterpret_cast<const Scalar*>(a + r * warp_size * parts);
        struct alignas(16) Entries {
          Real number[unit];
        } c[row_numbers / unit];
#pragma unroll
        for (int i = 0; i < row_numbers / unit; ++i) {
          c[i] = reinterpret_cast<const Entries*>(packed + k * row_numbers)[i];
        }
        const auto right = [&](int i) { return c[i / unit].number[i % unit]; };
#pragma unroll
        for (int j = 0; j < columns; ++j) {
#pragma unroll
          for (int r = 0; r < rows; ++r) {
#pragma unroll
            for (int part = 0; part < parts; ++part) {
              sum[r][j][part] = fma(x[r].part[0], right(parts * j + part), sum[r][j][part]);
            }
            if constexpr (parts == 2) {
              sum[r][j][0] = fma(-x[r].part[1], right(2 * j + 1), sum[r][j][0]);
              sum[r][j][1] = fma(x[r].part[1], right(2 * j), sum[r][j][1]);
            }
          }
        }
      }
      Real* out = stage + p.offset_b / static_cast<int>(sizeof(Real)) + p.b.shift + place;
#pragma unroll
      for (int j = 0; j < columns; ++j, out += p.b.pitch) {
        if (j >= p.n) break;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          Scalar& to = *reinterpret_cast<Scalar*>(out + r * warp_size * parts);
          Scalar result;
#pragma unroll
          for (int part = 0; part < parts; ++part) result.part[part] = sum[r][j][part];
          if (adds) {
            const Factor old = scale(beta, {static_cast<double>(to.part[0]), static_cast<double>(to.part[parts - 1])});
            result.part[0] += static_cast<Real>(old.re);
            if constexpr (parts == 2) result.part[1] += static_cast<Real>(old.im);
          }
          to = result;
        }
      }
    }
    publish_to_bulk_copies();
    shared.done[at.stage].arrive();
  }
#endif
}

}  // namespace blockvec::kernels::cuda
