#pragma once

#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/dependent_launch.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/ptx/pipeline.cuh"

/// tsmm in double precision for row-major operands that take little time (short K). Every block takes one row tile
/// (chunk). Panels (K slices) of A and C stream through shared memory past the block's sums in registers. No other
/// kernel must run first to pack C or to reset tickets, and no block waits for all of C.
///
/// A warp has 16 rows and all columns of B. The pitch of rows in a stage lets the lanes that read them meet different
/// banks. A block reads its whole chunk before it writes any of it, so that B may be A.
namespace blockvec::kernels::cuda {

struct TsmmPanels {
  Tall<const double> a;  ///< rows begin at multiples of 16 bytes
  Tall<double> b;
  Small<double> small;
  Coefficient<double> alpha, beta;
  std::int64_t k;
  int m, n;
  bool in_pairs;  ///< two neighbours of every row of B can be written by one store
  int fetched;    ///< columns of A that a block prefetches into the L2 cache before all else
};

/// The tile of a block, in warps and columns, and the layout of its stages.
template <int warps, int pieces>
struct PanelsShape {
  static constexpr int threads = 32 * warps;
  static constexpr int rows = 16 * warps;
  static constexpr int panel = dispatch::panels_panel;
  static constexpr int stages = dispatch::panels_stages;
  static constexpr int pitch_a = panel + 4;
  static constexpr int pitch_c = 8 * pieces + 4;
  static constexpr int start_c = rows * pitch_a;
  static constexpr int stage = start_c + panel * pitch_c;  ///< in numbers
};

/// Copies panels of C into stages; a thread does its share.
template <int warps, int pieces>
class PanelsOfSmall {
 public:
  __device__ PanelsOfSmall(const TsmmPanels& p, int thread) : p_(p), thread_(thread) {
    const Small<double>& c = p.small;
    in_pairs_ = c.half == Half::none && c.column_stride == 1 && c.row_stride % 2 == 0 && p.n % 2 == 0 &&
                reinterpret_cast<std::uintptr_t>(c.data) % 16 == 0;
  }
  /// Starts the copy of rows from `depth` on, with zeros beyond C.
  __device__ void start(double* to, int depth) const {
    if (in_pairs_) {
      start_by<2>(to, depth);
    } else {
      start_by<1>(to, depth);
    }
  }

 private:
  using Shape = PanelsShape<warps, pieces>;
  template <int numbers>
  __device__ void start_by(double* to, int depth) const {
    constexpr int of_row = 8 * pieces / numbers;
    constexpr int units = Shape::panel * of_row;
#pragma unroll
    for (int first = 0; first < units; first += Shape::threads) {
      const int unit = first + thread_;
      if (units % Shape::threads != 0 && unit >= units) break;
      const int row = depth + unit / of_row;
      const int column = unit % of_row * numbers;
      const Small<double>& c = p_.small;
      const bool there = row < p_.m && column < p_.n && !(c.half == Half::upper && row > column) &&
                         !(c.half == Half::lower && row < column);
      const double* const from = there ? c.data + row * c.row_stride + column * c.column_stride : c.data;
      async_copy<8 * numbers>(to + unit / of_row * Shape::pitch_c + column, from, there);
    }
  }

  const TsmmPanels& p_;
  int thread_;
  bool in_pairs_;
};

/// Writes the warp's 16 rows, of which B has `rows`. It adds beta times their old values.
template <int pieces>
__device__ inline void write_panels(const TsmmPanels& p, const double (&sum)[pieces][4], std::int64_t first_row,
                                    int rows, int lane) {
  const double alpha = p.alpha.read().re;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    if (row >= rows) continue;
    double* const to = p.b.data + (first_row + row) * p.b.row_stride + 2 * (lane % 4);
#pragma unroll
    for (int x = 0; x < pieces; ++x) {
      const int left = p.n - 8 * x - 2 * (lane % 4);
      double* const pair = to + 8 * x;
      double one = alpha * sum[x][2 * half];
      double other = alpha * sum[x][2 * half + 1];
      if (left >= 2 && p.in_pairs) {
        if (adds) {
          const double2 old = *reinterpret_cast<const double2*>(pair);
          one += beta.re * old.x;
          other += beta.re * old.y;
        }
        *reinterpret_cast<double2*>(pair) = make_double2(one, other);
      } else if (left > 0) {
        if (adds) one += beta.re * pair[0];
        if (adds && left > 1) other += beta.re * pair[1];
        pair[0] = one;
        if (left > 1) pair[1] = other;
      }
    }
  }
}

