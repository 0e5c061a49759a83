#pragma once

#include "src/cuda/math/f64_tiles.cuh"
#include "src/cuda/operands/staged.cuh"

/// tsmttsm on tensor cores, fed by a multistage pipeline (ring) of bulk copies: P = A^T B of real views. Each thread
/// block writes one partial sum.
///
///            warps_n warps                     The warps of a group share the result as shown. Each has MMA tiles of
///           +----+----+                        16 x 8 in registers through all row tiles of the block. Groups take
///   warps_m | wm |    |  16 tm rows a warp     whole stages in turn, or `split` groups share a stage, 16 rows in turn.
///           +----+----+                        At the end the groups' sums are added in shared memory in fixed order.
///            8 tn columns a warp
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmttsmRing {
  Staged<Real> a, b;
  bool same;  ///< B is A, and `b` equals `a`: a stage holds the rows once
  int m, n;
  int sections_m, sections_n;  ///< CTA tiles (sections) of P, which blocks share out
  std::uint32_t chunks;
  int rows;  ///< of a row tile
  int segments;
  int stages;
  int stage_bytes;
  int offset_b;  ///< bytes from the start of a stage to B's part
  int warps_m, warps_n;
  int groups;
  int copies;     ///< copies of P in shared memory at the end
  int sum_pitch;  ///< numbers from row to row of a copy
  int split;
  int groups_in_turn;  ///< groups / split
  int steps;           ///< steps of 16 rows in a segment
  RowMap map;
  bool turned;  ///< half of the lanes read their blocks in the other order (math/f64_tiles.cuh)
  // Only for column-major operands:
  bool wide;          ///< lanes read columns 16 bytes at a time
  std::uint32_t run;  ///< adjacent row tiles that a block takes one after the other
  Coefficient<Real> alpha;
  Condition condition;
  double* partial;  ///< [block][m][n]
  double sign;      ///< s of tsmttsm/ring_3m.cuh
  int flips;        ///< 3M: which bit of a lane's number flips the lane (math/f64_tiles.cuh)
  // Only for the warpgroup kernels: the operands in memory.
  Tall<const Real> whole_a, whole_b;
  std::int64_t k;
  int parts;  ///< Gram matrices in CTA tiles: parts of the rows for squares on the diagonal
};

/// The work range (share) of a block: a CTA tile of P, and every `parts`-th row tile or run of row tiles.
struct Share {
  std::uint32_t part, parts;
  int row0, column0;

  template <class Real>
  __device__ Share(const TsmttsmRing<Real>& p, int rows, int columns) {
    const auto sections = static_cast<std::uint32_t>(p.sections_m * p.sections_n);
    part = blockIdx.x / sections;
    parts = gridDim.x / sections;
    const int section = static_cast<int>(blockIdx.x % sections);
    row0 = section / p.sections_n * rows;
    column0 = section % p.sections_n * columns;
  }

  /// turns() is the number of the block's row tiles; chunk() is the row tile of one turn.
  template <bool by_columns, class Real>
  __device__ int turns(const TsmttsmRing<Real>& p) const {
    if constexpr (!by_columns) return static_cast<int>((p.chunks - part + parts - 1) / parts);
    const std::uint32_t rounds = p.chunks / (parts * p.run);
    const auto left = static_cast<int>(p.chunks - (rounds * parts + part) * p.run);
    return static_cast<int>(rounds * p.run) + min(max(left, 0), static_cast<int>(p.run));
  }
  template <bool by_columns, class Real>
  __device__ std::uint32_t chunk(const TsmttsmRing<Real>& p, int turn) const {
    const auto t = static_cast<std::uint32_t>(turn);
    if constexpr (!by_columns) return part + t * parts;
    return (t / p.run * parts + part) * p.run + t % p.run;
  }
};

