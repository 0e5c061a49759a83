#pragma once

#include "src/cuda/tsmm/column_ring.cuh"
#include "src/cuda/tsmm/tf32_warpgroup.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// Products of tsmm/column_ring.cuh in single precision, by 3xTF32 of whole warpgroups (tsmm/tf32_warpgroup.cuh).
/// Warpgroups take the chunks' steps of 64 rows in turn.
namespace blockvec::kernels::cuda {

using dispatch::warpgroup_warps;

/// Reads a lane's numbers of A: two rows, 8 apart, in columns q + 4 i. `turns`: half of the lanes swap their rows.
template <int parts, bool turns>
struct ColumnPairs {
  const float* row;  ///< the row that the lane reads first, in its first column
  int to_other;
  int to_four;  ///< numbers from a column to the fourth after it
  int columns;  ///< columns from the lane's first one on
  bool turned;

  __device__ void read(int step, float (&x)[2][2][4]) const {
    constexpr int slots = 8 / parts;
    const float* const first = row + step / 2 * slots * to_four;
    const int left = columns - step / 2 * slots * 4;
    if (__all_sync(0xffffffffU, 4 * (slots - 1) < left)) {
      read<false>(first, left, x);
    } else {
      read<true>(first, left, x);
    }
  }
  template <bool guarded>
  __device__ void read(const float* first, int left, float (&x)[2][2][4]) const {
    constexpr int slots = 8 / parts;
    unrolled<slots>([&](int slot) {
      const bool there = !guarded || 4 * slot < left;
      unrolled<2>([&](int half) {
        const float* const from = first + slot * to_four + half * (turns ? to_other : 8 * parts);
        if constexpr (parts == 2) {
          const float2 both = there ? *reinterpret_cast<const float2*>(from) : make_float2(0, 0);
          x[0][half][slot] = both.x;
          x[1][half][slot] = both.y;
        } else {
          x[slot % 2][half][slot / 2] = there ? *from : 0.0F;
        }
      });
    });
  }
  __device__ void arrange(float (&x)[2][2][4]) const {
    if constexpr (turns) {
      unrolled<8>([&](int i) {
        float& one = x[i / 4][0][i % 4];
        float& other = x[i / 4][1][i % 4];
        const float was = one;
        one = turned ? other : was;
        other = turned ? was : other;
      });
    }
  }
};

/// Where a lane's results of a chunk belong in B: two rows, 8 apart, of columns q + 4 i.
template <int parts>
struct OldNumbers {
  const float* number;   ///< in the lane's first column and row
  std::int64_t to_four;  ///< numbers from a column to the fourth after it
  int columns;           ///< columns from the lane's first one on
  bool there[2];         ///< whether B has the row

  /// Reads the number of slot i; zeros where B ends.
  __device__ float2 read(int slot, int half) const {
    const float* const from = number + slot * to_four + half * 8 * parts;
    if (4 * slot >= columns || !there[half]) return {0, 0};
    if constexpr (parts == 2) return __ldcg(reinterpret_cast<const float2*>(from));
    return {__ldcg(from), 0};
  }

  /// Adds beta B to sums; many loads are under way at a time.
  template <int wide>
  __device__ void add_to(WarpgroupSums<parts, wide>& sums, Factor beta) const {
    constexpr int slots = wide / 4;
    constexpr int batch = slots % 8 == 0 ? 8 : slots % 6 == 0 ? 6 : slots;
#pragma unroll
    for (int first = 0; first < slots; first += batch) {
      float2 old[2 * batch];
      unrolled<2 * batch>([&](int i) { old[i] = read(first + i / 2, i % 2); });
      const auto add = [&](Factor factor) {
        unrolled<2 * batch>([&](int i) {
          const int slot = first + i / 2;
          const int at = slot / 2 * 4 + slot % 2 + 2 * (i % 2);
          add_old<parts>(sums.sum[0][at], sums.sum[parts - 1][at], old[i].x, old[i].y, factor);
        });
      };
      if (parts == 1 || beta.im == 0) {  // one test for the whole batch
        add({beta.re, 0});
      } else {
        add(beta);
      }
    }
  }
};

/// What a computing warp does: its warpgroup takes steps of 64 rows in turn. `right` is the address of C, packed in
/// `steps` steps. B's old numbers are `staged`, or come from the L2 cache if stages would hold too short pieces of
/// columns.
template <int parts, int columns, int chunk_steps, bool turns, bool staged>
__device__ inline void multiply_column_steps(const TsmmColumns<float>& p, ColumnStages& shared, unsigned char* memory,
                                             std::uint32_t right, int steps, int warp) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const bool reads_a = !p.alpha.read().is_zero();
  const Factor beta = p.beta.read();
  const int q = lane % 4;
  // Where columns begin in the same bank, every other lane reads its second row first.
  const bool turned = turns && q % 2 == 1;
  const int row0 = warp % 4 * 16 + lane / 4;
  const int first_row = row0 + (turned ? 8 : 0);
  const int to_other = (turned ? -8 : 8) * parts;
  const int first_a = p.a.shift + q * p.a.pitch + first_row * parts;
  const int first_b = p.offset_b / static_cast<int>(sizeof(float)) + p.b.shift + q * p.b.pitch + first_row * parts;

