#pragma once

#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/tsmm/results.cuh"
#include "src/cuda/tsmm/strided.cuh"

/// tsmm for row-major operands of any stride and alignment, where every warp works by itself. A warp copies its rows of
/// A into stages of its own by plain asynchronous copies, multiplies them, and writes their results.
///
/// A turn is a row tile of 16 rows with all columns of B, 8 tn at most. A stage holds a panel (K slice) of A's
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

inline constexpr int sharing_threads = 8 * warp_size;
inline constexpr int rows_of_turn = 16;

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
template <int tn>
inline constexpr int sharing_blocks = dispatch::tsmm_warps_blocks({1, tn});

template <class Real, int tn>
__global__ void __launch_bounds__(sharing_threads, sharing_blocks<tn>)
    tsmm_warps_kernel(const __grid_constant__ TsmmWarps<Real> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  release_next_kernel();
  await_previous_kernel();
  if (!p.condition.holds()) return;
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
  Chunks turns(p);
  if (m > 0) {
    const OrderOfSteps order{tn, depth / 8, p.depth_classes, p.out.neighbours, tn};
    pack(p.small, m, p.out.n, p.alpha.read(), order, packed, static_cast<int>(threadIdx.x), sharing_threads);
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
      const int width = min(p.panel, static_cast<int>(round_up(m - ahead_column, 4)));
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

  double sum[1][tn][4] = {};
  const auto clear = [&] { unrolled<4 * tn>([&](int i) { sum[0][i / 4][i % 4] = 0; }); };
  const auto finish = [&](std::int64_t first_row, Real* stage) {
    if (adds) {
      Real old[1][tn][4] = {};
      places.read(first_row, old);
      add_scaled(sum, old, beta);
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
    const int steps = (min(p.panel, m - column) + 3) / 4;
    const double* const c = packed + column * tn * 8 + 2 * lane;
    multiply_panel<(tn <= 2)>(p, sum, a, 0, c, tn, steps);
    column += p.panel;
    if (column >= m) {
      finish(static_cast<std::int64_t>(turn) * rows_of_turn, here);
      column = 0;
    }
  }
}

}  // namespace blockvec::kernels::cuda
