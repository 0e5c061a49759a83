#pragma once

#include "src/cuda/direct_tiles.cuh"
#include "src/cuda/succession.cuh"

/// tsmttsm of column-major operands in double precision whose columns begin at multiples of 16 bytes: a block copies
/// pieces of them into shared memory, whole lines at a time, some stages ahead of what its warps multiply.
namespace blockvec::kernels::cuda {

struct TsmttsmColumns {
  Tall<const double> a, b;
  std::int64_t k;
  int rows;   ///< of a stage, a power of 2
  int pitch;  ///< numbers from column to column there
  DirectShare share;
  Coefficient<double> alpha;
};

inline constexpr int columns_stages = dispatch::columns_stages;
inline constexpr int columns_threads = 32 * dispatch::columns_warps;

/// Copies so many bytes of 16 and fills the rest with zeros.
__device__ inline void copy_some(void* to, const void* from, int bytes) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes) : "memory");
}

/// A thread's part of the copies of one operand: the same 16 bytes of every so many of its columns.
class ColumnCopy {
 public:
  __device__ ColumnCopy(const Tall<const double>& a, const TsmttsmColumns& p, int first, int width) {
    const int pieces = p.rows / numbers;
    const int column = static_cast<int>(threadIdx.x) / pieces;
    place_ = static_cast<int>(threadIdx.x) % pieces * numbers;
    apart_ = columns_threads / pieces;
    count_ = width - column;
    from_ = a.data + (first + column) * a.column_stride + place_;
    step_ = apart_ * a.column_stride;
    to_ = column * p.pitch + place_;
    to_step_ = apart_ * p.pitch;
  }

  /// Rows from `row` on, of which `left` are there at all.
  __device__ void start(double* stage, std::int64_t row, std::int64_t left) const {
    const int there = static_cast<int>(min(max(left - place_, std::int64_t{0}), std::int64_t{numbers}));
    const double* from = from_ + (there > 0 ? row : -std::int64_t{place_});
    double* to = stage + to_;
    for (int column = 0; column < count_; column += apart_) {
      copy_some(to, from, 8 * there);
      from += step_;
      to += to_step_;
    }
  }

 private:
  static constexpr int numbers = 2;
  const double* from_;
  std::int64_t step_;
  int place_, count_, apart_, to_, to_step_;
};

template <int tile_m, int tile_n>
__global__ void __launch_bounds__(columns_threads, 1) tsmttsm_columns_kernel(const __grid_constant__ TsmttsmColumns p) {
  extern __shared__ __align__(128) unsigned char memory[];
  release_next_kernel();
  using Tiles = DirectTiles<double, Neighbours::in_columns, tile_m, tile_n>;
  const DirectPlace place(p.share, tile_m, tile_n);
  const int width_a = min(place.rows, p.share.m - place.section_row);
  const int width_b = min(place.columns, p.share.n - place.section_column);
  double* const ring = reinterpret_cast<double*>(memory);
  const int offset_b = width_a * p.pitch;
  const int stage_numbers = offset_b + width_b * p.pitch;
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;

  const ColumnCopy copy_a(p.a, p, place.section_row, width_a);
  const ColumnCopy copy_b(p.b, p, place.section_column, width_b);
  const std::int64_t turns = ceil_div(ceil_div(p.k, p.rows) - place.part, place.parts);
  const auto start = [&](std::int64_t turn) {
    if (turn < turns) {
      double* const stage = ring + turn % columns_stages * stage_numbers;
      const std::int64_t row = (place.part + turn * place.parts) * p.rows;
      copy_a.start(stage, row, p.k - row);
      copy_b.start(stage + offset_b, row, p.k - row);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int turn = 0; turn < columns_stages - 1; ++turn) start(turn);

  Tiles tiles;
  const Tall<const double> staged{nullptr, 1, p.pitch, 1, false};
  const typename Tiles::LaneA lane_a(staged, width_a, 1, place.row0, place.lane);
  const typename Tiles::LaneB lane_b(staged, width_b, 1, place.column0, place.lane);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    asm volatile("cp.async.wait_group %0;" ::"n"(columns_stages - 2) : "memory");
    __syncthreads();  // everybody's copies of this turn have come, and the last turn's stage is read
    start(turn + columns_stages - 1);
    const double* const stage = ring + turn % columns_stages * stage_numbers;
    for (int row = place.group < p.share.groups ? 16 * place.group : p.rows; row < p.rows; row += 16 * p.share.groups) {
      typename Tiles::LaneA::Loads a;
      typename Tiles::LaneB::Loads b;
      lane_a.load_from(stage + row, a);
      lane_b.load_from(stage + offset_b + row, b);
      tiles.add({a, b});
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  store_partial(p.share, place, tiles, reinterpret_cast<double*>(memory));
}

}  // namespace blockvec::kernels::cuda
