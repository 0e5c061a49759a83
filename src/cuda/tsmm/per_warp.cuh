#pragma once

#include <type_traits>

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/ptx/dependent_launch.cuh"
#include "src/cuda/tsmm/results.cuh"
#include "src/cuda/tsmm/row_ring_tf32.cuh"
#include "src/cuda/tsmm/strided.cuh"

/// tsmm for row-major operands of any stride and alignment, where every warp works by itself. A warp copies its rows of
/// A into stages of its own by plain asynchronous copies, multiplies them, and writes their results.
///
/// A turn is a row tile of 16 tb rows with all columns of B, 8 tn at most. A stage holds a panel (K slice) of A's
/// columns. C stays in shared memory. A warp reads all rows of a turn before it writes any of them, so that B may be A.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmWarps : TsmmTask<Real> {  // a chunk is a turn

  PlainLines<Real> lines;  ///< A
  Results<Real> out;       ///< staged_pitch: also the real numbers from row to row of a stage
  bool staged;             ///< results go to memory row by row, through a stage
  int m;
  int panel;
  int stages;

  // Where a lane's other depths lie: see TsmmBoxes.
  static constexpr int depth_classes = 1;
  int step[4] = {0, 4, 8, 12};
  static constexpr int depth_step = 16;
};

inline constexpr int sharing_warps = 8;
inline constexpr int sharing_threads = sharing_warps * warp_size;

/// A block's ticket stands for some turns, which its warps take one after the other. So rows that are computed at the
/// same time lie close together, and few warps ask for tickets. The warp that takes the last turn of a ticket puts the
/// spare ticket in its place and asks for the next one. One lane of a warp does all of this by atomic operations.
struct SharedTicket {
  unsigned long long turns;  ///< upper half: the next turn; lower half: how many turns remain
  unsigned long long spare;  ///< the turns of the spare ticket; 0: it is on its way

  __device__ static unsigned long long turns_of(unsigned ticket, unsigned turns_per_ticket) {
    return static_cast<unsigned long long>(ticket * turns_per_ticket) << 32 | turns_per_ticket;
  }
};

/// Gives a warp one turn after the other.
class SharedTurns {
 public:
  __device__ SharedTurns(SharedTicket& shared, unsigned* tickets, unsigned turns_per_ticket, int lane)
      : shared_(shared), tickets_(tickets), per_ticket_(turns_per_ticket), lane_(lane) {}

  /// One thread calls this before the block's first barrier.
  __device__ void begin() {
    shared_.turns = SharedTicket::turns_of(atomicAdd(tickets_, 1U), per_ticket_);
    shared_.spare = SharedTicket::turns_of(atomicAdd(tickets_, 1U), per_ticket_);
  }
  __device__ std::uint32_t take() {
    std::uint32_t turn = 0;
    if (lane_ == 0) turn = take_by_one();
    return __shfl_sync(0xffffffffU, turn, 0);
  }
  /// A warp calls this after it has waited for other things anyway, and at the end.
  __device__ void put_spare() {
    if (has_ticket_) atomicExch(&shared_.spare, SharedTicket::turns_of(ticket_, per_ticket_));
    has_ticket_ = false;
  }

 private:
  __device__ std::uint32_t take_by_one() {
    put_spare();
    unsigned long long found = 0;
    do {
      found = atomicAdd(&shared_.turns, 0ULL);
    } while (left(found) == 0 || atomicCAS(&shared_.turns, found, found + (1ULL << 32) - 1) != found);
    if (left(found) == 1) {
      unsigned long long spare = 0;
      do {
        spare = atomicExch(&shared_.spare, 0ULL);
      } while (spare == 0);
      atomicExch(&shared_.turns, spare);
      ticket_ = atomicAdd(tickets_, 1U);
      has_ticket_ = true;
    }
    return static_cast<std::uint32_t>(found >> 32);
  }
  __device__ static unsigned left(unsigned long long turns) { return static_cast<unsigned>(turns); }

  SharedTicket& shared_;
  unsigned* tickets_;
  unsigned per_ticket_;
  int lane_;
  unsigned ticket_ = 0;
  bool has_ticket_ = false;
};

