#pragma once

#include "src/cuda/direct_tiles.cuh"
#include "src/cuda/succession.cuh"

/// tsmttsm of column-major operands: a block copies pieces of their columns into shared memory, whole lines at a time, by
/// asynchronous copies of any alignment, some stages ahead of what its warps multiply.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmColumns {
  Tall<const Real> a, b;
  std::int64_t k;
  int rows;    ///< of a stage, a power of 2
  int pitch;   ///< real numbers from column to column there
  int packed;  ///< real numbers of a copy: as many as have 16 bytes where they are aligned, else 1
  DirectShare share;
  Coefficient<Real> alpha;
};

inline constexpr int columns_stages = dispatch::columns_stages;
inline constexpr int columns_threads = 32 * dispatch::columns_warps;

/// Copies `bytes` of `size` and fills the rest with zeros.
template <int size>
__device__ inline void copy_some(void* to, const void* from, int bytes) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (size == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from), "n"(size), "r"(bytes)
                 : "memory");
  }
}

/// A thread's part of the copies of one operand: the same piece of every so many of its columns.
template <class Real>
class ColumnCopy {
 public:
  __device__ ColumnCopy(const Tall<const Real>& a, const TsmttsmColumns<Real>& p, int first, int end) {
    const int line = p.rows * a.parts;
    const int pieces = line / p.packed;
    place_ = static_cast<int>(threadIdx.x) % pieces * p.packed;
    const int column = static_cast<int>(threadIdx.x) / pieces;
    apart_ = columns_threads / pieces;
    count_ = (end - first) / a.parts - column;
    from_ = a.data + (first / a.parts + column) * a.column_stride + place_;
    step_ = apart_ * a.column_stride;
    to_ = column * p.pitch + place_;
    to_step_ = apart_ * p.pitch;
    parts_ = a.parts;
  }

  /// Rows from `row` on, of which `left` are there at all.
  template <int packed>
  __device__ void start(Real* stage, std::int64_t row, std::int64_t left) const {
    const std::int64_t numbers = left * parts_ - place_;
    const int there = static_cast<int>(min(max(numbers, std::int64_t{0}), std::int64_t{packed}));
    const Real* from = from_ + (there > 0 ? row * parts_ : -std::int64_t{place_});
    Real* to = stage + to_;
    for (int column = 0; column < count_; column += apart_) {
      copy_some<packed * static_cast<int>(sizeof(Real))>(to, from, there * static_cast<int>(sizeof(Real)));
      from += step_;
      to += to_step_;
    }
  }

 private:
  const Real* from_;
  std::int64_t step_;
  int place_, count_, apart_, to_, to_step_, parts_;
};

template <class Real, Neighbours neighbours, int tile_m, int tile_n>
__global__ void __launch_bounds__(columns_threads, 1)
    tsmttsm_columns_kernel(const __grid_constant__ TsmttsmColumns<Real> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  release_next_kernel();
  using Tiles = DirectTiles<Real, neighbours, tile_m, tile_n>;
  constexpr int packed = 16 / static_cast<int>(sizeof(Real));
  const DirectPlace place(p.share, tile_m, tile_n);
  const int width_a = min(place.rows, p.share.m - place.section_row);
  const int width_b = min(place.columns, p.share.n - place.section_column);
  Real* const ring = reinterpret_cast<Real*>(memory);
  const int offset_b = width_a / p.a.parts * p.pitch;
  const int stage_numbers = offset_b + width_b / p.b.parts * p.pitch;
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;

  const ColumnCopy<Real> copy_a(p.a, p, place.section_row, place.section_row + width_a);
  const ColumnCopy<Real> copy_b(p.b, p, place.section_column, place.section_column + width_b);
  const std::int64_t turns = ceil_div(ceil_div(p.k, p.rows) - place.part, place.parts);
  const auto start = [&](std::int64_t turn) {
    if (turn < turns) {
      Real* const stage = ring + turn % columns_stages * stage_numbers;
      const std::int64_t row = (place.part + turn * place.parts) * p.rows;
      if (p.packed == packed) {
        copy_a.template start<packed>(stage, row, p.k - row);
        copy_b.template start<packed>(stage + offset_b, row, p.k - row);
      } else {
        copy_a.template start<1>(stage, row, p.k - row);
        copy_b.template start<1>(stage + offset_b, row, p.k - row);
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int turn = 0; turn < columns_stages - 1; ++turn) start(turn);

  Tiles tiles;
  const Tall<const Real> there{nullptr, p.a.parts, p.pitch, p.a.parts, false};
  const typename Tiles::LaneA lane_a(there, width_a, 1, place.row0, place.lane);
  const typename Tiles::LaneB lane_b(there, width_b, 1, place.column0, place.lane);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    asm volatile("cp.async.wait_group %0;" ::"n"(columns_stages - 2) : "memory");
    __syncthreads();  // everybody's copies of this turn have come, and the last turn's stage is read
    start(turn + columns_stages - 1);
    const Real* const stage = ring + turn % columns_stages * stage_numbers;
    for (int row = place.group < p.share.groups ? 16 * place.group : p.rows; row < p.rows; row += 16 * p.share.groups) {
      typename Tiles::LaneA::Loads a;
      typename Tiles::LaneB::Loads b;
      lane_a.load_from(stage + row * p.a.parts, a);
      lane_b.load_from(stage + offset_b + row * p.b.parts, b);
      tiles.add({a, b});
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  store_partial(p.share, place, tiles, reinterpret_cast<double*>(memory));
}

}  // namespace blockvec::kernels::cuda
