#pragma once

#include "src/cuda/plain_lines.cuh"
#include "src/cuda/succession.cuh"
#include "src/cuda/tsmm_boxes.cuh"
#include "src/cuda/tsmm_results.cuh"

/// tsmm of row-major operands where every warp works by itself: it copies its rows of A into stages of its own by plain
/// asynchronous copies, whatever their stride and alignment, multiplies them and writes their results.
///
/// A turn is 16 tb rows and all columns of B, 8 tn at most; a stage holds a panel of A's columns. C stays in shared
/// memory. Rows of a turn are all read before the first of them is written, so that B may be A.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmWarps : TsmmTask<Real> {  // a chunk is a turn

  PlainLines<Real> lines;  ///< A
  Results<Real> out;       ///< staged_pitch: real numbers from row to row of a stage, too
  bool staged;             ///< results go to memory row by row
  int m;
  int panel;
  int stages;

  // Rows' numbers as lanes take them: see TsmmBoxes.
  static constexpr int depth_classes = 1;
  int step[4] = {0, 4, 8, 12};
  static constexpr int depth_step = 16;
};

inline constexpr int sharing_warps = 8;
inline constexpr int sharing_threads = sharing_warps * warp_size;

/// A block's ticket for some turns, which its warps take one after the other: what runs at a time lies close together,
/// and few ask for tickets. Whoever takes the last turn of a ticket puts a spare one in its place and asks for the
/// next. All of it by atomic operations of one lane a warp.
struct SharedTicket {
  unsigned long long turns;  ///< the next one, and in the lower half how many are left
  unsigned long long spare;  ///< turns, too; 0: it is on its way

  __device__ static unsigned long long turns_of(unsigned ticket, unsigned turns_per_ticket) {
    return static_cast<unsigned long long>(ticket * turns_per_ticket) << 32 | turns_per_ticket;
  }
};

/// A warp's way through the turns.
class SharedTurns {
 public:
  __device__ SharedTurns(SharedTicket& shared, unsigned* tickets, unsigned turns_per_ticket, int lane)
      : shared_(shared), tickets_(tickets), per_ticket_(turns_per_ticket), lane_(lane) {}

  /// By one thread, before the block's first barrier.
  __device__ void begin() {
    shared_.turns = SharedTicket::turns_of(atomicAdd(tickets_, 1U), per_ticket_);
    shared_.spare = SharedTicket::turns_of(atomicAdd(tickets_, 1U), per_ticket_);
  }
  __device__ std::uint32_t take() {
    std::uint32_t turn = 0;
    if (lane_ == 0) turn = take_by_one();
    return __shfl_sync(0xffffffffU, turn, 0);
  }
  /// At any time once the warp has waited for other things anyway, and in the end.
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

/// Writes `rows` rows of B from shared memory by one warp, each by as many lanes as it has numbers, up to a power of 2
/// and to all of them.
template <class Real>
__device__ inline void write_rows(const Results<Real>& p, const Real* staged, std::int64_t first_row, int rows,
                                  int lane) {
  const int lanes = p.sharing_lanes;
  const int step = warp_size / lanes;
  for (int column = lane % lanes; column < p.n; column += lanes) {
    int row = lane / lanes;
    Real* to = p.b.data + (first_row + row) * p.b.row_stride + column;
    const Real* from = staged + row * p.staged_pitch + column;
#pragma unroll 4
    for (; row < rows; row += step, to += step * p.b.row_stride, from += step * p.staged_pitch) *to = *from;
  }
}

/// Waits for all groups of this thread's copies but the last `stages` - 2.
__device__ inline void await_stage(int stages) {
  if (stages == 2) {
    await_copies<0>();
  } else if (stages == 3) {
    await_copies<1>();
  } else {
    await_copies<2>();
  }
}

/// Blocks of a multiprocessor.
template <int tb, int tn>
inline constexpr int sharing_blocks = dispatch::tsmm_warps_blocks({tb, tn});

template <class Real, int tb, int tn>
__global__ void __launch_bounds__(sharing_threads, sharing_blocks<tb, tn>)
    tsmm_warps_kernel(const __grid_constant__ TsmmWarps<Real> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ SharedTicket ticket;
  constexpr int rows_of_turn = 16 * tb;
  release_next_kernel();
  await_previous_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  const int m = p.alpha.read().is_zero() ? 0 : p.m;  // A is not read then
  const int depth = static_cast<int>(round_up(p.m, 16));
  const int pitch = p.out.staged_pitch;
  const int stage_numbers = rows_of_turn * pitch;
  double* const packed = reinterpret_cast<double*>(memory);
  Real* const ring = reinterpret_cast<Real*>(packed + depth * tn * 8) + warp * p.stages * stage_numbers;
  SharedTurns turns(ticket, p.tickets, p.chunks_per_ticket, lane);
  if (threadIdx.x == 0) turns.begin();
  if (m > 0) {
    const OrderOfSteps order{tn, depth / 8, p.depth_classes, p.out.has_neighbours()};
    pack(p.small, m, p.out.n, p.alpha.read(), order, packed, static_cast<int>(threadIdx.x), sharing_threads);
  }
  __syncthreads();

  const Places<Real> places(p.out, 0, 0, lane);
  const int start = lane / 4 * pitch + lane % 4;
  std::uint32_t ahead = turns.take();  // to be copied next
  int ahead_column = 0;
  std::uint32_t turn_of = 0;  // lane i's: the turn in stage i
  const auto fill = [&](int stage) {
    const bool over = ahead >= p.chunks;
    if (lane == stage) turn_of = over ? no_chunk : ahead;
    if (!over) {
      const std::int64_t first_row = static_cast<std::int64_t>(ahead) * rows_of_turn;
      const int width = min(p.panel, (m - ahead_column + 3) / 4 * 4);
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

  double sum[tb][tn][4] = {};
  const auto finish = [&](std::int64_t first_row, Real* stage) {
    if (adds) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        Real old[1][tn][4] = {};
        places.read(first_row + 16 * t, old);
        add_scaled(reinterpret_cast<double(&)[1][tn][4]>(sum[t]), old, beta);
      }
    }
    if (p.staged) {
      __syncwarp();  // all have read what was there
      places.stage(stage, sum);
      __syncwarp();
      const std::int64_t rows = min(p.out.k - first_row, static_cast<std::int64_t>(rows_of_turn));
      write_rows(p.out, stage, first_row, static_cast<int>(rows), lane);
    } else {
      places.write(first_row, sum);
    }
#pragma unroll
    for (int i = 0; i < tb * tn * 4; ++i) sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0;
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
    const int steps = (min(p.panel, m - column) + 3) / 4;
    multiply_panel<(tb * tn <= 2)>(p, sum, a, 16 * pitch, packed + column * tn * 8 + 2 * lane, tn, steps);
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
