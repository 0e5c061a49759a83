#pragma once

#include <type_traits>

#include "src/cuda/ptx/dependent_launch.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/tsmm/chunks.cuh"
#include "src/cuda/tsmm/factor.cuh"
#include "src/cuda/tsmm/row_fma.cuh"
#include "src/cuda/tsmm/row_ring_tf32.cuh"

/// tsmm on tensor cores as B^T = C^T A^T: a multistage pipeline (ring) in shared memory. Row tiles (chunks) of A come
/// through the ring; row tiles of B go out through shared memory by bulk stores.
///
/// Blocks that run side by side drift apart and disturb the memory's order. So blocks take chunks from a ticket rather
/// than in fixed turns. The result of a row does not depend on the block that computes it: results repeat bit for bit.
/// Consumer warp groups take the stages in turn. The warps of a group stand side by side along the columns of B. Each
/// warp holds `tn` pieces of 16 columns x `tb` sets of 8 rows in registers.
namespace blockvec::kernels::cuda {

/// The row of a stage that column i (0..7) of set t of 8 rows stands for. With this order, lanes meet different banks
/// when they load and when they store.
__device__ inline int row_of(const RowMap& map, int i, int t) {
  const int turn = (i & 4) != 0 ? (i & 3) ^ 1 : i & 3;
  return map.by_lane * turn + map.by_first * (i / 4) + map.by_second * (t % 2) + 16 * (t / 2);
}

/// Puts a lane's four numbers back into order. Where rows begin in the same bank, the lanes of one column read their
/// four numbers in different orders (v ^ turn).
template <class Number>
__device__ inline void undo_turn(Number (&x)[4], int turn) {
  const auto exchange = [](bool really, Number& one, Number& other) {
    const Number first = really ? other : one;
    other = really ? one : other;
    one = first;
  };
  exchange(turn & 1, x[0], x[1]);
  exchange(turn & 1, x[2], x[3]);
  exchange(turn & 2, x[0], x[2]);
  exchange(turn & 2, x[1], x[3]);
}

/// Adds C^T A^T to sum for 8 tb rows of a stage. `c` points to this warp's columns of packed C, `a` to this lane's
/// first entries. `turned`: lanes read in different orders (undo_turn).
template <bool turned, int tn, int tb, class Real>
__device__ inline void multiply_rows(double (&sum)[tn][tb][4], const double* c, int piece, const Real* a,
                                     const int (&row)[tb], int m, int lane) {
  const int depth4 = lane % 4;
  const int turn = turned ? lane / 4 % 4 : 0;
  int depth = 0;
  for (; depth + 16 <= m; depth += 16, c += 4 * 64) {
    double right[tb][4];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 4; ++v) right[t][v] = a[row[t] + depth + 4 * (v ^ turn)];
      if (turned) undo_turn(right[t], turn);
    }
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      double left[8];
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const double2 pair = *reinterpret_cast<const double2*>(c + x * piece + 64 * v + 2 * lane);
        left[2 * v] = pair.x;
        left[2 * v + 1] = pair.y;
      }
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_16x8x16(sum[x][t], left, right[t]);
    }
  }
  // What follows a row in memory does not belong to A. We must not multiply with it, not even by zero.
  for (; depth < m; depth += 4, c += 64) {
    const bool inside = depth + depth4 < m;
    double right[tb];
#pragma unroll
    for (int t = 0; t < tb; ++t) right[t] = inside ? static_cast<double>(a[row[t] + depth]) : 0.0;
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      const double2 pair = *reinterpret_cast<const double2*>(c + x * piece + 2 * lane);
      const double left[2] = {pair.x, pair.y};
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_16x8x4(sum[x][t], left, right[t]);
    }
  }
}

/// Adds C^T A^T to sum by 3xTF32, for 8 tb rows at a time.
template <bool turned, int tn, int tb>
__device__ inline void multiply_rows(float (&sum)[tn][tb][4], const float* c, int piece, const float* a,
                                     const int (&row)[tb], int m, int lane) {
  const int turn = turned ? lane / 4 % 4 : 0;
  int depth = 0;
#pragma unroll 1
  for (; depth + 16 <= m; depth += 16, c += 2 * split_step) {
    float right[tb][4];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 4; ++v) right[t][v] = a[row[t] + depth + 4 * (v ^ turn)];
      if (turned) undo_turn(right[t], turn);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float of_half[tb][2];
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        of_half[t][0] = right[t][2 * half];
        of_half[t][1] = right[t][2 * half + 1];
      }
      add_split(sum, c + half * split_step, piece, of_half, lane);
    }
  }
  for (; depth < m; depth += 8, c += split_step) {
    float right[tb][2];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const bool inside = depth + lane % 4 + 4 * v < m;
        right[t][v] = inside ? a[row[t] + depth + 4 * v] : 0.0F;
      }
    }
    add_split(sum, c, piece, right, lane);
  }
}

