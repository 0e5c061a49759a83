#pragma once

#include "src/cuda/tsmm_columns.cuh"
#include "src/cuda/tsmm_warpgroup.cuh"

/// The same in single precision by split products of whole warpgroups (tsmm_warpgroup.cuh), 64 rows each: A's numbers
/// go from the stage to registers, C lies in shared memory in two parts.
namespace blockvec::kernels::cuda {

/// Slots of a lane in a step of 8 pairs.
template <int parts>
inline constexpr int slots_of_pairs = 4 / parts;

/// C as of pack_pairs (tsmm_warpgroup.cuh), rows and columns in the order of a lane's slots.
template <int parts, int columns>
__device__ inline void pack_column_pairs(const TsmmColumns<float>& p, int steps, float* packed, int thread,
                                         int threads) {
  const Factor alpha = p.alpha.read();
  const int count = steps * 2 * right_factor_rows * columns;
  for (int i = thread; i < count; i += threads) {
    const int place = i / 4 % 8;
    const int block = i / 32 % (columns / 8);
    const int half = i / (4 * columns) % 2;
    const int which = i / (8 * columns) % 2;
    const int step = i / (16 * columns);
    const int four = 2 * step + half;
    const int slot = parts == 2 ? four : 2 * four + which;
    const int row = column_of_slot(p.neighbours_a, i % 4, slot) * parts;
    const int column = result_column<1, columns / 8>(p.neighbours_b, place / 2, 2 * block + place % 2) * parts +
                       (parts == 2 ? which : 0);
    const double value = row < p.m && column < p.n ? p.small.scaled(row, column, alpha) : 0.0;
    const SplitNumber both = split(static_cast<float>(value));
    float* const to = packed + (i / (8 * columns)) * 16 * columns + i % (8 * columns);
    to[0] = __uint_as_float(both.high);
    to[8 * columns] = __uint_as_float(both.low);
  }
}

/// A lane's numbers of two rows in two steps, [first, second][half][v] of pairs q + 4 v; `column` are its slots'.
template <int parts, bool guarded>
__device__ inline void read_column_pairs(const float* a, int pitch, const int (&column)[8 / parts], int left,
                                         float (&x)[2][2][4]) {
#pragma unroll
  for (int v = 0; v < 4; ++v) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if constexpr (parts == 2) {
        const bool there = !guarded || column[v] < left;
        const float2 both =
            there ? *reinterpret_cast<const float2*>(a + column[v] * pitch + 16 * half) : make_float2(0, 0);
        x[0][half][v] = both.x;
        x[1][half][v] = both.y;
      } else {
#pragma unroll
        for (int which = 0; which < 2; ++which) {
          const int slot = 2 * v + which;
          const bool there = !guarded || column[slot] < left;
          x[which][half][v] = there ? a[column[slot] * pitch + 8 * half] : 0.0F;
        }
      }
    }
  }
}

/// One result in double precision, from A's numbers of a row.
__device__ __noinline__ inline float multiply_plainly(const TsmmColumns<float>& p, const float* row, int column) {
  const Factor alpha = p.alpha.read();
  double value = 0;
#pragma unroll 1
  for (int d = 0; d < p.m; ++d) {
    value += row[d / p.a.parts * p.a.pitch + d % p.a.parts] * p.small.scaled(d, column, alpha);
  }
  return static_cast<float>(value);
}

template <int parts, int columns>
__global__ void __launch_bounds__(warpgroup_block_threads, 1)
    tsmm_columns_split_kernel(const __grid_constant__ TsmmColumns<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ ColumnStages shared;
  release_next_kernel();
  // The compiler must see that all lanes of a warp go the same way: products that run beside others need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  if (threadIdx.x == 0) {
    shared.initialize(p.stages, p.row_warps * warp_size);
  }
  await_previous_kernel();
  __syncthreads();

  if (warp >= 4 * warpgroups) {
    give_registers<80>();
    const int own = warp - 4 * warpgroups;
    if (own < column_loaders) {
      load_columns(p, shared, memory, own);
    } else {
      store_columns(p, shared, memory, own - column_loaders);
    }
    return;
  }

  take_registers<144>();
  constexpr int width = 4 * slots_of_pairs<parts>;  // columns of a step
  const int scalars = p.m / parts;
  const int step_columns = max(width, 4 << p.neighbours_a);
  const int steps = (scalars + step_columns - 1) / step_columns * (step_columns / width);
  float* const packed = reinterpret_cast<float*>(memory + p.stages * p.stage_bytes);
  pack_column_pairs<parts, columns>(p, steps, packed, static_cast<int>(threadIdx.x), warpgroups * warpgroup_threads);
  publish_to_bulk_copies();
  meet(1, warpgroups * warpgroup_threads);
  const int group = warp / p.row_warps;
  if (group >= p.groups) return;
  const std::uint32_t right = shared_address(packed);
  const int row0 = warp % p.row_warps * 16 + lane / 4;
  const int q = lane % 4;
  const int first_a = p.a.shift(0) + row0 * parts;
  const int first_b = p.b.shift(0) + row0 * parts;
  const bool reads_a = !p.alpha.read().is_zero();
  const Factor beta = p.beta.read();
  const bool adds = p.loads_b && !beta.is_zero();

  int column_of[8 / parts];
