#pragma once

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/ptx/wgmma_tf32.cuh"
#include "src/cuda/tsmm/row_ring.cuh"

/// tsmm in single precision by 3xTF32 products (math/tf32x3.cuh) of whole warpgroups. A's rows come through a ring and
/// go to registers; C lies in shared memory in two TF32 halves. Results take the place of A's rows in the stage. In an
/// update they take the place of B's old rows, which came with A's. One warp stores them in bulk.
///
/// Two neighbours of a row of A are a pair: the parts of a complex number, or two real ones. The first and the second
/// numbers of pairs are separate factors, each with its rows of C. Rows of odd width are read number by number.
namespace blockvec::kernels::cuda {

using dispatch::warpgroup_rows;
inline constexpr int warpgroups = dispatch::tsmm_warpgroups;
inline constexpr int warpgroup_block_threads = (warpgroups + 1) * warpgroup_threads;
inline constexpr int pairs_of_step = 8;  ///< pairs of a row of A in a step

/// Numbers of packed C for a step of 8 pairs: [first, second][high, low][8 rows x columns].
__host__ __device__ constexpr int step_numbers(int columns) { return 4 * right_factor_rows * columns; }

/// Which rows of C and columns of B lanes take where neighbours are no pairs. A lane's own stand side by side, so that
/// an odd distance from row to row sends lanes to different banks.
struct OddWidths {
  /// The column of A for slot 2 v + which of lane q; `first` is a multiple of 32.
  __device__ static int depth(int first, int m, int q, int slot) { return first + (m - first > 16 ? 8 : 4) * q + slot; }
  /// The column of B for number `which` of lane q in block j of 8 columns.
  template <int columns>
  __device__ static int column(int j, int q, int which) {
    const int blocks = min(4, columns / 8 - j / 4 * 4);
    return j / 4 * 32 + 2 * (blocks * q + j % 4) + which;
  }
};

/// Packs C in two TF32 halves. entry(step, half, which, depth, column) returns an entry of alpha C. A step has 8 pairs,
/// `half` selects four of them, `which` their first or second numbers, and `depth` one pair of the four.
template <class Entry>
__device__ inline void pack_steps(int steps, int columns, float* packed, int thread, int threads, const Entry& entry) {
  const int count = steps * 2 * right_factor_rows * columns;
  for (int i = thread; i < count; i += threads) {
    const int column = i / 32 % (columns / 8) * 8 + i / 4 % 8;
    const SplitNumber both = split(
        static_cast<float>(entry(i / (16 * columns), i / (4 * columns) % 2, i / (8 * columns) % 2, i % 4, column)));
    float* const to = packed + (i / (8 * columns)) * 16 * columns + i % (8 * columns);
    to[0] = __uint_as_float(both.high);
    to[8 * columns] = __uint_as_float(both.low);
  }
}

/// The complex column of B at a place of packed C: a lane's two results of a block of 8 stand 4 apart.
__device__ inline int column_of_pair(int column) { return column / 8 * 8 + column % 8 / 2 + 4 * (column % 2); }

/// Returns entries of alpha C, m x n real numbers, for pairs of neighbours.
template <class Task>
struct PairedEntries {
  const Task& p;
  int m, n;
  Factor alpha;

  __device__ double operator()(int step, int half, int which, int depth, int column) const {
    const int pair = step * pairs_of_step + 4 * half + depth;
    const bool is_complex = p.small.parts == 2;
    const int row = is_complex ? 2 * pair : 2 * pair + which;
    if (is_complex) column = 2 * column_of_pair(column) + which;
    return row < m && column < n ? p.small.scaled(row, column, alpha) : 0.0;
  }
};

/// Returns whether `holds` is true for all threads that share barrier `name`; they wait for one another.
__device__ inline bool all_meet(int name, int threads, bool holds) {
  unsigned all = 0;
  asm volatile(
      "{ .reg .pred mine, all;\n"
      "setp.ne.u32 mine, %1, 0;\n"
      "bar.red.and.pred all, %2, %3, mine;\n"
      "selp.u32 %0, 1, 0, all; }"
      : "=r"(all)
      : "r"(holds ? 1U : 0U), "r"(name), "r"(threads)
      : "memory");
  return all != 0;
}

inline constexpr std::uint32_t nothing_to_store = no_chunk - 1;

/// A warpgroup's sums of 64 rows; complex ones in two parts.
template <int parts, int columns>
struct WarpgroupSums {
  float sum[parts][columns / 2];

