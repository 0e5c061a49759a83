#pragma once

#include "src/cuda/mma.cuh"
#include "src/cuda/ring.cuh"

/// tsmm on tensor cores: B^T = C^T A^T, A's chunks through a ring, B's chunks through shared memory and bulk stores.
///
/// Blocks that run side by side drift apart and disturb the memory's order, so that chunks are handed out by a ticket
/// rather than in fixed turns. Who computes a row does not change it: results repeat bit for bit all the same.
/// Warp groups take the stages in turn; the warps of a group stand side by side along the columns of B, each with `tn`
/// pieces of 16 columns x `tb` sets of 8 rows in registers.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmRing {
  Stream<Real> a;
  Real* b;
  std::int64_t pitch_b;
  std::int64_t count_b;  ///< real numbers from B's first entry to its last
  int stage_bytes_b;     ///< of B's rows in a stage, to be scaled by beta; 0: they do not come through the ring
  int m, n;
  std::int64_t k;
  std::int64_t chunks;
  int rows;
  int stages;
  int groups;
  int warps;  ///< of a group
  RowMap map;
  Small<Real> small;
  Coefficient<Real> alpha, beta;
  unsigned long long* tickets;  ///< zero at the start
  int chunks_per_ticket;
};

/// C as the tensor cores want it, [piece of 16 columns][depth / 4][lane][2]: every lane reads its 16 bytes at once.
template <class Real>
__device__ inline void pack_small(const Small<Real>& small, int m, int n, int pieces, Factor alpha, double* packed,
                                  int thread, int threads) {
  const int depths = (m + 3) / 4;
  const int count = pieces * depths * 64;
  for (int i = thread; i < count; i += threads) {
    const int lane = i / 2 % 32;
    const int row = i / 64 % depths * 4 + lane % 4;
    const int column = i / 64 / depths * 16 + lane / 4 + 8 * (i % 2);
    packed[i] = row < m && column < n ? small.scaled(row, column, alpha) : 0.0;
  }
}

/// Row of the stage that column i (0..7) of set t of 8 rows stands for: lanes meet different banks, loading and storing.
__device__ inline int row_of(const RowMap& map, int i, int t) {
  const int turn = (i & 4) != 0 ? (i & 3) ^ 1 : i & 3;
  return map.by_lane * turn + map.by_first * (i / 4) + map.by_second * (t % 2) + 16 * (t / 2);
}