/// The loading warps of row-major operands call this before the operands are known to be complete. Each brings its
/// first row tile into L2, which hides nothing that is written meanwhile, and the tensor maps too. Where results are
/// large, their final sum keeps all multiprocessors busy until then, and the row tile would only be requested twice.
/// Where there is a condition, nobody may want it.
inline constexpr int most_entries_ahead = 1024;
template <class Real>
__device__ inline void prefetch(const TsmttsmRing<Real>& p, const Share& share) {
  if constexpr (!has_bulk_copies) return;
  if (p.condition.word != nullptr) return;
  const int turn = static_cast<int>(threadIdx.x) % loading_threads / warp_size;
  if (p.m > most_entries_ahead / p.n || turn >= min(share.turns<false>(p), p.stages) || !elected()) return;
  const std::uint32_t chunk = share.chunk<false>(p, turn);
  RowFeeder<Real>(p.a, p.rows, share.row0).prefetch(chunk);
  if (!p.same) RowFeeder<Real>(p.b, p.rows, share.column0).prefetch(chunk);
}

/// The loading warps of row-major operands take row tiles in turn: while one computes addresses, others have requested
/// more. For column-major operands they share every row tile.
template <bool by_columns, class Real>
__device__ inline void load(const TsmttsmRing<Real>& p, const Share& share, RingBarriers& barriers,
                            unsigned char* ring) {
  constexpr int loaders = loading_threads / warp_size;
  const int loader = static_cast<int>(threadIdx.x) % loading_threads / warp_size;
  const int in_turn = by_columns ? 1 : min(loaders, p.stages);
  const int first = by_columns ? 0 : loader;
  if (first >= in_turn) return;
  const int turns = share.turns<by_columns>(p);
  const auto load_operands = [&]<bool two>(const auto& a, const auto& b) {
    RingPosition at{first, 1};  // the first round finds the stages empty
    for (int turn = first; turn < turns; turn += in_turn) {
      const std::uint32_t chunk = share.template chunk<by_columns>(p, turn);
      barriers.empty[at.stage].wait(at.parity);
      fill_stage<two>(a, b, p.offset_b, chunk, ring + at.stage * p.stage_bytes, barriers.full[at.stage]);
      at.advance(in_turn, p.stages);
    }
  };
  const auto load_all = [&](const auto& a, const auto& b) {
    if (p.same) {
      load_operands.template operator()<false>(a, b);
    } else {
      load_operands.template operator()<true>(a, b);
    }
  };
  if constexpr (by_columns) {
    const int parts = p.a.columns.parts;
    load_all(ColumnFeeder<Real>(p.a.columns, p.a.boxes, p.rows, share.row0 / parts, loader),
             ColumnFeeder<Real>(p.b.columns, p.b.boxes, p.rows, share.column0 / parts, loaders - 1 - loader));
  } else {
    load_all(RowFeeder<Real>(p.a, p.rows, share.row0), RowFeeder<Real>(p.b, p.rows, share.column0));
  }
}

/// How a lane reads its rows of an operand.
template <bool by_columns, bool turned, bool reads_wide, class Real>
__device__ inline auto lane_of(const Staged<Real>& operand, const RowMap& map, int flips) {
  Lane<by_columns, turned, reads_wide> lane;
  lane.turn = turned ? static_cast<int>(threadIdx.x) % 4 / 2 * 8 : 0;
  lane.flip = (static_cast<int>(threadIdx.x) & flips) != 0 ? -1 : 1;
  lane.first = map.by_first * operand.row_step;
  lane.second = map.by_second * operand.row_step;
  lane.eight_columns = operand.eight_columns;
  return lane;
}