/// One warp writes `rows` rows of B from shared memory. As many lanes share a row as it has numbers, or pairs of them,
/// rounded up to a power of 2, at most the whole warp.
template <class Unit, class Real>
__device__ inline void write_units(const Results<Real>& p, const Real* staged, std::int64_t first_row, int rows,
                                   int lane) {
  constexpr int numbers = sizeof(Unit) / sizeof(Real);
  const int lanes = p.sharing_lanes;
  const int step = warp_size / lanes;
  for (int column = numbers * (lane % lanes); column < p.n; column += numbers * lanes) {
    int row = lane / lanes;
    Real* to = p.b.data + (first_row + row) * p.b.row_stride + column;
    const Real* from = staged + row * p.staged_pitch + column;
#pragma unroll 8
    for (; row < rows; row += step, to += step * p.b.row_stride, from += step * p.staged_pitch) {
      *reinterpret_cast<Unit*>(to) = *reinterpret_cast<const Unit*>(from);
    }
  }
}

template <class Real>
__device__ inline void write_rows(const Results<Real>& p, const Real* staged, std::int64_t first_row, int rows,
                                  int lane) {
  if constexpr (sizeof(Real) == 4) {
    if (p.in_pairs && p.n % 2 == 0) return write_units<float2>(p, staged, first_row, rows, lane);
  }
  write_units<Real>(p, staged, first_row, rows, lane);
}

/// Splits packed C into two TF32 halves in place: [8 rows of C][8 columns][lane][high, low][2].
__device__ inline void split_in_place(double* packed, int pairs, int thread, int threads) {
  for (int i = thread; i < pairs; i += threads) {
    const double2 both = reinterpret_cast<const double2*>(packed)[i];
    const SplitNumber first = split(static_cast<float>(both.x));
    const SplitNumber second = split(static_cast<float>(both.y));
    reinterpret_cast<uint4*>(packed)[i] = make_uint4(first.high, second.high, first.low, second.low);
  }
}

/// Adds A C to sum by 3xTF32, for `steps` steps of 8 columns of A; otherwise as multiply_panel.
template <int tb, int tn>
__device__ inline void multiply_panel_split(float (&sum)[tb][tn][4], const float* const (&a)[2], int box,
                                            const double* c, int steps) {
#pragma unroll 1
  for (int s = 0; s < steps; ++s) {
    unsigned high[tb][4], low[tb][4];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const SplitNumber both = split(a[v % 2][t * box + 8 * s + 4 * (v / 2)]);
        high[t][v] = both.high;
        low[t][v] = both.low;
      }
    }
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      const uint4 both = *reinterpret_cast<const uint4*>(c + 64 * (s * tn + x));
      const unsigned right_high[2] = {both.x, both.y};
      const unsigned right_low[2] = {both.z, both.w};
      // Small products come first.
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_tf32(sum[t][x], low[t], right_high);
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_tf32(sum[t][x], high[t], right_low);
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_tf32(sum[t][x], high[t], right_high);
    }
  }
}

/// Waits for this thread's groups of copies, except the last `stages` - 2.
__device__ inline void await_stage(int stages) {
  if (stages == 2) {
    await_copies<0>();
  } else if (stages == 3) {
    await_copies<1>();
  } else {
    await_copies<2>();
  }
}

/// How many blocks a multiprocessor runs at a time.
template <int tb, int tn>
inline constexpr int sharing_blocks = dispatch::tsmm_warps_blocks({tb, tn});

