#pragma once

#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/tsmm/row_ring.cuh"

/// tsmm for a wide A and few columns of B. The warps of a group stand side by side along the columns of A. Each warp
/// keeps its rows of C in registers, so that only A passes through shared memory. There the warps also add up their
/// sums.
namespace blockvec::kernels::cuda {

/// A warp's part of C, for `pieces` x 16 columns of B and `columns` columns of A. A lane takes neighbouring columns of
/// A in one load: of 16 columns, lane q takes 2 q, 2 q + 1, 2 q + 8, and 2 q + 9.
template <int pieces, int columns>
class DeepFactor {
 public:
  __device__ DeepFactor(const TsmmRing<double>& p, int first_depth, int lane) {
    const Factor alpha = p.alpha.read();
    const auto visit = [&](const auto& entry) {
#pragma unroll
      for (int s = 0; s < steps; ++s) {
#pragma unroll
        for (int x = 0; x < pieces; ++x) {
#pragma unroll
          for (int v = 0; v < 8; ++v) {
            const int depth = first_depth + 16 * s + 2 * (lane % 4) + v / 2 % 2 + v / 4 * 8;
            const int column = 16 * x + lane / 4 + v % 2 * 8;
            left_[s][x][v] = depth < p.m && column < p.n ? entry(depth, column) : 0.0;
          }
        }
      }
    };
    if (p.small.parts == 1 && p.small.half == Half::none) {  // all loads at once, without branches
      const double* const data = p.small.data;
      visit([&](int depth, int column) {
        return alpha.re * data[depth * p.small.row_stride + column * p.small.column_stride];
      });
    } else {
      visit([&](int depth, int column) { return p.small.scaled(depth, column, alpha); });
    }
  }

  /// Adds C^T A^T to sum for 8 rows. `a` points to this lane's first entry, from which A has `m` more columns. Lanes
  /// with `turn` 8 rather than 0 read the second half of a step first. So lanes meet different banks where all rows
  /// begin in the same bank.
  __device__ void multiply(double (&sum)[pieces][4], const double* a, int m, int turn) const {
#pragma unroll
    for (int first = 0; first < steps; first += at_once) {
      double right[at_once][4];
#pragma unroll
      for (int s = 0; s < at_once; ++s) {
        double2 pair[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int depth = 16 * (first + s) + (half == 0 ? turn : 8 - turn);
          pair[half] = depth < m ? *reinterpret_cast<const double2*>(a + depth) : make_double2(0, 0);
        }
        right[s][0] = turn == 0 ? pair[0].x : pair[1].x;
        right[s][1] = turn == 0 ? pair[0].y : pair[1].y;
        right[s][2] = turn == 0 ? pair[1].x : pair[0].x;
        right[s][3] = turn == 0 ? pair[1].y : pair[0].y;
      }
#pragma unroll
      for (int s = 0; s < at_once; ++s) {
#pragma unroll
        for (int x = 0; x < pieces; ++x) multiply_16x8x16(sum[x], left_[first + s][x], right[s]);
      }
    }
  }

 private:
  static constexpr int steps = columns / 16;
  static constexpr int at_once = 4;  // as many as registers can hold
  double left_[steps][pieces][8];
};

/// Adds up the warps' sums of 8 rows; the threads of a group share out the entries. All warps' sums lie in shared
/// memory in the order of B's rows. Rows lie so far apart that lanes meet different banks when they write sums.
template <int pieces>
class DeepResults {
 public:
  static constexpr int pitch = 16 * pieces + 2;
  static constexpr int of_warp = 8 * pitch;

  __device__ DeepResults(const TsmmRing<double>& p, int thread, int threads)
      : p_(p), beta_(p.beta.read()), thread_(thread), threads_(threads) {
#pragma unroll
    for (int i = 0; i < most; ++i) {
      const int row = (thread + i * threads) / p.n;
      const int column = (thread + i * threads) % p.n;
      from_[i] = row * pitch + column;
      to_[i] = row * static_cast<int>(p.pitch_b) + column;
    }
  }

  /// Writes a warp's sums to shared memory; `place` points to the first one.
  __device__ static void put(const double (&sum)[pieces][4], double* place, int lane) {
    double* const mine = place + 2 * (lane % 4) * pitch + lane / 4;
#pragma unroll
    for (int x = 0; x < pieces; ++x) {
#pragma unroll
      for (int v = 0; v < 4; ++v) mine[v % 2 * pitch + 16 * x + v / 2 * 8] = sum[x][v];
    }
  }

