#pragma once

#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/ptx/pipeline.cuh"

/// tsmttsm on tensor cores without shared memory: P = A^T B of real views of any layout and stride. Each thread block
/// writes one partial sum. Each warp loads its own factors from memory directly into the fragments of
/// ptx/mma_f64.cuh, the next rows while it multiplies the current ones. Warps that share rows find them in the cache.
/// The kernel serves what a pipeline of bulk copies serves badly: narrow or misaligned rows of wide matrices, and few
/// columns.
///
/// A warp takes 16 rows at a time, of all blocks of 8 columns of its tile. Which of the rows a lane takes is free as
/// long as both factors agree, and so is which column. One load brings neighbours in memory where they are aligned.
/// Lane numbers: g = lane / 4, q = lane % 4; w is the count of numbers in a load, l the number of the load.
///
///   neighbours  one load               rows                                  columns of two blocks
///   none        1 number               q + 4 l                               g of each block
///   in_columns  16 bytes of a column   w q .. w q + w - 1, then 4 w more     g of each block
///   in_rows     2 numbers of a row     q + 4 l                               2 g and 2 g + 1, even and odd apart
///
/// A narrow matrix is folded: the lane of column c + s * width takes column c of the rows 16 s further on. The final
/// sum leaves out products of different s.
namespace blockvec::kernels::cuda {

using dispatch::Neighbours;

template <class Real, Neighbours neighbours, int blocks>
class DirectLane {
 public:
  static constexpr int numbers = neighbours == Neighbours::none         ? 1
                                 : neighbours == Neighbours::in_columns ? 16 / static_cast<int>(sizeof(Real))
                                                                        : 2;
  using Load = Neighbouring<numbers, Real>;
  static constexpr bool in_rows = neighbours == Neighbours::in_rows;
  static constexpr bool in_columns = neighbours == Neighbours::in_columns;
  static constexpr int units = in_rows ? (blocks + 1) / 2 : blocks;  // loads that lie side by side
  static constexpr int loads = in_columns ? 4 / numbers : 4;         // loads that follow one another in a column
  using Loads = Load[loads][units];

  /// The lane's part of the tile at `first_column` of the folded matrix of `width` real columns.
  __device__ DirectLane(const Tall<const Real>& a, int width, int fold, int first_column, int lane) {
    constexpr int unit_columns = in_rows ? 16 : 8;
    int column = first_column + (in_rows ? 2 : 1) * (lane / 4);
    row_ = (in_columns ? numbers : 1) * (lane % 4);
    // A lane beyond the matrix reads entries inside it instead: nothing else is read, and its sums are dropped.
    if (fold > 1) {
      if (column >= fold * width) column = 0;
      row_ += 16 * (column / width);
      column %= width;
    } else if (column < width) {
      last_unit_ = (width - 1 - column) / unit_columns;
    } else {
      column = 0;
    }
    unit_step_ = unit_columns / a.parts * a.column_stride;
    load_step_ = row_step * a.row_stride;
    row_stride_ = a.row_stride;
    at_ = a.data + a.offset(row_, column);
  }

  __device__ void advance(std::int64_t rows) { at_ += rows * row_stride_; }

  /// Loads from the current rows. `guarded`: only the first `rows` of them exist, and the others count as zeros.
  template <bool guarded>
  __device__ void load(Loads& to, int rows = 0) const {
    unrolled<loads, units>([&](int l, int u) {
      const Real* const from = at_ + min(u, last_unit_) * unit_step_ + l * load_step_;
      if constexpr (guarded) {
        unrolled<numbers>([&](int i) {
          const bool there = row_ + l * row_step + (in_columns ? i : 0) < rows;
          to[l][u].number[i] = there ? from[i] : Real(0);
        });
      } else {
        to[l][u] = *reinterpret_cast<const Load*>(from);
      }
    });
  }

  /// Entry j of a block's column. It belongs to the same row in all blocks and both factors.
  __device__ static Real entry(const Loads& loaded, int block, int j) {
    if (block >= blocks) return 0;
    if constexpr (in_rows) return loaded[j][block / 2].number[block % 2];
    return loaded[j / numbers][block].number[j % numbers];
  }

  /// The tile's column that stands at `place` of `block`.
  __device__ static int column_of(int block, int place) {
    return in_rows ? block / 2 * 16 + 2 * place + block % 2 : block * 8 + place;
  }

 private:
  static constexpr int row_step = in_columns ? 4 * numbers : 4;
  const Real* at_;
  std::int64_t unit_step_, load_step_, row_stride_;
  int row_;
  int last_unit_ = 0;
};

template <class Real>
struct TsmttsmDirect {
  Tall<const Real> a, b;
  std::int64_t k;
  int fold;
  int m, n;                    ///< real widths of P, times fold
  int warps_m, warps_n;        ///< warps side by side that share rows
  int groups;                  ///< of warps_m x warps_n warps that share rows
  int sections_m, sections_n;  ///< CTA tiles (sections) of P, which thread blocks share out
  double* partial;             ///< [part][m][n]
  Coefficient<Real> alpha;
  Condition condition;
  bool symmetric;  ///< B is A: P is symmetric
};

/// A warp's part of the work.
struct DirectPlace {
  int lane, group;
  std::int64_t part, parts;
  int rows, columns;                ///< of a CTA tile
  int section_row, section_column;  ///< first row and column of the CTA tile in P
  int row0, column0;                ///< the warp's first row and column in the CTA tile