  __device__ void clear() {
    unrolled<parts * columns / 2>([&](int i) { (&sum[0][0])[i] = 0; });
  }

  __device__ bool finite() const { return all_finite<parts * columns / 2>(&sum[0][0]); }

  template <int target, int sign>
  __device__ void start(const unsigned (&left)[2][4], std::uint32_t right) {
    constexpr int part_bytes = right_factor_rows * columns * static_cast<int>(sizeof(float));
    constexpr int to_four_rows = 4 * columns * static_cast<int>(sizeof(float));
    // Small products come first.
    start_product<sign>(sum[target], left[1], right_factor(right, to_four_rows));
    start_product<sign>(sum[target], left[0], right_factor(right + part_bytes, to_four_rows));
    start_product<sign>(sum[target], left[0], right_factor(right, to_four_rows));
  }

  /// left[first, second][high, low][...]; `right` is the address of a step of packed C.
  __device__ void start_step(const unsigned (&left)[2][2][4], std::uint32_t right) {
    constexpr int second = step_numbers(columns) / 2 * static_cast<int>(sizeof(float));
    if constexpr (parts == 2) {
      start<0, 1>(left[0], right);
      start<1, 1>(left[0], right + second);
      start<0, -1>(left[1], right + second);
      start<1, 1>(left[1], right);
    } else {
      start<0, 1>(left[0], right);
      start<0, 1>(left[1], right + second);
    }
  }

  /// Returns a lane's results of row g (half 0) or g + 8 (half 1) as pairs. Of 16 neighbouring pairs, lane q has four:
  /// 4 v + q.
  __device__ void pairs(int sixteen, int half, float (&first)[4], float (&second)[4]) const {
    unrolled<4>([&](int v) {
      const int block = parts == 2 ? 2 * sixteen + v / 2 : 4 * sixteen + v;
      const int i = 4 * block + 2 * half + (parts == 2 ? v % 2 : 0);
      const bool there = block < columns / 8;
      first[v] = there ? sum[0][i] : 0.0F;
      second[v] = !there ? 0.0F : parts == 2 ? sum[parts - 1][i] : sum[0][i + 1];
    });
  }
};

/// Adds A C to sums. `fragments` give a lane's numbers of its two rows. read(step, x) loads two steps of 8 pairs:
/// x[first, second][row][v] of pairs q + 4 v. arrange(x) puts them in order when they have arrived.
template <int parts, int columns, class Fragments>
__device__ inline void multiply_steps(WarpgroupSums<parts, columns>& sums, const Fragments& fragments,
                                      std::uint32_t right, int steps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr int step_bytes = step_numbers(columns) * static_cast<int>(sizeof(float));
  float next[2][2][4];
  fragments.read(0, next);
#pragma unroll 1
  for (int step = 0; step < steps; step += 2) {
    fragments.arrange(next);
    unsigned left[2][2][2][4];  // [step][first, second][high, low]
    unrolled<2, 2, 4>([&](int which, int half, int v) {
      unsigned(&to)[2][4] = left[v / 2][which];
      split(next[which][half][v], to[0][2 * (v % 2) + half], to[1][2 * (v % 2) + half]);
    });
    open_products();
    sums.start_step(left[0], right + step * step_bytes);
    if (step + 1 < steps) sums.start_step(left[1], right + (step + 1) * step_bytes);
    commit_products();
    if (step + 2 < steps) fragments.read(step + 2, next);
    await_products(sums.sum);
  }
#endif
}

/// Fragments of two rows of a stage, read in pairs. Where rows begin in the same bank, lanes read in different orders.
struct PairedRows {
  const float2* row[2];  ///< this lane's first pair
  int pairs;             ///< pairs from there on
  int turn;

  __device__ void read(int step, float (&x)[2][2][4]) const {
    unrolled<2, 4>([&](int half, int v) {
      const int at = pairs_of_step * step + 4 * (v ^ turn);
      const float2 both = at < pairs ? row[half][at] : make_float2(0, 0);
      x[0][half][v] = both.x;
      x[1][half][v] = both.y;
    });
  }
  __device__ void arrange(float (&x)[2][2][4]) const {
    if (turn == 0) return;
    unrolled<4>([&](int i) { undo_turn(x[i / 2][i % 2], turn); });
  }
};

/// Fragments of two rows of odd width.
struct OddRows {
  const float* row[2];
  int m;
  int q;