/// Adds a computing warp's part of all row tiles of the block; its columns begin at column_a of A and column_b of B.
/// `simple`: a row tile is one segment, and one group takes it. Then fewer registers hold its position.
template <bool simple, bool turned, bool by_columns, bool reads_wide, class Tiles, class Real>
__device__ inline void add_chunks(const TsmttsmRing<Real>& p, const Share& share, RingBarriers& barriers,
                                  const unsigned char* ring, int group, int column_a, int column_b, Tiles& tiles) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int flips = Tiles::flips ? p.flips : 0;
  const auto lane_a = lane_of<by_columns, turned, reads_wide>(p.a, p.map, flips);
  const auto lane_b = lane_of<by_columns, turned, reads_wide>(p.b, p.map, flips);
  const int first_row = p.map.by_lane * (lane % 4);
  const auto place = [&](const Staged<Real>& operand, int first, int column) {
    return operand.template place_of_column<by_columns>(first, column + Tiles::numbers * (lane / 4)) +
           first_row * operand.row_step + (lane_a.flip < 0 ? 1 : 0);
  };
  const int place_a = place(p.a, share.row0, column_a) + (turned ? lane_a.turn : 0);
  const int place_b = place(p.b, share.column0, column_b) + (turned ? lane_b.turn : 0);
  int step = simple ? 0 : group % p.split;  // groups that share stages take steps in turn, through all segments
  const int step_by = simple ? 1 : p.split;
  const int in_turn = simple ? p.groups : p.groups_in_turn;
  RingPosition at{simple ? group : group / p.split, 0};
  for (int left = share.turns<by_columns>(p) - at.stage; left > 0; left -= in_turn) {
    barriers.full[at.stage].wait(at.parity);
    const unsigned char* const stage = ring + at.stage * p.stage_bytes;
    if (simple) step = 0;
    for (int s = 0; s < (simple ? 1 : p.segments); ++s, step -= p.steps) {
      const Real* a = reinterpret_cast<const Real*>(stage) + p.a.segment[s] + place_a;
      const Real* b = reinterpret_cast<const Real*>(stage + p.offset_b) + p.b.segment[s] + place_b;
      a += step * 16 * p.a.row_step;
      b += step * 16 * p.b.row_step;
      for (; step < p.steps; step += step_by) {
        tiles.add(a, lane_a, b, lane_b);
        a += step_by * 16 * p.a.row_step;
        b += step_by * 16 * p.b.row_step;
      }
    }
    barriers.empty[at.stage].give_back();
    at.advance(in_turn, p.stages);
  }
}

template <bool by_columns, class Tiles, class Real>
__device__ inline void add_chunks(const TsmttsmRing<Real>& p, const Share& share, RingBarriers& barriers,
                                  const unsigned char* ring, int group, int column_a, int column_b, Tiles& tiles) {
  const auto add = [&]<bool simple, bool turned, bool reads_wide = false>() {
    add_chunks<simple, turned, by_columns, reads_wide>(p, share, barriers, ring, group, column_a, column_b, tiles);
  };
  if constexpr (Tiles::numbers == 2) {  // a row tile is one segment; by columns, groups share its rows
    add.template operator()<!by_columns, false>();
  } else if constexpr (by_columns) {
    if (p.wide) {
      add.template operator()<false, false, true>();
    } else {
      add.template operator()<false, false>();
    }
  } else if (p.segments != 1 || p.split != 1) {
    add.template operator()<false, false>();
  } else if (Tiles::may_turn && p.turned) {
    add.template operator()<true, Tiles::may_turn>();
  } else {
    add.template operator()<true, false>();
  }
}

/// Where the block's CTA tile of a partial sum begins, and its extents.
struct PartialPlace {
  double* start;
  int rows, columns;

  /// Of a block whose warps have tiles of `tile_rows` x `tile_columns`.
  template <class Real>
  __device__ PartialPlace(const TsmttsmRing<Real>& p, const Share& share, int tile_rows, int tile_columns)
      : start(p.partial + (static_cast<std::int64_t>(share.part) * p.m + share.row0) * p.n + share.column0),
        rows(min(p.m - share.row0, p.warps_m * tile_rows)),
        columns(min(p.n - share.column0, p.warps_n * tile_columns)) {}
};

