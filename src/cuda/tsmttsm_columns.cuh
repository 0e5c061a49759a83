#pragma once

#include "src/cuda/direct_tiles.cuh"
#include "src/cuda/succession.cuh"

/// tsmttsm of column-major operands: a block copies pieces of their columns into shared memory, whole lines at a time,
/// by asynchronous copies of 16 bytes some stages ahead of what its warps multiply. A column that begins elsewhere than
/// at a multiple of 16 bytes is copied from the one before, and so are its rows further on in a stage: by its `shift`.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmColumns {
  Tall<const Real> a, b;
  std::int64_t k;
  int rows;      ///< of a stage, a power of 2
  int pitch;     ///< real numbers from column to column there
  bool shifted;  ///< some columns are
  DirectShare share;
  Coefficient<Real> alpha;
};

inline constexpr int columns_stages = dispatch::columns_stages;
inline constexpr int columns_threads = 32 * dispatch::columns_warps;
inline constexpr int copied_bytes = 16;

/// Copies so many bytes of 16 and fills the rest with zeros.
__device__ inline void copy_some(void* to, std::uintptr_t from, int bytes) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(bytes) : "memory");
}

/// Real numbers by which the column that real column `c` belongs to is shifted.
template <class Real>
__device__ inline int shift_of(const Tall<const Real>& a, int c) {
  const auto start = reinterpret_cast<std::uintptr_t>(a.data + c / a.parts * a.column_stride);
  return static_cast<int>(start % copied_bytes / sizeof(Real));
}

/// A thread's part of the copies of one operand: the same 16 bytes of every so many of its columns.
template <class Real>
class ColumnCopy {
 public:
  __device__ ColumnCopy(const Tall<const Real>& a, const TsmttsmColumns<Real>& p, int first, int width)
      : data_(reinterpret_cast<std::uintptr_t>(a.data + first / a.parts * a.column_stride)),
        column_bytes_(a.column_stride * static_cast<std::int64_t>(sizeof(Real))),
        row_bytes_(a.parts * static_cast<int>(sizeof(Real))),
        columns_(width / a.parts),
        pitch_bytes_(p.pitch * static_cast<int>(sizeof(Real))),
        pieces_(p.rows * row_bytes_ / copied_bytes),
        shifted_(p.shifted) {}

  /// Rows from `row` on, of which `left` are there at all.
  __device__ void start(unsigned char* stage, std::int64_t row, std::int64_t left) const {
    const auto thread = static_cast<int>(threadIdx.x);
    copy(stage, row, left, thread / pieces_, columns_threads / pieces_, thread % pieces_);
    if (shifted_) copy(stage, row, left, thread, columns_threads, pieces_);
  }

 private:
  __device__ void copy(unsigned char* stage, std::int64_t row, std::int64_t left, int first, int apart,
                       int piece) const {
    std::uintptr_t from = data_ + static_cast<std::uintptr_t>(row * row_bytes_ + first * column_bytes_);
    stage += first * pitch_bytes_ + piece * copied_bytes;
    for (int column = first; column < columns_; column += apart) {
      const std::uintptr_t start = from / copied_bytes * copied_bytes;
      const std::int64_t bytes = static_cast<std::int64_t>(from - start) + left * row_bytes_ - piece * copied_bytes;
      copy_some(stage, bytes > 0 ? start + static_cast<unsigned>(piece * copied_bytes) : start,
                static_cast<int>(min(max(bytes, std::int64_t{0}), std::int64_t{copied_bytes})));
      from += static_cast<std::uintptr_t>(apart * column_bytes_);
      stage += apart * pitch_bytes_;
    }
  }

  std::uintptr_t data_;
  std::int64_t column_bytes_;
  int row_bytes_, columns_, pitch_bytes_, pieces_;
  bool shifted_;
};

template <class Real, Neighbours neighbours, int tile_m, int tile_n>
__global__ void __launch_bounds__(columns_threads, 1)
    tsmttsm_columns_kernel(const __grid_constant__ TsmttsmColumns<Real> p) {
  extern __shared__ __align__(128) unsigned char memory[];
  release_next_kernel();
  using Tiles = DirectTiles<Real, neighbours, tile_m, tile_n>;
  const DirectPlace place(p.share, tile_m, tile_n);
  const int width_a = min(place.rows, p.share.m - place.section_row);
  const int width_b = min(place.columns, p.share.n - place.section_column);
  const int offset_b = width_a / p.a.parts * p.pitch;
  const int stage_numbers = offset_b + width_b / p.b.parts * p.pitch;
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;

  Real* const ring = reinterpret_cast<Real*>(memory);
  const ColumnCopy<Real> copy_a(p.a, p, place.section_row, width_a);
  const ColumnCopy<Real> copy_b(p.b, p, place.section_column, width_b);
  const std::int64_t turns = ceil_div(ceil_div(p.k, p.rows) - place.part, place.parts);
  const auto stage_of = [&](std::int64_t turn) { return ring + turn % columns_stages * stage_numbers; };
  const auto start = [&](std::int64_t turn) {
    if (turn < turns) {
      const std::int64_t row = (place.part + turn * place.parts) * p.rows;
      copy_a.start(reinterpret_cast<unsigned char*>(stage_of(turn)), row, p.k - row);
      copy_b.start(reinterpret_cast<unsigned char*>(stage_of(turn) + offset_b), row, p.k - row);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int turn = 0; turn < columns_stages - 1; ++turn) start(turn);

  Tiles tiles;
  const Tall<const Real> staged{nullptr, p.a.parts, p.pitch, p.a.parts, false};
  const typename Tiles::LaneA lane_a(staged, width_a, 1, place.row0, place.lane);
  const typename Tiles::LaneB lane_b(staged, width_b, 1, place.column0, place.lane);
  const int first_a = shift_of(p.a, place.section_row + lane_a.column());
  const int first_b = offset_b + shift_of(p.b, place.section_column + lane_b.column());
  const int first_row = place.group < p.share.groups ? 16 * place.group : p.rows;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    asm volatile("cp.async.wait_group %0;" ::"n"(columns_stages - 2) : "memory");
    __syncthreads();  // everybody's copies of this turn have come, and the last turn's stage is read
    const Real* const stage = stage_of(turn);
    typename Tiles::LaneA::Loads next_a;
    typename Tiles::LaneB::Loads next_b;
    const auto load = [&](int row) {
      lane_a.load_from(stage + first_a + row * p.a.parts, next_a);
      lane_b.load_from(stage + first_b + row * p.b.parts, next_b);
    };
    if (first_row < p.rows) load(first_row);
    start(turn + columns_stages - 1);
    for (int row = first_row; row < p.rows; row += 16 * p.share.groups) {
      const typename Tiles::Factors now(next_a, next_b);
      if (row + 16 * p.share.groups < p.rows) load(row + 16 * p.share.groups);
      tiles.add(now);
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  store_partial(p.share, place, tiles, reinterpret_cast<double*>(memory));
}

}  // namespace blockvec::kernels::cuda
