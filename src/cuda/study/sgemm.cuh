#pragma once

#include <cuda_runtime.h>

#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/study/sgemm.hpp"

/// A block computes 256 x 128 entries of C, a warp 64 x 64, a thread 8 x 16.
namespace blockvec::kernels::cuda::study {

inline constexpr int tile_m = 256, tile_n = 128, tile_k = 8;
inline constexpr int warp_side = 64;  ///< of a warp's square, and of a slice of A's rows or B's columns
inline constexpr int slices_a = tile_m / warp_side, slices_b = tile_n / warp_side;
inline constexpr int sgemm_threads = 32 * slices_a * slices_b;
inline constexpr int piece = 4;                       ///< numbers of 16 bytes
inline constexpr int thread_m = 8, thread_n = 16;     ///< a thread's rows, in two pieces, and columns
inline constexpr int lanes_m = warp_side / thread_m;  ///< lanes side by side, which read 128 bytes of A

/// A stage of shared memory: A as it is in memory, B transposed. B's rows have a gap, so that lanes that write 8 rows
/// of 4 columns meet different banks.
struct SgemmStage {
  static constexpr int pitch_b = tile_n + piece;
  float a[tile_k][tile_m];
  float b[tile_k][pitch_b];
};

/// Copies 4 or 16 bytes asynchronously, of which the first `bytes` come from memory and the others are zero.
template <int size>
__device__ inline void copy_async(float* to, const float* from, int bytes) {
  if constexpr (size == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
                 : "memory");
  }
}
__device__ inline void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until all but the last `groups` groups of this thread's copies have arrived.
template <int groups>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

template <int stages, bool wide, bool ahead, bool narrow_barriers>
struct Sgemm {
  const SgemmArguments& p;
  SgemmStage* const stage;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32, warp = thread / 32;
  const int slice_a = warp % slices_a, slice_b = warp / slices_a;  // that the warp multiplies, and helps to copy
  int first_row, first_column;                                     // of the block's tile
  float sums[thread_n][thread_m] = {};

  struct Factors {
    float a[thread_m];
    float b[thread_n];
  };

  /// This thread's share of a tile of A, or of B: where it begins in memory, and how much of it there is.
  struct Share {
    const float* from;
    int row, column;  ///< of the tile
    int inside;       ///< rows of A from `row` on, or columns of B from `column` on, that the matrix has
  };
  static constexpr int width_a = wide ? piece : 1;
  static constexpr int columns_a = 32 * slices_b * width_a / warp_side;  ///< that the threads of a slice copy at a time
  static constexpr int columns_b = 32 * slices_a / tile_k;

  /// Two warps copy a slice of A, whose columns lie one behind the other.
  __device__ Share share_of_a() const {
    const int number = (lane + 32 * slice_b) * width_a;
    const int row = slice_a * warp_side + number % warp_side, column = number / warp_side;
    return {p.a + first_row + row + column * p.lda, row, column, p.m - first_row - row};
  }
  /// Four warps copy a slice of B.
  __device__ Share share_of_b() const {
    const int number = lane + 32 * slice_a;
    const int row = number % tile_k, column = slice_b * warp_side + number / tile_k;
    return {p.b + row + (first_column + column) * p.ldb, row, column, p.n - first_column - column};
  }

  Share of_a = share_of_a(), of_b = share_of_b();

  /// Copies the next tile of A and B, number `tile`. What lies outside of them is zero.
  __device__ void copy(int tile) {
    SgemmStage& to = stage[tile % stages];
    const int left = p.k - tile * tile_k;
    const int rows = min(max(of_a.inside, 0), width_a);
#pragma unroll
    for (int column = 0; column < tile_k; column += columns_a) {
      const int bytes = of_a.column + column < left ? 4 * rows : 0;
      copy_async<4 * width_a>(&to.a[of_a.column + column][of_a.row], bytes > 0 ? of_a.from + column * p.lda : p.a,
                              bytes);
    }
#pragma unroll
    for (int column = 0; column < warp_side; column += columns_b) {
      const bool inside = of_b.row < left && column < of_b.inside;
      copy_async<4>(&to.b[of_b.row][of_b.column + column], inside ? of_b.from + column * p.ldb : p.b, inside ? 4 : 0);
    }
    of_a.from += tile_k * p.lda;
    of_b.from += tile_k;
    end_group_of_copies();
  }

