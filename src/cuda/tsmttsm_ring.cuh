#pragma once

#include "src/cuda/mma.cuh"
#include "src/cuda/ring.cuh"
#include "src/cuda/succession.cuh"

/// tsmttsm on tensor cores, fed by a ring of bulk copies: P = A^T B of real views, one partial sum a block.
///
///            warps_n warps                     Warp groups take the stages in turn; the warps of a group share the
///           +----+----+                        result of a stage as shown, each with tm x tn pieces of 16 x 8 in
///   warps_m | wm |    |  16 tm rows a warp     registers, through all chunks of the block. At the end the groups' sums
///   are
///           +----+----+                        added in shared memory in fixed order.
///            8 tn columns a warp
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmRing {
  Stream<Real> a, b;
  bool same;  ///< B is A: a stage holds its rows once
  int m, n;
  std::uint32_t chunks;
  int rows;  ///< of a chunk
  int stages;
  int warps_m, warps_n;
  int groups;
  RowMap map;
  Coefficient<Real> alpha;
  double* partial;  ///< [block][m][n]
};

/// sum += A^T B over the rows of a stage; a and b point to this lane's first entries.
template <int tm, int tn, class Real>
__device__ inline void accumulate(double (&sum)[tm][tn][4], const Real* a, int pitch_a, const Real* b, int pitch_b,
                                  const RowMap& map, int rows) {
  for (int step = 0; step < rows; step += 16, a += 16 * pitch_a, b += 16 * pitch_b) {
    double left[tm][8];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const Real* const from = a + (map.by_first * (j % 2) + map.by_second * (j / 2)) * pitch_a;
#pragma unroll
      for (int x = 0; x < tm; ++x) {
        left[x][2 * j] = from[16 * x];
        left[x][2 * j + 1] = from[16 * x + 8];
      }
    }
#pragma unroll
    for (int y = 0; y < tn; ++y) {
      double right[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        right[j] = b[(map.by_first * (j % 2) + map.by_second * (j / 2)) * pitch_b + 8 * y];
      }
#pragma unroll
      for (int x = 0; x < tm; ++x) multiply_16x8x16(sum[x][y], left[x], right);
    }
  }
}

/// The warp that loads: a block's chunks in fixed turns.
template <bool two, class Real>
__device__ inline void load_chunks(const TsmttsmRing<Real>& p, RingBarriers& barriers, unsigned char* ring,
                                   int bytes_a) {
  const Feed<Real> a(p.a, p.rows);
  const Feed<Real> b(p.b, p.rows);
  const int bytes = bytes_a + (two ? stage_bytes<Real>(p.rows, p.b.pitch) : 0);
  RingPosition at{0, 1};  // the first round finds the stages empty
  for (std::uint32_t chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
    barriers.empty[at.stage].wait(at.parity);
    fill_stage<two>(a, b, bytes_a, chunk, ring + at.stage * bytes, barriers.full[at.stage]);
    at.advance(1, p.stages);
  }
}

/// Visits the entries of P that a lane holds: visit(entry, row in the warp's tile, column in it).
template <int tm, int tn, class Visit>
__device__ inline void for_each_entry(double (&sum)[tm][tn][4], int lane, Visit&& visit) {
#pragma unroll
  for (int x = 0; x < tm; ++x) {
#pragma unroll
    for (int y = 0; y < tn; ++y) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        visit(sum[x][y][v], 16 * x + lane / 4 + 8 * (v / 2), 8 * y + 2 * (lane % 4) + v % 2);
      }
    }
  }
}

template <class Real, int tm, int tn>
__global__ void __launch_bounds__(block_threads, 1) tsmttsm_ring_kernel(const TsmttsmRing<Real> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  if (p.alpha.read().is_zero()) return;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int group_warps = p.warps_m * p.warps_n;
  const int bytes_a = stage_bytes<Real>(p.rows, p.a.pitch);
  const int bytes = p.same ? bytes_a : bytes_a + stage_bytes<Real>(p.rows, p.b.pitch);
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(group_warps));
  __syncthreads();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (warp > computing_warps) return;
    if (p.same) {
      load_chunks<false>(p, barriers, memory, bytes_a);
    } else {
      load_chunks<true>(p, barriers, memory, bytes_a);
    }
    return;
  }

  take_registers<232>();
  const int group = warp / group_warps;
  if (group >= p.groups) return;
  const int row0 = warp % group_warps / p.warps_n * 16 * tm;
  const int column0 = warp % p.warps_n * 8 * tn;
  const int first_row = p.map.by_lane * (lane % 4);
  const int offset_a = stage_shift(p.a) + first_row * p.a.pitch + row0 + lane / 4;
  const int offset_b = stage_shift(p.b) + first_row * p.b.pitch + column0 + lane / 4;
  double sum[tm][tn][4] = {};
  RingPosition at{group, 0};
  // Chunks blockIdx.x, blockIdx.x + gridDim.x, ... are this block's; the groups take them in turn.
  const int turns = static_cast<int>((p.chunks - blockIdx.x + gridDim.x - 1) / gridDim.x);
  for (int turn = group; turn < turns; turn += p.groups) {
    barriers.full[at.stage].wait(at.parity);
    const unsigned char* const stage = memory + at.stage * bytes;
    const Real* const a = reinterpret_cast<const Real*>(stage);
    const Real* const b = reinterpret_cast<const Real*>(p.same ? stage : stage + bytes_a);
    accumulate(sum, a + offset_a, p.a.pitch, b + offset_b, p.b.pitch, p.map, p.rows);
    barriers.empty[at.stage].arrive();
    at.advance(p.groups, p.stages);
  }

  // The stages are read: their memory takes the groups' sums, added in the order of the groups.
  double* const total = reinterpret_cast<double*>(memory);
  const int total_pitch = p.warps_n * 8 * tn;
  const int threads = p.groups * group_warps * warp_size;
  for (int turn = 0; turn < p.groups; ++turn) {
    meet(1, threads);
    if (turn != group) continue;
    for_each_entry(sum, lane, [&](double entry, int row, int column) {
      double& out = total[(row0 + row) * total_pitch + column0 + column];
      out = turn == 0 ? entry : out + entry;
    });
  }
  meet(1, threads);
  double* const partial = p.partial + static_cast<std::int64_t>(blockIdx.x) * p.m * p.n;
  for (int i = static_cast<int>(threadIdx.x); i < p.m * p.n; i += threads) {
    partial[i] = total[i / p.n * total_pitch + i % p.n];
  }
#endif
}

}  // namespace blockvec::kernels::cuda