/// Where a group's results lie in shared memory before they go to B.
template <class Real>
struct Outgoing {
  Real* rows;
  int pitch;  ///< numbers from row to row
};

/// Writes rows by plain stores, where bulk stores cannot: B has gaps, ends within the chunk, or must be read here.
template <class Real>
__device__ inline void store_plain(const TsmmRing<Real>& p, const Outgoing<Real>& out, std::int64_t first_row,
                                   int valid_rows, Factor beta, int thread, int threads) {
  const bool adds = !beta.is_zero() && p.stage_bytes_b == 0;
  const int row_step = threads / p.n;
  const int column_step = threads % p.n;
  int row = thread / p.n;
  int column = thread % p.n;
  // A warp works in lock step and owns complex entries as a whole. It reads both numbers before it writes one.
  while (__any_sync(0xffffffffU, row < valid_rows)) {
    const bool mine = row < valid_rows;
    Real* const to = p.b + (first_row + row) * p.pitch_b;
    double value = 0;
    if (mine) {
      value = out.rows[row * out.pitch + column];
      if (adds) value += scaled_entry(to, column, beta);
    }
    __syncwarp();
    if (mine) to[column] = static_cast<Real>(value);
    row += row_step;
    column += column_step;
    if (column >= p.n) {
      column -= p.n;
      ++row;
    }
  }
}

/// Returns sum + beta times entry `column` of a row. That product alone need not fit into single precision.
template <class Real>
__device__ inline double plus_scaled_entry(double sum, const Real* row, int column, Factor beta) {
  return sum + scaled_entry(row, column, beta);
}
__device__ inline float plus_scaled_entry(float sum, const float* row, int column, Factor beta) {
  if (beta.im == 0) return fmaf(static_cast<float>(beta.re), row[column], sum);
  return static_cast<float>(sum + scaled_entry(row, column, beta));
}

/// A lane writes its entries of 8 tb rows to shared memory. If it `adds`, it adds beta times B's old rows from the
/// stage.
template <bool adds, int tn, int tb, class Number, class Real>
__device__ inline void put_rows(const TsmmRing<Real>& p, const Number (&sum)[tn][tb][4], Real* out, const Real* old,
                                int column, Factor beta, int lane) {
#pragma unroll
  for (int t = 0; t < tb; ++t) {
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const int row = row_of(p.map, 2 * (lane % 4) + odd, t);
      Real* const to = out + row * p.pitch_out + column;
      const Real* const from = old + row * p.old.row_step;
#pragma unroll
      for (int x = 0; x < tn; ++x) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int offset = 16 * x + 8 * half;
          if (column + offset < p.n) {
            Number value = sum[x][t][2 * half + odd];
            if (adds) value = plus_scaled_entry(value, from, column + offset, beta);
            to[offset] = static_cast<Real>(value);
          }
        }
      }
    }
  }
}

/// Computes results that 3xTF32 made infinite or NaN again in double precision, one after the other. So only true
/// infinities remain.
template <int rows, int columns, class Real>
__device__ inline void multiply_plainly(const TsmmRing<Real>& p, const Real* a, Real* out, const Real* old, int column0,
                                        bool adds, Factor beta, int lane) {
  const Factor alpha = p.alpha.read();
#pragma unroll 1
  for (int i = lane; i < rows * columns; i += warp_size) {
    const int row = i / columns;
    const int column = column0 + i % columns;
    if (column >= p.n) continue;
    out[row * p.pitch_out + column] =
        plain_result(p, a + row * p.a.row_step, old + row * p.old.row_step, column, adds, alpha, beta);
  }
}

/// The number of computing warps in a block.
template <int tn, int tb, bool tf32>
inline constexpr int ring_warps = tf32 ? dispatch::split_warps({tn, tb}) : computing_warps;