  template <class Real>
  __device__ DirectPlace(const TsmttsmDirect<Real>& p, int tile_rows, int tile_columns) {
    lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int in_group = warp % (p.warps_m * p.warps_n);
    group = warp / (p.warps_m * p.warps_n);
    const int sections = p.sections_m * p.sections_n;
    const int section = static_cast<int>(blockIdx.x) % sections;
    part = blockIdx.x / sections;
    parts = gridDim.x / sections;
    rows = tile_rows * p.warps_m;
    columns = tile_columns * p.warps_n;
    section_row = section / p.sections_n * rows;
    section_column = section % p.sections_n * columns;
    row0 = in_group / p.warps_n * tile_rows;
    column0 = in_group % p.warps_n * tile_columns;
  }
};

/// A warp's part of P: tile_m x tile_n blocks of 8 x 8. A factor with an odd number of blocks cannot pair them, so it
/// loads single numbers.
template <class Real, Neighbours neighbours, int tile_m, int tile_n>
struct DirectTiles {
  using Number = Real;
  static constexpr int rows = 8 * tile_m;
  static constexpr int columns = 8 * tile_n;
  static constexpr int early_sets = 0;  ///< sets of 16 rows that are summed in single precision before tiles.join()
  static constexpr Neighbours of(int tile) {
    return neighbours == Neighbours::in_rows && tile % 2 != 0 ? Neighbours::none : neighbours;
  }
  using LaneA = DirectLane<Real, of(tile_m), tile_m>;
  using LaneB = DirectLane<Real, of(tile_n), tile_n>;
  static constexpr int pieces = (tile_m + 1) / 2;
  /// Sets of 16 rows that are being loaded. Few columns have few bytes in a set, hence more sets.
  static constexpr int ahead = neighbours != Neighbours::in_columns || tile_m + tile_n > 2
                                   ? 1
                                   : 24 / static_cast<int>(sizeof(Real)) - 1;

  /// The factors of 16 rows in tensor-core order.
  struct Factors {
    double left[pieces][8];
    double right[tile_n][4];
    __device__ Factors(const typename LaneA::Loads& a, const typename LaneB::Loads& b) {
      unrolled<pieces, 8>([&](int x, int v) { left[x][v] = LaneA::entry(a, 2 * x + v % 2, v / 2); });
      unrolled<tile_n, 4>([&](int y, int j) { right[y][j] = LaneB::entry(b, y, j); });
    }
  };

  double sum[pieces][tile_n][4] = {};

  __device__ void add(const Factors& factors) {
    unrolled<tile_n, pieces>([&](int y, int x) { multiply_16x8x16(sum[x][y], factors.left[x], factors.right[y]); });
  }