  __device__ void read(int step, float (&x)[2][2][4]) const {
    const int first = OddWidths::depth(16 * step, m, q, 0);
    unrolled<2, 8>(
        [&](int half, int slot) { x[slot % 2][half][slot / 2] = first + slot < m ? row[half][first + slot] : 0.0F; });
  }
  __device__ void arrange(float (&)[2][2][4]) const {}
};

/// The storing warp stores results stage by stage and hands the stages back. `results`: where the first stage has them.
__device__ inline void store_chunks(const TsmmRing<float>& p, RingBarriers& barriers, Barrier* done,
                                    const std::uint32_t* chunk_of, const unsigned char* results, int bytes) {
  RingPosition at{0, 0};
  for (;; at.advance(1, p.stages)) {
    done[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    if (chunk != nothing_to_store && elected()) {
      const float* const from = reinterpret_cast<const float*>(results + at.stage * bytes) + p.old.segment[0];
      bulk_store(p.b + static_cast<std::int64_t>(chunk) * p.rows * p.n, from,
                 static_cast<unsigned>(p.rows * p.n * sizeof(float)));
      bulk_stores_have_read();
    }
    __syncwarp();
    barriers.empty[at.stage].arrive();
  }
  if (elected()) bulk_stores_are_done();
}

/// `updates`: B's old rows come through the ring, and beta times them is added.
template <int parts, int columns, bool paired, bool updates>
__global__ void __launch_bounds__(warpgroup_block_threads, 1)
    tsmm_warpgroup_kernel(const __grid_constant__ TsmmRing<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ Barrier done[max_stages];
  __shared__ std::uint32_t chunk_of[max_stages];
  release_next_kernel();
  // The compiler must see that all lanes of a warp take the same path: asynchronous products (wgmma) need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int bytes_a = stage_bytes<float>(p.rows, updates ? p.a.row_step : max(p.a.row_step, p.n));
  const int bytes = bytes_a + p.stage_bytes_b;
  const int results_at = updates ? bytes_a : 0;  // where results lie in a stage
  const int steps = (p.m + 2 * pairs_of_step - 1) / (2 * pairs_of_step);
  float* const packed = reinterpret_cast<float*>(memory);
  unsigned char* const ring = memory + steps * step_numbers(columns) * static_cast<int>(sizeof(float));
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) done[s].initialize(warpgroup_threads);
    barriers.initialize(p.full_barriers, 1);
  }
  await_previous_kernel();
  if (!p.condition.holds()) return;
  __syncthreads();

  if (warp >= 4 * warpgroups) {
    give_registers<32>();
    if (warp == 4 * warpgroups) load_chunks<updates>(p, barriers, chunk_of, ring, bytes_a);
    if (warp == 4 * warpgroups + 1) store_chunks(p, barriers, done, chunk_of, ring + results_at, bytes);
    return;
  }

  take_registers<160>();
  const auto pack = [&](const auto& entry) {
    pack_steps(steps, columns, packed, static_cast<int>(threadIdx.x), warpgroups * warpgroup_threads, entry);
  };
  const Factor alpha = p.alpha.read();
  if constexpr (paired) {
    pack(PairedEntries<TsmmRing<float>>{p, p.m, p.n, alpha});
  } else {
    pack([&](int step, int half, int which, int depth, int place) {
      const int row = OddWidths::depth(step / 2 * 32, p.m, depth, 4 * (step % 2) + 2 * half + which);
      const int column = OddWidths::column<columns>(place / 8, place % 8 / 2, place % 2);
      return row < p.m && column < p.n ? p.small.scaled(row, column, alpha) : 0.0;
    });
  }
  publish_to_bulk_copies();
  meet(1, warpgroups * warpgroup_threads);
  const int group = warp / 4;
  const int group_thread = static_cast<int>(threadIdx.x) % warpgroup_threads;
  const bool flat = p.pitch_b == p.n && reinterpret_cast<std::uintptr_t>(p.b) % 16 == 0;
  const std::uint32_t right = shared_address(packed);
  int row_of_half[2];
  unrolled<2>([&](int half) { row_of_half[half] = warp % 4 * 16 + row_of(p.map, lane / 4, half); });
  const int q = lane % 4;
  const bool turns_out = p.n % 16 == 0;
  const int turn_in = p.a.row_step % 16 == 0 ? lane / 4 % 4 : 0;
  const int turn_out = turns_out ? lane / 4 % 4 : 0;
  const Factor beta = updates ? p.beta.read() : Factor{0, 0};
  const bool adds = updates && !beta.is_zero();