/// `tf32`: the warp multiplies by 3xTF32. Where results are not finite then, it computes their rows again in double
/// precision from memory. So only true infinities remain.
template <class Real, int tb, int tn, bool tf32 = false>
__global__ void __launch_bounds__(sharing_threads, sharing_blocks<tb, tn>)
    tsmm_warps_kernel(const __grid_constant__ TsmmWarps<Real> p) {
  using Number = std::conditional_t<tf32, float, double>;
  constexpr int step_columns = tf32 ? 8 : 4;  // columns of A in a step
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ SharedTicket ticket;
  constexpr int rows_of_turn = 16 * tb;
  release_next_kernel();
  await_previous_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  const int m = p.alpha.read().is_zero() ? 0 : p.m;  // alpha = 0: A is not read
  const int depth = static_cast<int>(round_up(p.m, 16));
  const int pitch = p.out.staged_pitch;
  const int stage_numbers = rows_of_turn * pitch;
  double* const packed = reinterpret_cast<double*>(memory);
  Real* const ring = reinterpret_cast<Real*>(packed + depth * tn * 8) + warp * p.stages * stage_numbers;
  SharedTurns turns(ticket, p.tickets, p.chunks_per_ticket, lane);
  if (threadIdx.x == 0) turns.begin();
  if (m > 0) {
    const OrderOfSteps order{tn, depth / 8, p.depth_classes, p.out.neighbours, tn};
    pack(p.small, m, p.out.n, p.alpha.read(), order, packed, static_cast<int>(threadIdx.x), sharing_threads);
    if constexpr (tf32) {
      __syncthreads();
      split_in_place(packed, depth / 8 * tn * warp_size, static_cast<int>(threadIdx.x), sharing_threads);
    }
  }
  __syncthreads();

  const Places<Real> places(p.out, 0, 0, lane);
  const int start = lane / 4 * pitch + lane % 4;
  std::uint32_t ahead = turns.take();  // the turn whose rows are copied next
  int ahead_column = 0;
  std::uint32_t turn_of = 0;  // lane i keeps the turn of stage i
  const auto fill = [&](int stage) {
    const bool over = ahead >= p.chunks;
    if (lane == stage) turn_of = over ? no_chunk : ahead;
    if (!over) {
      const std::int64_t first_row = static_cast<std::int64_t>(ahead) * rows_of_turn;
      const int width = min(p.panel, static_cast<int>(round_up(m - ahead_column, step_columns)));
      copy_lines<warp_size>(p.lines, first_row, rows_of_turn, ahead_column, width, ring + stage * stage_numbers, pitch,
                            lane);
      ahead_column += p.panel;
      if (ahead_column >= m) {
        ahead_column = 0;
        ahead = turns.take();
      }
    }
    commit_copies();
  };

  Number sum[tb][tn][4] = {};
  const auto clear = [&] {
#pragma unroll
    for (int i = 0; i < tb * tn * 4; ++i) sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0;
  };
  const auto finish = [&](std::int64_t first_row, Real* stage) {
    if constexpr (tf32) {
      if (!all_finite(sum)) {
#pragma unroll 1
        for (std::int64_t row = first_row; row < min(first_row + rows_of_turn, p.out.k); ++row) {
          float* const to = p.out.b.data + row * p.out.b.row_stride;
          multiply_row_again<8 * tn>(p, p.lines.data + row * p.lines.distance, p.out.b.parts, row, 0,
                                     [&](int column, float value) { to[column] = value; });
        }
        clear();
        return;
      }
    }
    if (adds) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        Real old[1][tn][4] = {};
        places.read(first_row + 16 * t, old);
        add_scaled(reinterpret_cast<Number(&)[1][tn][4]>(sum[t]), old, beta);
      }
    }
    if (p.staged) {
      __syncwarp();  // all lanes have read the stage
      places.stage(stage, sum);
      __syncwarp();
      const std::int64_t rows = min(p.out.k - first_row, static_cast<std::int64_t>(rows_of_turn));
      write_rows(p.out, stage, first_row, static_cast<int>(rows), lane);
    } else {
      places.write(first_row, sum);
    }
    clear();
  };

  for (int stage = 0; stage + 1 < p.stages; ++stage) fill(stage);
  int column = 0;
  for (int stage = 0;; stage = stage + 1 == p.stages ? 0 : stage + 1) {
    await_stage(p.stages);
    __syncwarp();
    fill(stage == 0 ? p.stages - 1 : stage - 1);
    const std::uint32_t turn = __shfl_sync(0xffffffffU, turn_of, stage);
    if (turn == no_chunk) break;
    Real* const here = ring + stage * stage_numbers;
    const Real* const a[2] = {here + start, here + start + 8 * pitch};
    const int steps = (min(p.panel, m - column) + step_columns - 1) / step_columns;
    const double* const c = packed + column * tn * 8 + 2 * lane;
    if constexpr (tf32) {
      multiply_panel_split(sum, a, 16 * pitch, c, steps);
    } else {
      multiply_panel<(tb * tn <= 2)>(p, sum, a, 16 * pitch, c, tn, steps);
    }
    turns.put_spare();
    column += p.panel;
    if (column >= m) {
      finish(static_cast<std::int64_t>(turn) * rows_of_turn, here);
      column = 0;
    }
  }
  turns.put_spare();
}

}  // namespace blockvec::kernels::cuda