  /// The warps that share a slice with this one are here, too, and see one another's copies.
  __device__ void meet_others() const {
    if constexpr (narrow_barriers) {
      meet(1 + slice_a, 32 * slices_b);
      meet(1 + slices_a + slice_b, 32 * slices_a);
    } else {
      __syncthreads();
    }
  }

  /// When all have read tile number `tile`: copies a later one to its place, and waits for the next one.
  __device__ void advance(int tile) {
    if constexpr (stages == 1) {
      meet_others();
      copy(tile + 1);
      await_copies<0>();
      meet_others();
    } else {
      await_copies<stages - 2>();
      meet_others();
      copy(tile + stages);
    }
  }

  /// The i-th row and the j-th column of a thread, in its warp's square: neighbours where they come together.
  __device__ int row_of(int i) const {
    const int lane_m = lane % lanes_m;
    return wide ? lane_m * piece + i % piece + i / piece * (warp_side / 2) : lane_m + i * lanes_m;
  }
  __device__ int column_of(int j) const {
    const int lane_n = lane / lanes_m;
    return wide ? lane_n * thread_n + j : lane_n + j * (32 / lanes_m);
  }

  __device__ void read(Factors& to, int tile, int k) const {
    const SgemmStage& from = stage[tile % stages];
    const float* const a = &from.a[k][slice_a * warp_side];
    const float* const b = &from.b[k][slice_b * warp_side];
#pragma unroll
    for (int i = 0; i < thread_m; i += width_a) read_piece(&to.a[i], a + row_of(i));
#pragma unroll
    for (int j = 0; j < thread_n; j += width_a) read_piece(&to.b[j], b + column_of(j));
  }
  __device__ static void read_piece(float* to, const float* from) {
    if constexpr (wide) {
      const float4 x = *reinterpret_cast<const float4*>(from);
      to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    } else {
      *to = *from;
    }
  }

  __device__ void multiply(const Factors& by) {
#pragma unroll
    for (int j = 0; j < thread_n; ++j) {
#pragma unroll
      for (int i = 0; i < thread_m; ++i) sums[j][i] = fmaf(by.a[i], by.b[j], sums[j][i]);
    }
  }

  __device__ void multiply_tiles() {
#pragma unroll
    for (int tile = 0; tile < stages; ++tile) copy(tile);
    await_copies<stages - 1>();
    meet_others();
    Factors factors[2];
    if constexpr (ahead) read(factors[0], 0, 0);
    const int tiles = (p.k + tile_k - 1) / tile_k;
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
      for (int k = 0; k < tile_k; ++k) {
        const bool last = k == tile_k - 1;
        if constexpr (ahead) {
          if (last) advance(tile);
          read(factors[(k + 1) % 2], last ? tile + 1 : tile, last ? 0 : k + 1);
          multiply(factors[k % 2]);
        } else {
          read(factors[0], tile, k);
          if (last) advance(tile);
          multiply(factors[0]);
        }
      }
    }
    await_copies<0>();
  }

  __device__ void write() const {
#pragma unroll
    for (int j = 0; j < thread_n; ++j) {
      const int column = first_column + slice_b * warp_side + column_of(j);
      if (column >= p.n) return;
#pragma unroll
      for (int i = 0; i < thread_m; i += width_a) {
        const int row = first_row + slice_a * warp_side + row_of(i);
        float* const to = p.c + row + column * p.ldc;
        if (wide && row + piece <= p.m) {
          *reinterpret_cast<float4*>(to) = {sums[j][i], sums[j][i + 1], sums[j][i + 2], sums[j][i + 3]};
        } else {
#pragma unroll
          for (int e = 0; e < width_a; ++e) {
            if (row + e < p.m) to[e] = sums[j][i + e];
          }
        }
      }
    }
  }
};

template <int stages, bool wide, bool ahead, bool narrow_barriers>
__global__ void __launch_bounds__(sgemm_threads, 1)
    sgemm_kernel(const SgemmArguments p, Order order, int rows, int columns) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Place tile = place_of(order, rows, columns, blockIdx.x);
  Sgemm<stages, wide, ahead, narrow_barriers> product{.p = p,
                                                      .stage = reinterpret_cast<SgemmStage*>(memory),
                                                      .first_row = tile.i * tile_m,
                                                      .first_column = tile.j * tile_n};
  product.multiply_tiles();
  product.write();
}

}  // namespace blockvec::kernels::cuda::study