template <int warps, int pieces>
__global__ void __launch_bounds__(32 * warps, 16 / warps) tsmm_panels_kernel(const __grid_constant__ TsmmPanels p) {
  using Shape = PanelsShape<warps, pieces>;
  constexpr int panel = Shape::panel;
  extern __shared__ __align__(128) double ring[];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_size;
  const int row0 = thread / warp_size * 16;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * Shape::rows;
  const int rows = static_cast<int>(min(p.k - first_row, static_cast<std::int64_t>(Shape::rows)));
  release_next_kernel();
  const int lines = p.fetched / 16;
  for (int i = thread; i < Shape::rows * lines; i += Shape::threads) {
    if (i / lines < rows) prefetch_line(p.a.data + (first_row + i / lines) * p.a.row_stride + i % lines * 16);
  }
  await_previous_kernel();

  const PanelsOfSmall<warps, pieces> small(p, thread);
  constexpr int of_row = panel / 2;  // threads for a row
  const int own_row = thread / of_row;
  const int own_column = thread % of_row * 2;
  const double* const from = p.a.data + (first_row + own_row) * p.a.row_stride + own_column;
  const auto fill = [&](int stage, int depth) {
    if (depth < p.m) {
      double* const to = ring + stage * Shape::stage;
      const int bytes = 8 * min(p.m - depth - own_column, 2);
#pragma unroll
      for (int r = 0; r < Shape::rows; r += Shape::threads / of_row) {
        const bool there = own_row + r < rows && bytes > 0;
        async_copy_part<16>(to + (own_row + r) * Shape::pitch_a + own_column,
                            there ? from + r * p.a.row_stride + depth : p.a.data, there ? bytes : 0);
      }
      small.start(to + Shape::start_c, depth);
    }
    commit_copies();
  };
#pragma unroll
  for (int s = 0; s + 1 < Shape::stages; ++s) fill(s, s * panel);

  double sum[pieces][4] = {};
  int stage = 0;
  for (int depth = 0; depth < p.m; depth += panel) {
    await_copies<Shape::stages - 2>();
    __syncthreads();  // all copies of this stage are done, and all warps have read the stage before this one
    fill(stage == 0 ? Shape::stages - 1 : stage - 1, depth + (Shape::stages - 1) * panel);
    const double* const here = ring + stage * Shape::stage;
    const double* const a = here + (row0 + lane / 4) * Shape::pitch_a + lane % 4;
    const double* const c = here + Shape::start_c + lane % 4 * Shape::pitch_c + lane / 4;
#pragma unroll
    for (int d = 0; d < panel; d += 16) {
      double left[8];
#pragma unroll
      for (int v = 0; v < 8; ++v) left[v] = a[v % 2 * 8 * Shape::pitch_a + d + v / 2 * 4];
#pragma unroll
      for (int x = 0; x < pieces; ++x) {
        double right[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) right[v] = c[(d + 4 * v) * Shape::pitch_c + 8 * x];
        multiply_16x8x16(sum[x], left, right);
      }
    }
    stage = stage + 1 == Shape::stages ? 0 : stage + 1;
  }
  write_panels(p, sum, first_row + row0, rows - row0, lane);
}

}  // namespace blockvec::kernels::cuda