  /// Starts 8 rows from `first_row` on. `old` points to B's old rows in the stage, or is null if these are in B.
  __device__ void begin(std::int64_t first_row, const double* old) {
    count_ = static_cast<int>(min(std::int64_t{8}, p_.k - first_row)) * p_.n;
    b_ = p_.b + first_row * p_.pitch_b;
    if (beta_.is_zero()) return;
    const double* const from = old != nullptr ? old : b_;
#pragma unroll
    for (int i = 0; i < most; ++i) old_[i] = is_there(i) ? scaled_entry(from, to_[i], beta_) : 0.0;
  }

  /// Adds the sums of all warps at `places` and writes these rows to B.
  __device__ void finish(const double* places) const {
#pragma unroll
    for (int i = 0; i < most; ++i) {
      if (!is_there(i)) continue;
      double value[2] = {beta_.is_zero() ? 0.0 : old_[i], 0.0};
#pragma unroll
      for (int w = 0; w < computing_warps; ++w) {
        if (w < dispatch::least_deep_warps || w < p_.warps) value[w % 2] += places[from_[i] + w * of_warp];
      }
      b_[to_[i]] = value[0] + value[1];
    }
  }

 private:
  static constexpr int most = pieces * 4 / dispatch::least_deep_warps;  // the most results of a thread
  __device__ bool is_there(int i) const { return thread_ + i * threads_ < count_; }

  const TsmmRing<double>& p_;
  Factor beta_;
  int thread_, threads_;
  /// Place of each result from the first of 8 rows on, in shared memory and in B.
  int from_[most], to_[most];
  double old_[most];
  int count_ = 0;
  double* b_ = nullptr;
};

template <int pieces, int columns>
__global__ void __launch_bounds__(block_threads, 1) tsmm_deep_kernel(const __grid_constant__ TsmmRing<double> p) {
  using Results = DeepResults<pieces>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ Barrier sums_are_there[computing_warps];  // one for each group
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int bytes_a = stage_bytes<double>(p.rows, p.a.row_step);
  const int bytes = bytes_a + p.stage_bytes_b;
  if (threadIdx.x == 0) {
    for (int i = 0; i < p.groups; ++i) sums_are_there[i].initialize(static_cast<unsigned>(p.warps * warp_size));
    barriers.initialize(p.stages, static_cast<unsigned>(p.warps));
  }
  await_previous_kernel();
  __syncthreads();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (warp > computing_warps) return;
    if (p.stage_bytes_b != 0) {
      load_chunks<true>(p, barriers, chunk_of, memory, bytes_a);
    } else {
      load_chunks<false>(p, barriers, chunk_of, memory, bytes_a);
    }
    return;
  }

  take_registers<232>();
  const int group = warp / p.warps;
  if (group >= p.groups) return;
  const int place = warp % p.warps;
  const int threads = p.warps * warp_size;
  const int first_depth = place * columns;
  const DeepFactor<pieces, columns> factor(p, first_depth, lane);
  Results results(p, place * warp_size + lane, threads);
  const int start = p.a.segment[0] + lane / 4 * p.a.row_step + first_depth + 2 * (lane % 4);
  const int m = p.m - first_depth - 2 * (lane % 4);
  const int shift_b = p.old.segment[0];
  const int bank_turn = p.a.row_step % 16 == 0 ? lane / 4 % 2 * 8 : 0;
  // Threads add the sums of one turn while warps multiply the next one. There are two buffers of sums, used in turn. A
  // lane that arrives with new sums has already added those of the turn before.
  const int of_turn = p.warps * Results::of_warp;
  double* const sums = reinterpret_cast<double*>(memory + p.stages * bytes) + group * 2 * of_turn;
  unsigned turn = 0;
  bool begun = false;

  RingPosition at{group, 0};
  for (;; at.advance(p.groups, p.stages)) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    const double* const a = reinterpret_cast<const double*>(memory + at.stage * bytes) + start;
    const double* const old =
        p.stage_bytes_b != 0 ? reinterpret_cast<const double*>(memory + at.stage * bytes + bytes_a) + shift_b : nullptr;
    for (int row0 = 0; row0 < p.rows; row0 += 8) {
      double sum[pieces][4] = {};
      factor.multiply(sum, a + row0 * p.a.row_step, m, bank_turn);
      if (begun) sums_are_there[group].wait(turn ^ 1U);
      results.finish(sums + (turn ^ 1U) * of_turn);
      results.begin(static_cast<std::int64_t>(chunk) * p.rows + row0, old == nullptr ? old : old + row0 * p.pitch_b);
      Results::put(sum, sums + turn * of_turn + place * Results::of_warp, lane);
      if (row0 + 8 == p.rows) barriers.empty[at.stage].arrive();
      sums_are_there[group].arrive();
      begun = true;
      turn ^= 1U;
    }
  }
  if (begun) sums_are_there[group].wait(turn ^ 1U);
  results.finish(sums + (turn ^ 1U) * of_turn);
}

}  // namespace blockvec::kernels::cuda
