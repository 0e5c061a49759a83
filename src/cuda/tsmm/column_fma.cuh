#pragma once

#include "src/cuda/tsmm/column_pieces.cuh"

/// tsmm for narrow column-major operands without tensor cores. Chunks of rows go through a ring as in
/// tsmm/column_pieces.cuh. A thread computes whole rows: it reads all of a row before it writes results in its place.
/// So no thread waits for another within a chunk.
namespace blockvec::kernels::cuda {

inline constexpr int fma_warps = 8;
inline constexpr int fma_block_threads = (fma_warps + 4) * warp_size;

/// Computes a row again in double precision, so that only true infinities remain. `first` is the row's number in a
/// column. It reads the operands from memory, since results have taken their places in the stage.
template <int parts>
__device__ __noinline__ void multiply_row_plainly(const TsmmColumnPieces<float>& p, std::int64_t first, float* out) {
  if (first < 0 || first >= p.length) return;  // the row is not one of B's
  const Factor alpha = p.alpha.read();
  const Factor beta = p.beta.read();
  const int depth = alpha.is_zero() ? 0 : p.m * parts;
#pragma unroll 1
  for (int j = 0; j < p.n * parts; ++j) {
    double value = 0;
    if (p.loads_b && !beta.is_zero()) {
      const float* const old = p.b.data + j / parts * p.b.distance + first;
      const Factor scaled = scale(beta, {static_cast<double>(old[0]), static_cast<double>(old[parts - 1])});
      value = j % parts == 0 ? scaled.re : scaled.im;
    }
#pragma unroll 1
    for (int d = 0; d < depth; ++d) {
      value += p.a.data[d / parts * p.a.distance + first + d % parts] * p.small.scaled(d, j, alpha);
    }
    out[j / parts * p.b.pitch + j % parts] = static_cast<float>(value);
  }
}

/// `columns`: the most columns of B, even. A thread has `rows` rows at a time. Shared memory has C, row by row.
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
    const std::uint32_t chunk = shared.chunk_of[at.stage];
    if (chunk == no_chunk) break;
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
      Real* const out = stage + p.offset_b / static_cast<int>(sizeof(Real)) + p.b.shift + place;
      const auto entry = [&](int j, int r) -> Scalar& {
        return *reinterpret_cast<Scalar*>(out + j * p.b.pitch + r * warp_size * parts);
      };
      if (adds) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          if (j >= p.n) break;
#pragma unroll
          for (int r = 0; r < rows; ++r) {
            const Scalar& to = entry(j, r);
            const Factor old = scale(beta, {static_cast<double>(to.part[0]), static_cast<double>(to.part[parts - 1])});
            sum[r][j][0] += static_cast<Real>(old.re);
            if constexpr (parts == 2) sum[r][j][1] += static_cast<Real>(old.im);
          }
        }
      }
      Real zero[rows] = {};  // stays zero as long as all results are finite
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        if (j >= p.n) break;
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          Scalar result;
#pragma unroll
          for (int part = 0; part < parts; ++part) {
            result.part[part] = sum[r][j][part];
            if constexpr (sizeof(Real) == 4) zero[r] = fma(result.part[part], Real(0), zero[r]);
          }
          entry(j, r) = result;
        }
      }
      if constexpr (sizeof(Real) == 4) {
        bool finite = true;
#pragma unroll
        for (int r = 0; r < rows; ++r) finite = finite && zero[r] == 0;
        if (!finite) [[unlikely]] {
          const std::int64_t row = static_cast<std::int64_t>(chunk) * p.stored - p.early + place;
#pragma unroll
          for (int r = 0; r < rows; ++r) {
            const int apart = r * warp_size * parts;
            if (zero[r] != 0) multiply_row_plainly<parts>(p, row + apart, out + apart);
          }
        }
      }
    }
    publish_to_bulk_copies();
    shared.done[at.stage].arrive();
  }
#endif
}

}  // namespace blockvec::kernels::cuda