/// sum = C^T A^T for 8 tb rows of a stage; `c` points to this warp's pieces of packed C, `a` to this lane's first entries.
template <int tn, int tb, class Real>
__device__ inline void multiply_rows(double (&sum)[tn][tb][4], const double* c, int piece, const Real* a,
                                     const int (&row)[tb], int m, int lane) {
  const int depth4 = lane % 4;
  int depth = 0;
  for (; depth + 16 <= m; depth += 16, c += 4 * 64) {
    double right[tb][4];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 4; ++v) right[t][v] = a[row[t] + depth + 4 * v];
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
  // What follows a row in memory is not ours to multiply with, not even by zero.
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

/// beta times entry `column` of a row of B, which a complex beta takes from two neighbours.
template <class Real>
__device__ inline double scaled_entry(const Real* row, int column, Factor beta) {
  const double own = row[column];
  if (beta.im == 0) return beta.re * own;
  const double other = row[column ^ 1];
  return column % 2 == 0 ? beta.re * own - beta.im * other : beta.re * own + beta.im * other;
}

/// Where a group's results lie in shared memory on their way out.
template <class Real>
struct Outgoing {
  Real* rows;  ///< n numbers a row
  int n;
};

/// The rows that plain stores must write: B has gaps, ends within the chunk, or is read meanwhile.
template <class Real>
__device__ inline void store_plain(const TsmmRing<Real>& p, const Outgoing<Real>& out, std::int64_t first_row,
                                   int valid_rows, Factor beta, int thread, int threads) {
  const bool adds = !beta.is_zero() && p.stage_bytes_b == 0;
  const int row_step = threads / p.n;
  const int column_step = threads % p.n;
  int row = thread / p.n;
  int column = thread % p.n;
  // Both numbers of a complex entry are read before either is written: they are this warp's, in lock step.
  while (__any_sync(0xffffffffU, row < valid_rows)) {
    const bool mine = row < valid_rows;
    Real* const to = p.b + (first_row + row) * p.pitch_b;
    double value = 0;
    if (mine) {
      value = out.rows[row * p.n + column];
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

/// The warp that loads: takes tickets, fills stages, and tells every group when there is nothing more.
template <class Real>
__device__ inline void load_chunks(const TsmmRing<Real>& p, RingBarriers& barriers, std::int64_t* chunk_of,
                                   unsigned char* ring, int bytes_a, int lane) {
  RingPosition at{0, 1};
  const int bytes = bytes_a + p.stage_bytes_b;
  const auto take_ticket = [&] {
    unsigned long long ticket = 0;
    if (lane == 0) ticket = atomicAdd(p.tickets, 1ULL);
    return ticket;
  };
  const auto first_chunk = [&](unsigned long long ticket) {
    return static_cast<std::int64_t>(__shfl_sync(0xffffffffU, ticket, 0)) * p.chunks_per_ticket;
  };
  std::int64_t first = first_chunk(take_ticket());
  while (first < p.chunks) {
    const unsigned long long next = take_ticket();  // on its way while these chunks are loaded
    for (std::int64_t chunk = first; chunk < first + p.chunks_per_ticket && chunk < p.chunks; ++chunk) {
      barriers.empty[at.stage].wait(at.parity);
      unsigned char* const stage = ring + at.stage * bytes;
      const ChunkCopy<Real> a(p.a, chunk, p.rows, stage);
      if (lane == 0) chunk_of[at.stage] = chunk;
      if (p.stage_bytes_b != 0) {
        const ChunkCopy<Real> b(Stream<Real>{p.b, p.count_b, static_cast<int>(p.pitch_b)}, chunk, p.rows,
                                stage + bytes_a);
        fill_stage(a, &b, barriers.full[at.stage], lane);
      } else {
        fill_stage<Real>(a, nullptr, barriers.full[at.stage], lane);
      }
      at.advance(1, p.stages);
    }
    first = first_chunk(next);
  }
  for (int group = 0; group < p.groups; ++group) {
    barriers.empty[at.stage].wait(at.parity);
    if (lane == 0) {
      chunk_of[at.stage] = -1;
      barriers.full[at.stage].arrive();
    }
    at.advance(1, p.stages);
  }
}

template <class Real, int tn, int tb>
__global__ void __launch_bounds__(block_threads, 1) tsmm_ring_kernel(const TsmmRing<Real> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::int64_t chunk_of[max_stages];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int bytes_a = stage_bytes<Real>(p.rows, p.a.pitch);
  const int bytes = bytes_a + p.stage_bytes_b;
  const int bytes_out = stage_bytes<Real>(p.rows, p.n);
  unsigned char* const ring = memory;
  unsigned char* const outgoing = ring + p.stages * bytes;
  double* const packed = reinterpret_cast<double*>(outgoing + p.groups * bytes_out);
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(p.warps));
  const Factor beta = p.beta.read();
  pack_small(p.small, p.m, p.n, p.warps * tn, p.alpha.read(), packed, static_cast<int>(threadIdx.x), block_threads);
  __syncthreads();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (warp == computing_warps) load_chunks(p, barriers, chunk_of, ring, bytes_a, lane);
    return;
  }

  take_registers<232>();
  const int group = warp / p.warps;
  if (group >= p.groups) return;
  const int group_threads = p.warps * warp_size;
  const int group_thread = static_cast<int>(threadIdx.x) - group * group_threads;
  const int column0 = warp % p.warps * 16 * tn;
  const int piece = (p.m + 3) / 4 * 64;
  const double* const c = packed + column0 / 16 * piece;
  const int shift_out = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.b) % line_bytes / sizeof(Real));
  const Outgoing<Real> out{reinterpret_cast<Real*>(outgoing + group * bytes_out) + shift_out, p.n};
  const bool flat = p.pitch_b == p.n && reinterpret_cast<std::uintptr_t>(p.b) % 16 == 0 &&
                    (beta.is_zero() || p.stage_bytes_b != 0);
  int row_in[tb];
#pragma unroll
  for (int t = 0; t < tb; ++t) row_in[t] = row_of(p.map, lane / 4, t) * p.a.pitch;

  RingPosition at{group, 0};
  for (;; at.advance(p.groups, p.stages)) {
    barriers.full[at.stage].wait(at.parity);
    const std::int64_t chunk = chunk_of[at.stage];
    if (chunk < 0) break;
    const unsigned char* const stage = ring + at.stage * bytes;
    const Real* a = reinterpret_cast<const Real*>(stage) + stage_shift(p.a) + lane % 4;
    const Real* const old = reinterpret_cast<const Real*>(stage + bytes_a) + shift_out;
    for (int row0 = 0; row0 < p.rows; row0 += 8 * tb, a += 8 * tb * p.a.pitch) {
      double sum[tn][tb][4] = {};
      multiply_rows(sum, c, piece, a, row_in, p.m, lane);
      if (row0 == 0) {  // the results before these have left shared memory
        if (group_thread == 0) bulk_stores_have_read<0>();
        meet(1 + group, group_threads);
      }
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int row = row0 + row_of(p.map, 2 * (lane % 4) + v % 2, t);
#pragma unroll
          for (int x = 0; x < tn; ++x) {
            const int column = column0 + 16 * x + lane / 4 + 8 * (v / 2);
            if (column < p.n) {
              double value = sum[x][t][v];
              if (p.stage_bytes_b != 0 && !beta.is_zero()) {
                value += scaled_entry(old + row * p.pitch_b, column, beta);
              }
              out.rows[row * p.n + column] = static_cast<Real>(value);
            }
          }
        }
      }
    }
    const std::int64_t first_row = chunk * p.rows;
    const int valid_rows = static_cast<int>(min(static_cast<std::int64_t>(p.rows), p.k - first_row));
    publish_to_bulk_copies();
    meet(1 + group, group_threads);
    if (lane == 0) barriers.empty[at.stage].arrive();
    if (flat && valid_rows == p.rows) {
      if (group_thread == 0) {
        bulk_store(p.b + first_row * p.n, out.rows, static_cast<unsigned>(p.rows * p.n * sizeof(Real)));
      }
    } else {
      store_plain(p, out, first_row, valid_rows, beta, group_thread, group_threads);
      meet(1 + group, group_threads);
    }
  }
  if (group_thread == 0) bulk_stores_are_done();
#endif
}

}  // namespace blockvec::kernels::cuda