  RingPosition told{group, 0};
  for (;; told.advance(warpgroups, p.full_barriers)) {
    barriers.full[told.stage].wait(told.parity);
    int at = told.stage;  // the stage that belongs to this barrier
    while (at >= p.stages) at -= p.stages;
    const std::uint32_t chunk = __shfl_sync(0xffffffffU, chunk_of[at], 0);
    if (chunk == no_chunk) {
      done[at].arrive();
      break;
    }
    unsigned char* const stage = ring + at * bytes;
    const float* const a = reinterpret_cast<const float*>(stage) + p.a.segment[0];
    float* const results = reinterpret_cast<float*>(stage + results_at) + p.old.segment[0];
    WarpgroupSums<parts, columns> sums;
    sums.clear();
    const float* const row[2] = {a + row_of_half[0] * p.a.row_step, a + row_of_half[1] * p.a.row_step};
    if constexpr (paired) {
      const PairedRows fragments{
          {reinterpret_cast<const float2*>(row[0]) + q, reinterpret_cast<const float2*>(row[1]) + q},
          p.m / 2 - q,
          turn_in};
      multiply_steps(sums, fragments, right, steps);
    } else {
      multiply_steps(sums, OddRows{{row[0], row[1]}, p.m, q}, right, steps);
    }

    // All threads of the warpgroup have read their rows, once all_meet returns.
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.rows;
    const int valid_rows = static_cast<int>(min(static_cast<std::int64_t>(p.rows), p.k - first_row));
    const bool finite = all_meet(2 + group, warpgroup_threads, sums.finite());
    if (!finite) {
      rows_in_double(p, a, p.a.row_step, adds ? results : nullptr, p.old.row_step, valid_rows, 0, p.n, group_thread,
                     warpgroup_threads,
                     [&](int row, int column, float value) { p.b[(first_row + row) * p.pitch_b + column] = value; });
    } else {
      const bool bulk = flat && valid_rows == p.rows;
      float* const out = bulk ? results : p.b + first_row * p.pitch_b;
      const int pitch = bulk ? p.n : static_cast<int>(p.pitch_b);
      unrolled<2>([&](int half) {
        if (row_of_half[half] >= valid_rows) return;
        float* const to = out + static_cast<std::int64_t>(row_of_half[half]) * pitch;
        const float* const old = results + row_of_half[half] * p.old.row_step;
        if constexpr (paired) {
          unrolled<(parts * columns + 31) / 32>([&](int sixteen) {
            const auto pair_of = [&](int v) { return 16 * sixteen + 4 * (v ^ turn_out) + q; };
            float first[4], second[4];
            float2 held[4];
            if (adds) {
              unrolled<4>([&](int v) {
                if (2 * pair_of(v) < p.n) held[v] = reinterpret_cast<const float2*>(old)[pair_of(v)];
              });
            }
            sums.pairs(sixteen, half, first, second);
            if (turns_out) {
              undo_turn(first, turn_out);
              undo_turn(second, turn_out);
            }
            unrolled<4>([&](int v) {
              if (adds) add_old(first[v], second[v], held[v].x, held[v].y, beta);
              const int pair = pair_of(v);
              if (2 * pair < p.n) reinterpret_cast<float2*>(to)[pair] = make_float2(first[v], second[v]);
            });
          });
        } else {
          unrolled<columns / 4>([&](int i) {
            const int column = OddWidths::column<columns>(i / 2, q, i % 2);
            float value = sums.sum[0][i / 2 * 4 + 2 * half + i % 2];
            if (adds && column < p.n) value = fmaf(static_cast<float>(beta.re), old[column], value);
            if (column < p.n) to[column] = value;
          });
        }
      });
    }
    if (!(finite && flat && valid_rows == p.rows) && group_thread == 0) chunk_of[at] = nothing_to_store;
    publish_to_bulk_copies();
    done[at].arrive();
  }
#endif
}

}  // namespace blockvec::kernels::cuda