/// `tf32`: the kernel multiplies by 3xTF32 (tsmm/row_ring_tf32.cuh). tn = 0: threads own rows (tsmm/row_fma.cuh).
template <class Real, int tn, int tb, bool tf32 = false>
__global__ void __launch_bounds__(ring_warps<tn, tb, tf32>* warp_size + loading_threads, 1)
    tsmm_ring_kernel(const __grid_constant__ TsmmRing<Real> p) {
  constexpr int warps = ring_warps<tn, tb, tf32>;
  constexpr int threads = warps * warp_size;
  using Number = std::conditional_t<tf32 || (tn == 0 && tb > dispatch::widest_exact_narrow), float, double>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int bytes_a = stage_bytes<Real>(p.rows, p.a.row_step);
  const int bytes = bytes_a + p.stage_bytes_b;
  const int bytes_out = stage_bytes<Real>(p.rows, p.pitch_out);
  unsigned char* const ring = memory;
  unsigned char* const outgoing = ring + p.stages * bytes;
  Number* const packed = reinterpret_cast<Number*>(outgoing + p.groups * bytes_out);
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(p.warps));
  await_previous_kernel();
  __syncthreads();

  if (warp >= warps) {
    give_registers<40>();
    if (warp > warps) return;
    if (p.stage_bytes_b != 0) {
      load_chunks<true>(p, barriers, chunk_of, ring, bytes_a);
    } else {
      load_chunks<false>(p, barriers, chunk_of, ring, bytes_a);
    }
    return;
  }

  take_registers<warps == computing_warps ? 232 : 152>();
  // The consumers pack C while the first chunks are on their way.
  const Factor beta = p.beta.read();
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (tn == 0) {
    pack_narrow<tb>(p.small, p.m, p.n, p.alpha.read(), packed, thread, threads);
  } else if constexpr (tf32) {
    pack_split(p.small, p.m, p.n, p.warps * tn, p.alpha.read(), packed, thread, threads);
  } else {
    pack(p.small, p.m, p.n, p.alpha.read(), OrderOfPieces{p.warps * tn, (p.m + 3) / 4}, packed, thread, threads);
  }
  meet(1, threads);
  const int group = warp / p.warps;
  if (group >= p.groups) return;
  const int group_threads = p.warps * warp_size;
  const int group_thread = static_cast<int>(threadIdx.x) - group * group_threads;
  const int column0 = warp % p.warps * 16 * tn;
  const int piece = tf32 ? split_piece(p.m) : (p.m + 3) / 4 * 64;
  const Number* const c = packed + column0 / 16 * piece;
  const int shift_out = p.old.segment[0];
  const Outgoing<Real> out{reinterpret_cast<Real*>(outgoing + group * bytes_out) + shift_out, p.pitch_out};
  const bool flat = has_bulk_copies && p.pitch_b == p.n && reinterpret_cast<std::uintptr_t>(p.b) % 16 == 0 &&
                    (beta.is_zero() || p.stage_bytes_b != 0);
  int row_in[tb];
#pragma unroll
  for (int t = 0; t < tb; ++t) row_in[t] = row_of(p.map, lane / 4, t) * p.a.row_step;

  const auto wait_for_room = [&] {  // waits until the results before these have left shared memory
    if (group_thread == 0) bulk_stores_have_read<0>();
    meet(1 + group, group_threads);
  };
  const bool adds = p.stage_bytes_b != 0 && !beta.is_zero();
  RingPosition at{group, 0};
  for (;; at.advance(p.groups, p.stages)) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    const unsigned char* const stage = ring + at.stage * bytes;
    const Real* a = reinterpret_cast<const Real*>(stage) + p.a.segment[0];
    const Real* const old = reinterpret_cast<const Real*>(stage + bytes_a) + shift_out;
    if constexpr (tn == 0) {
      wait_for_room();
      if (adds) {
        narrow_rows<true, tb>(p, packed, a, out.rows, old, beta, lane);
      } else {
        narrow_rows<false, tb>(p, packed, a, out.rows, old, beta, lane);
      }
    } else {
      for (int row0 = 0; row0 < p.rows; row0 += 8 * tb) {
        Number sum[tn][tb][4] = {};
        const Real* const rows = a + row0 * p.a.row_step + lane % 4;
        if (p.a.row_step % 8 == 0) {
          multiply_rows<true>(sum, c, piece, rows, row_in, p.m, lane);
        } else {
          multiply_rows<false>(sum, c, piece, rows, row_in, p.m, lane);
        }
        if (row0 == 0) wait_for_room();
        Real* const to = out.rows + row0 * p.pitch_out;
        const Real* const held = old + row0 * p.old.row_step;
        if (tf32 && !all_finite(sum)) {
          multiply_plainly<8 * tb, 16 * tn>(p, a + row0 * p.a.row_step, to, held, column0, adds, beta, lane);
        } else if (adds) {
          put_rows<true>(p, sum, to, held, column0 + lane / 4, beta, lane);
        } else {
          put_rows<false>(p, sum, to, held, column0 + lane / 4, beta, lane);
        }
      }
    }
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.rows;
    const int valid_rows = static_cast<int>(min(static_cast<std::int64_t>(p.rows), p.k - first_row));
    publish_to_bulk_copies();
    meet(1 + group, group_threads);
    barriers.empty[at.stage].arrive();
    if (p.old.boxed) {
      if (group_thread == 0) store_box(p.old.boxes.map[0], 0, static_cast<int>(first_row), out.rows);
    } else if (flat && valid_rows == p.rows) {
      if (group_thread == 0) {
        bulk_store(p.b + first_row * p.n, out.rows, static_cast<unsigned>(p.rows * p.n * sizeof(Real)));
      }
    } else {
      store_plain(p, out, first_row, valid_rows, beta, group_thread, group_threads);
      meet(1 + group, group_threads);
    }
  }
  if (group_thread == 0) bulk_stores_are_done();
}

}  // namespace blockvec::kernels::cuda