#pragma unroll
  for (int slot = 0; slot < 8 / parts; ++slot) column_of[slot] = column_of_slot(p.neighbours_a, q, slot);

  RingPosition at{group, 0};
  for (;; at.advance(p.groups, p.stages)) {
    shared.barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = __shfl_sync(0xffffffffU, shared.chunk_of[at.stage], 0);
    if (chunk == no_chunk) {
      shared.pass_marks(at, group, p.groups, p.stages);
      break;
    }
    unsigned char* const stage = memory + at.stage * p.stage_bytes;
    const float* const first = reinterpret_cast<const float*>(stage) + first_a;
    WarpgroupSums<parts, columns> sums;
    sums.clear();
    if (reads_a) {
      const float* a = first;
      float next[2][2][4];
      const auto read = [&](int left) {
        if (left >= 2 * width) {
          read_column_pairs<parts, false>(a, p.a.pitch, column_of, left, next);
        } else {
          read_column_pairs<parts, true>(a, p.a.pitch, column_of, left, next);
        }
        a += 2 * width * p.a.pitch;
      };
      read(scalars);
#pragma unroll 1
      for (int step = 0; step < steps; step += 2) {
        unsigned left[2][2][2][4];  // [step][first, second][high, low]
#pragma unroll
        for (int which = 0; which < 2; ++which) {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int v = 0; v < 4; ++v) {
              const SplitNumber both = split(next[which][half][v]);
              left[v / 2][which][0][2 * (v % 2) + half] = both.high;
              left[v / 2][which][1][2 * (v % 2) + half] = both.low;
            }
          }
        }
        open_products();
        const std::uint32_t from = right + step * step_numbers(columns) * static_cast<int>(sizeof(float));
        sums.start_step(left[0], from);
        if (step + 1 < steps) {
          sums.start_step(left[1], from + step_numbers(columns) * static_cast<int>(sizeof(float)));
        }
        commit_products();
        if (step + 2 < steps) read(scalars - (step + 2) * width);
        await_products(sums.sum);
      }
      if (!__all_sync(0xffffffffU, sums.finite())) {  // only true infinities are to be seen
#pragma unroll
        for (int part = 0; part < parts; ++part) {
#pragma unroll
          for (int i = 0; i < columns / 2; ++i) {
            const int column = result_column<1, columns / 8>(p.neighbours_b, q, i / 4 * 2 + i % 2) * parts + part;
            if (column < p.n) sums.sum[part][i] = multiply_plainly(p, first + i / 2 % 2 * 8 * parts, column);
          }
        }
      }
    }
    __syncwarp();  // all of a row has been read
    if (p.meets) meet(3 + group, p.row_warps * warp_size);
    float* const out = reinterpret_cast<float*>(stage + p.offset_b) + first_b;
#pragma unroll
    for (int slot = 0; slot < columns / 4; ++slot) {
      const int column = result_column<1, columns / 8>(p.neighbours_b, q, slot);
      if (column * parts >= p.n) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float* const to = out + column * p.b.pitch + 8 * half * parts;
        const int i = slot / 2 * 4 + 2 * half + slot % 2;
        float value[2] = {sums.sum[0][i], sums.sum[parts - 1][i]};
        if (adds) {
          const Factor old = scale(beta, {static_cast<double>(to[0]), static_cast<double>(to[parts - 1])});
          value[0] += static_cast<float>(old.re);
          value[1] += static_cast<float>(old.im);
        }
        if constexpr (parts == 2) {
          *reinterpret_cast<float2*>(to) = make_float2(value[0], value[1]);
        } else {
          to[0] = value[0];
        }
      }
    }
    publish_to_bulk_copies();
    shared.done[at.stage].arrive();
  }
#endif
}

}  // namespace blockvec::kernels::cuda