  RingPosition at{0, 0};
  int step = warp / warpgroup_warps;  // the warpgroup's step in its chunk
  // Goes on to the chunk of this step. It waits for all chunks in turn: else a stage could seem full from an old chunk.
  const auto settle = [&](bool waited) {
    for (; step >= chunk_steps; step -= chunk_steps, waited = false) {
      if (!waited) shared.full[at.stage].wait(at.parity);
      at.advance(1, p.stages);
    }
  };
  settle(false);
  for (;;) {
    shared.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = __shfl_sync(0xffffffffU, shared.chunk_of[at.stage], 0);
    if (chunk == no_chunk) break;
    float* const stage = reinterpret_cast<float*>(memory + at.stage * p.stage_bytes) + step * warpgroup_rows * parts;
    WarpgroupSums<parts, columns> sums;
    sums.clear();
    // The number of a column where the lane's row of this half begins.
    const auto first = [&](int half) { return p.first(chunk) + (step * warpgroup_rows + row0 + 8 * half) * parts; };
    const auto old = [&] {
      const auto there = [&](int half) { return first(half) >= 0 && first(half) < p.length; };
      return OldNumbers<parts>{p.b.data + q * p.b.distance + first(0), 4 * p.b.distance, p.n - q, {there(0), there(1)}};
    };
    bool finite = true;
    if (reads_a) {
      const ColumnPairs<parts, turns> fragments{stage + first_a, to_other, 4 * p.a.pitch, p.m - q, turned};
      multiply_steps(sums, fragments, right, steps);
      finite = __all_sync(0xffffffffU, sums.finite());
    }
    if constexpr (!staged) {
      if (finite && !beta.is_zero()) old().add_to(sums, beta);
    }
    __syncwarp();  // all lanes have read their rows
    float* const out = stage + first_b;
    unrolled<columns / 4>([&](int slot) {
      if (4 * slot >= p.n - q) return;
      const int i = slot / 2 * 4 + slot % 2;
      unrolled<2>([&](int half) {
        float* const to = out + slot * 4 * p.b.pitch + half * (turns ? to_other : 8 * parts);
        float value[2];
        unrolled<parts>(
            [&](int part) { value[part] = (half == 1) != turned ? sums.sum[part][i + 2] : sums.sum[part][i]; });
        if constexpr (staged) {
          add_old<parts>(value[0], value[parts - 1], to[0], to[parts - 1], beta);
        }
        if constexpr (parts == 2) {
          *reinterpret_cast<float2*>(to) = make_float2(value[0], value[1]);
        } else {
          *to = value[0];
        }
      });
    });
    if (!finite) {  // so that only true infinities remain
#pragma unroll 1
      for (int column = q; column < p.n; column += 4) {
        float* const to = out + (column - q) * p.b.pitch;
        unrolled<2, parts>([&](int half, int part) {
          const std::int64_t row = first(turned ? 1 - half : half);
          to[half * to_other + part] = number_in_double<parts>(p, row, column * parts + part);
        });
      }
    }
    publish_to_bulk_copies();
    __syncwarp();
    shared.done[at.stage].arrive();
    step += warpgroups;
    settle(true);
  }
#endif
}

/// `columns`: the most columns of B, a multiple of 8. `chunk_steps`: steps of 64 rows in a chunk.
template <int parts, int columns, int chunk_steps>
struct ColumnTf32 {
  using Real = float;
  static constexpr int warps = warpgroup_warps * warpgroups;
  static constexpr int given_registers = 56, taken_registers = 152;

  __device__ static int warps_of_chunk(const TsmmColumns<Real>&) { return chunk_steps * warpgroup_warps; }
  /// Every warpgroup must find a mark. If a chunk has several steps, it may pass one mark over, but not two.
  __device__ static int marks(const TsmmColumns<Real>&) { return chunk_steps > 1 ? 2 : warpgroups; }
  /// Steps of packed C.
  __device__ static int steps(const TsmmColumns<Real>& p) {
    constexpr int width = 2 * pairs_of_step / parts;  // columns of A in a step
    return (p.m + width - 1) / width;
  }

  __device__ static void pack(const TsmmColumns<Real>& p, float* packed, int thread) {
    const Factor alpha = p.alpha.read();
    const auto entry = [&](int step, int half, int which, int depth, int place) {
      const int row = 4 * (parts == 2 ? 2 * step + half : 4 * step + 2 * half + which) + depth;
      const int column = column_of_pair(place);
      if (row >= p.m || column >= p.n) return 0.0;
      return p.small.scaled(row * parts, column * parts + (parts == 2 ? which : 0), alpha);
    };
    pack_steps(steps(p), columns, packed, thread, warps * warp_size, entry);
  }

  __device__ static void multiply(const TsmmColumns<Real>& p, ColumnStages& shared, unsigned char* memory,
                                  const float* packed, int warp) {
    const auto multiply = [&]<bool turns, bool staged>() {
      multiply_column_steps<parts, columns, chunk_steps, turns, staged>(p, shared, memory, shared_address(packed),
                                                                        steps(p), warp);
    };
    const auto multiply_or_add = [&]<bool turns>() {
      constexpr bool stages_hold_old = dispatch::may_hold_old(parts, chunk_steps, columns / 8);
      if (stages_hold_old && p.loads_b && !p.beta.read().is_zero()) {
        if constexpr (stages_hold_old) multiply.template operator()<turns, true>();
      } else {
        multiply.template operator()<turns, false>();
      }
    };
    p.turns ? multiply_or_add.template operator()<true>() : multiply_or_add.template operator()<false>();
  }
};

}  // namespace blockvec::kernels::cuda