  /// Calls visit(sum, row of the tile, column of the tile).
  template <class Visit>
  __device__ void for_each_entry(int lane, Visit&& visit) const {
    unrolled<pieces, tile_n, 4>([&](int x, int y, int v) {
      const int block = 2 * x + v / 2;
      if (block >= tile_m) return;
      visit(sum[x][y][v], LaneA::column_of(block, lane / 4), LaneB::column_of(y, 2 * (lane % 4) + v % 2));
    });
  }
};

/// Writes the thread block's partial sum. The groups' sums are added in fixed order in `sums`, which is shared memory
/// of a CTA tile's size.
template <class Tiles, class Real>
__device__ inline void store_partial(const TsmttsmDirect<Real>& p, const DirectPlace& place, const Tiles& tiles,
                                     double* sums) {
  double* const partial = p.partial + (place.part * p.m + place.section_row) * p.n + place.section_column;
  const int rows = min(place.rows, p.m - place.section_row);
  const int columns = min(place.columns, p.n - place.section_column);
  const auto store = [&](int row, int column, double entry) {
    if constexpr (Tiles::early_sets > 0) {
      // Sums below the diagonal add the same numbers in another order. Those above it stand for them.
      const int i = place.section_row + row;
      const int j = place.section_column + column;
      if (p.symmetric && i > j) return;
      if (p.symmetric) p.partial[(place.part * p.m + j) * p.n + i] = entry;
    }
    partial[static_cast<std::int64_t>(row) * p.n + column] = entry;
  };
  if (p.groups == 1) {
    if (place.group != 0) return;
    tiles.for_each_entry(place.lane, [&](double entry, int row, int column) {
      row += place.row0;
      column += place.column0;
      if (row < rows && column < columns) store(row, column, entry);
    });
    return;
  }
  for (int turn = 0; turn < p.groups; ++turn) {
    if (place.group == turn) {
      tiles.for_each_entry(place.lane, [&](double entry, int row, int column) {
        double& out = sums[(place.row0 + row) * place.columns + place.column0 + column];
        out = turn == 0 ? entry : out + entry;
      });
    }
    __syncthreads();
  }
  for (int i = static_cast<int>(threadIdx.x); i < rows * columns; i += static_cast<int>(blockDim.x)) {
    const int row = i / columns;
    const int column = i % columns;
    store(row, column, sums[row * place.columns + column]);
  }
}

/// Adds the steps from `first` to `end` in double precision, where sums of single precision were not finite. A step
/// begins `rows` rows behind the one before.
template <class Tiles>
__device__ inline void add_again(typename Tiles::LaneA a, typename Tiles::LaneB b, std::int64_t first, std::int64_t end,
                                 std::int64_t rows, Tiles& tiles) {
  a.advance(first * rows);
  b.advance(first * rows);
#pragma unroll 1
  for (std::int64_t step = first; step < end; ++step) {
    typename Tiles::LaneA::Loads loaded_a;
    typename Tiles::LaneB::Loads loaded_b;
    a.template load<false>(loaded_a);
    b.template load<false>(loaded_b);
    tiles.add_again(loaded_a, loaded_b);
    a.advance(rows);
    b.advance(rows);
  }
}

/// Adds every `streams`-th step of 16 rows (times fold), from step number `stream` on.
template <class Tiles, class Real>
__device__ inline void add_stream(const TsmttsmDirect<Real>& p, typename Tiles::LaneA a, typename Tiles::LaneB b,
                                  std::int64_t stream, std::int64_t streams, Tiles& tiles) {
  const int rows = 16 * p.fold;
  const std::int64_t whole = p.k / rows;
  a.advance(stream * rows);
  b.advance(stream * rows);
  [[maybe_unused]] const typename Tiles::LaneA first_a = a;
  [[maybe_unused]] const typename Tiles::LaneB first_b = b;
  typename Tiles::LaneA::Loads next_a[Tiles::ahead];
  typename Tiles::LaneB::Loads next_b[Tiles::ahead];
  const std::int64_t steps = ceil_div(max(whole - stream, std::int64_t{0}), streams);
  std::int64_t to_load = steps;
  const auto load = [&](int i) {
    a.template load<false>(next_a[i]);
    b.template load<false>(next_b[i]);
    if (--to_load <= 0) return;  // then the last rows are loaded again, and nobody multiplies them
    a.advance(streams * rows);
    b.advance(streams * rows);
  };
  if (steps > 0) {
    unrolled<Tiles::ahead>([&](int i) { load(i); });
  }
  [[maybe_unused]] std::int64_t joined = 0;
#pragma unroll 1
  for (std::int64_t left = steps; left > 0; left -= Tiles::ahead) {
    unrolled<Tiles::ahead>([&](int i) {
      const typename Tiles::Factors now(next_a[i], next_b[i]);
      load(i);
      if (i < left) tiles.add(now);
    });
    if constexpr (Tiles::early_sets > 0) {
      const std::int64_t added = steps - max(left - Tiles::ahead, std::int64_t{0});
      if (added < steps && added - joined + Tiles::ahead <= Tiles::early_sets) continue;
      if (!tiles.join()) add_again(first_a, first_b, joined, added, streams * rows, tiles);
      joined = added;
    }
  }
  if (whole % streams != stream) return;
  if (steps > 0) {
    a.advance(streams * rows);
    b.advance(streams * rows);
  }
  const int rest = static_cast<int>(p.k % rows);
  a.template load<true>(next_a[0], rest);
  b.template load<true>(next_b[0], rest);
  tiles.add({next_a[0], next_b[0]});
  if constexpr (Tiles::early_sets > 0) {
    if (!tiles.join()) tiles.add_again(next_a[0], next_b[0]);
  }
}

template <class Tiles, int warps>
__global__ void __launch_bounds__(32 * warps, 1)
    tsmttsm_direct_kernel(const __grid_constant__ TsmttsmDirect<typename Tiles::Number> p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  release_next_kernel();
  const DirectPlace place(p, Tiles::rows, Tiles::columns);
  Tiles tiles;
  await_previous_kernel();
  if (!p.condition.holds() || p.alpha.read().is_zero()) return;
  if (place.group < p.groups) {
    const int m = p.m / p.fold;
    const int n = p.n / p.fold;
    add_stream(p, {p.a, m, p.fold, place.section_row + place.row0, place.lane},
               {p.b, n, p.fold, place.section_column + place.column0, place.lane}, place.part * p.groups + place.group,
               place.parts * p.groups, tiles);
  }
  store_partial(p, place, tiles, reinterpret_cast<double*>(memory));
}

}  // namespace blockvec::kernels::cuda