/// Writes the partial sum of a block of one group directly from registers.
template <class Tiles, class Real>
__device__ inline void write_group(const TsmttsmRing<Real>& p, const Share& share, int row0, int column0,
                                   const Tiles& tiles) {
  const PartialPlace place(p, share, Tiles::rows, Tiles::columns);
  const bool even = p.n % 2 == 0;
  tiles.for_each_pair(static_cast<int>(threadIdx.x) % warp_size, [&](double one, double other, int row, int column) {
    row += row0;
    column += column0;
    if (row >= place.rows || column >= place.columns) return;
    double* const out = place.start + row * p.n + column;
    if (even) {
      *reinterpret_cast<double2*>(out) = make_double2(one, other);
    } else {
      out[0] = one;
      if (column + 1 < place.columns) out[1] = other;
    }
  });
}

/// The groups' sums in the memory of the stages, side by side as far as they fit.
struct GroupSums {
  double* first;
  int pitch;    ///< numbers from row to row
  int size;     ///< numbers from one sum to the next
  int threads;  ///< of all groups

  /// `rows`: of a sum.
  template <class Real>
  __device__ GroupSums(const TsmttsmRing<Real>& p, unsigned char* memory, int rows)
      : first(reinterpret_cast<double*>(memory)),
        pitch(p.sum_pitch),
        size(rows * p.sum_pitch),
        threads(p.groups * p.warps_m * p.warps_n * warp_size) {}
};

/// Adds the groups' tiles to the sums once all stages have been read: their memory takes the sums.
template <class Tiles, class Real>
__device__ inline void add_groups(const TsmttsmRing<Real>& p, const GroupSums& sums, int group, int row0, int column0,
                                  const Tiles& tiles) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  double* const own = sums.first + group % p.copies * sums.size + row0 * sums.pitch + column0;
  for (int turn = 0; turn < p.groups; turn += p.copies) {
    meet(1, sums.threads);
    if (group < turn || group >= turn + p.copies) continue;
    tiles.for_each_pair(lane, [&](double one, double other, int row, int column) {
      double2& out = *reinterpret_cast<double2*>(own + row * sums.pitch + column);
      out = turn == 0 ? make_double2(one, other) : make_double2(out.x + one, out.y + other);
    });
  }
  if constexpr (Tiles::sharing != 0) {  // adds the part of the result that all warps of a group share
    for (int turn = 0; turn < p.groups * Tiles::sharing; ++turn) {
      meet(1, sums.threads);
      if (group != turn / Tiles::sharing || tiles.warp != turn % Tiles::sharing) continue;
      const bool first = turn < p.copies * Tiles::sharing && tiles.warp == 0;
      tiles.for_each_shared_pair(lane, [&](double one, double other, int row, int column) {
        double2& out = *reinterpret_cast<double2*>(own + row * sums.pitch + column);
        out = first ? make_double2(one, other) : make_double2(out.x + one, out.y + other);
      });
    }
  }
}

/// Adds the copies of the sums in fixed order, and writes the block's partial sum. All threads of all groups call this.
/// For a Gram matrix they read only the entries on and above the diagonal.
template <class Tiles, bool gram, class Real>
__device__ inline void write_groups(const TsmttsmRing<Real>& p, const Share& share, const GroupSums& sums) {
  meet(1, sums.threads);
  const PartialPlace place(p, share, Tiles::rows, Tiles::columns);
  // All copies are loaded at once. Where there are fewer than `most`, the last one is loaded again.
  const auto write = [&]<int most>() {
    const int first = static_cast<int>(threadIdx.x);
    int row = first / place.columns;
    int column = first % place.columns;
    const int more_rows = sums.threads / place.columns;
    const int more_columns = sums.threads % place.columns;
#pragma unroll 4
    for (int entry = first; entry < place.rows * place.columns; entry += sums.threads) {
      const bool below = gram && row > column;
      const double* const of_first = sums.first + (below ? column * sums.pitch + row : row * sums.pitch + column);
      double copies[most];
      unrolled<most>([&](int i) { copies[i] = of_first[min(i, p.copies - 1) * sums.size]; });
      double sum = copies[0];
#pragma unroll
      for (int i = 1; i < most; ++i) sum = i < p.copies ? sum + copies[i] : sum;
      place.start[row * p.n + column] = sum;
      row += more_rows;
      column += more_columns;
      if (column >= place.columns) {
        column -= place.columns;
        ++row;
      }
    }
  };
  if (p.copies <= 2) {
    write.template operator()<2>();
  } else {
    write.template operator()<computing_warps>();
  }
}

/// Runs the block: the computing warps call compute(group, warp of the group), and the loading warps load.
template <bool by_columns, int warps = computing_warps, class Real, class Compute>
__device__ inline void run_ring(const TsmttsmRing<Real>& p, const Share& share, RingBarriers& barriers,
                                unsigned char* ring, Compute&& compute) {
  // No configuration loads columns without bulk copies.
  if constexpr (by_columns && !has_bulk_copies) return;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int group_warps = p.warps_m * p.warps_n;
  const unsigned filling_warps = by_columns ? loading_threads / warp_size : 1;
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(group_warps * p.split), filling_warps);
  if (!by_columns && warp >= warps) prefetch(p, share);
  await_previous_kernel();
  if (!p.condition.holds() || p.alpha.read().is_zero()) return;
  __syncthreads();

  if (warp >= warps) {
    give_registers<by_columns ? 40 : 24>();  // many columns need more registers to keep track of
    load<by_columns>(p, share, barriers, ring);
    return;
  }
  take_registers<(warps > computing_warps) ? (by_columns ? 152 : 160) : by_columns ? 232 : 240>();
  const int group = warp / group_warps;
  if (group < p.groups) compute(group, warp % group_warps);
}

/// The kernel whose warps each have one `Tiles` of the result.
template <class Real, bool by_columns, class Tiles>
__global__ void __launch_bounds__(Tiles::warps* warp_size + loading_threads, 1)
    tsmttsm_ring_kernel(const __grid_constant__ TsmttsmRing<Real> p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ RingBarriers barriers;
  release_next_kernel();
  const Share share(p, p.warps_m * Tiles::rows, p.warps_n * Tiles::columns);
  run_ring<by_columns, Tiles::warps>(p, share, barriers, memory, [&](int group, int warp) {
    const auto add = [&](int row0, int column0, Tiles& tiles) {
      add_chunks<by_columns>(p, share, barriers, memory, group, row0, column0, tiles);
      if constexpr (Tiles::sharing == 0) {
        if (p.groups == 1) return write_group(p, share, row0, column0, tiles);
      }
      const GroupSums sums(p, memory, Tiles::rows * (Tiles::sharing != 0 ? 1 : p.warps_m));
      add_groups(p, sums, group, row0, column0, tiles);
      write_groups<Tiles, false>(p, share, sums);
    };
    if constexpr (Tiles::sharing != 0) {
      Tiles tiles(p.sign, warp);
      add(0, 0, tiles);
      return;
    } else {
      Tiles tiles;
      // Warps of one residue modulo 4 share a tensor core. This puts warps with few live columns beside others.
      constexpr bool complex = Tiles::numbers == 2;
      const int row0 = (complex ? warp % p.warps_m : warp / p.warps_n) * tiles.rows;
      const int column0 = (complex ? warp / p.warps_m : warp % p.warps_n) * tiles.columns;
      if constexpr (complex) {
        tiles.sign = p.sign;
        tiles.live = (p.n - share.column0 - column0 + 15) / 16;
      }
      add(row0, column0, tiles);
    }
  });
}

}  // namespace blockvec::kernels::cuda
