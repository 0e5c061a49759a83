#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/operands/load_tma.cuh"
#include "src/cuda/ptx/cluster.cuh"
#include "src/cuda/ptx/mma_f64.cuh"
#include "src/cuda/tsmm/chunks.cuh"
#include "src/cuda/tsmm/factor.cuh"
#include "src/cuda/tsmm/results.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// tsmm on tensor cores for operands of any stride, in either layout, and of any width. TMA tiles (boxes) bring A to
/// shared memory. One panel of A's columns (a K slice in GEMM's terms) follows the other, while the results of a row
/// tile (chunk) stay in registers. They go to memory from there.
///
/// Warps stand `row_warps` deep along the rows of a box and `column_warps` wide along the columns of B. Each warp holds
/// 16 rows of each of its boxes times some MMA tiles (pieces) of 8 columns. How it multiplies them is a policy:
/// products in double precision (Fp64Tiles), 3M (tsmm/strided_3m.cuh) or 3xTF32 (tsmm/strided_tf32.cuh). A block loads
/// all rows of a chunk before it writes any of them, so that B may be A. Blocks take chunks from a ticket, as in
/// tsmm/row_ring.cuh.
///
/// Where A and B have many columns (the kernel `wide`), B's columns are cut into sections (CTA tiles). A block computes
/// a chunk of rows of one section at a time, and a warp holds so many sums that it reads little from shared memory for
/// each product. Sections of the same rows follow one another, so that A comes from memory once. Where B may be A, the
/// blocks of a cluster take one section each, compute the same chunks, and write when all have read.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmBoxes : TsmmTask<Real> {
  Boxes a;
  PlainLines<Real> lines;  ///< A in memory, for plain copies and for results that are computed again
  Results<Real> out;
  int m;
  int row_warps, column_warps;
  int panel;   ///< columns of A in a stage
  int panels;  ///< panels that a row of A has
  int sets;    ///< sets of boxes in a stage; more than one only if a row has one panel
  int stages;
  int step[4];        ///< from a lane's first depth to its others among 16, in numbers of a stage
  int depth_step;     ///< from 16 columns of A to the next 16, in numbers of a stage
  int depth_classes;  ///< number of consecutive columns of A that lanes of one q read in turn: see depth_of
  /// C in the order of steps; a panel of it comes with each panel of A. Null: all of C stays in shared memory.
  const double* packed;
  int section_pieces;  ///< MMA tiles of 8 columns in a section, the columns of B that a block takes at a time
  int sections;        ///< sections of B's columns
  bool clustered;      ///< each block of a cluster takes one section

  /// The numbers of packed C that go with a panel.
  __host__ __device__ int panel_numbers() const { return panel * section_pieces * 8; }
};

/// Says what an item of work is: a chunk of rows in a section. Only `wide` has more than one section. A clustered block
/// has a fixed section; else TsmmTask counts the chunks of all sections.
template <class Real, bool wide>
class Items {
 public:
  __device__ explicit Items(const TsmmBoxes<Real>& p) : p_(p), rank_(clustered() ? rank_in_cluster() : 0) {}

  __device__ bool clustered() const { return wide && p_.clustered; }
  __device__ std::uint32_t chunk(std::uint32_t item) const { return mixed() ? item / p_.sections : item; }
  __device__ int section(std::uint32_t item) const { return static_cast<int>(mixed() ? item % p_.sections : rank_); }

  /// Items in fixed turns, where no ticket is needed.
  __device__ std::uint32_t first() const { return clustered() ? blockIdx.x / p_.sections : blockIdx.x; }
  __device__ std::uint32_t step() const { return clustered() ? gridDim.x / p_.sections : gridDim.x; }

  /// Which panels of A a section needs. It skips panels where a triangular C has only zeros, except in a cluster.
  __device__ int first_panel(int section) const {
    return skips(Half::lower) ? min(section * section_columns() / p_.panel, p_.panels - 1) : 0;
  }
  __device__ int end_panel(int section) const {
    const int end = (section + 1) * section_columns();
    return skips(Half::upper) ? min((end + p_.panel - 1) / p_.panel, p_.panels) : p_.panels;
  }
  __device__ int section_columns() const { return 8 * p_.section_pieces; }

 private:
  __device__ bool mixed() const { return wide && !p_.clustered; }
  __device__ bool skips(Half half) const { return mixed() && p_.small.half == half; }

  const TsmmBoxes<Real>& p_;
  unsigned rank_;
};

/// Knows where stages lie and what they hold.
template <class Real>
struct BoxStages {
  RingBarriers& barriers;
  std::uint32_t* item_of;
  unsigned char* memory;
  int bytes_a;
  int small_numbers;  ///< numbers of packed C that come with a panel of A
  __device__ int bytes() const { return bytes_a + small_numbers * static_cast<int>(sizeof(double)); }
};

/// Where a row of a row-major box begins in its stage.
template <class Real>
__device__ inline int place_of_row(const TsmmBoxes<Real>& p, int row) {
  const int row_class = row % p.a.classes;
  return row_class * p.a.class_numbers() + row / p.a.classes * p.a.pitch + p.a.lead[row_class];
}

/// Where a lane's entries begin in a stage, for either half of a warp's rows. Lanes take `together` neighbours of a
/// row.
template <int together, class Real>
__device__ inline int first_entry(const TsmmBoxes<Real>& p, int warp_row, int lane, int half) {
  const int row = 16 * warp_row + row_of(p.out.map, lane / 4, half);
  return p.out.b.row_major ? place_of_row(p, row) + lane % 4 * together : p.out.b.parts * row + lane % 4 * p.a.pitch;
}

/// The loading warp takes items, by tickets or in fixed turns, and starts the copies of all boxes. A last stage, marked
/// no_chunk, ends the work. It calls on_item(item) after it has started an item's copies. `plain`: all loading warps
/// copy A by cp.async.
template <int tb, bool plain, class Real, bool wide, class OnItem>
__device__ inline void load_chunks(const TsmmBoxes<Real>& p, const BoxStages<Real>& stages,
                                   const Items<Real, wide>& items, std::uint32_t (&tickets)[2], const OnItem& on_item) {
  const int thread = plain ? static_cast<int>(threadIdx.x) - computing_threads : 0;
  const int boxes = p.sets * tb;
  const unsigned small_bytes = static_cast<unsigned>(stages.small_numbers) * sizeof(double);
  RingPosition at{0, 1};
  const auto load = [&](std::uint32_t item) {
    const std::uint32_t chunk = items.chunk(item);
    const int section = items.section(item);
    const int end = items.end_panel(section);
    for (int panel = items.first_panel(section); panel < end; ++panel) {
      stages.barriers.empty[at.stage].wait(at.parity);
      Barrier& full = stages.barriers.full[at.stage];
      Real* const stage = reinterpret_cast<Real*>(stages.memory + at.stage * stages.bytes());
      const int column = panel * p.panel;
      if constexpr (plain) {  // rows only
        const int rows = boxes * p.out.box_rows;
        copy_lines<loading_threads>(p.lines, std::int64_t{chunk} * rows, rows, column,
                                    min(p.panel, (p.m - column + 3) / 4 * 4), stage, p.a.pitch, thread);
        full.await_copies();
        __syncwarp();
      }
      if (elected()) {
        if (thread < warp_size) {
          stages.item_of[at.stage] = item;
          full.arrive_and_expect((plain ? 0U : static_cast<unsigned>(stages.bytes_a)) + small_bytes);
          if (small_bytes != 0) {
            const double* const small = p.packed + (std::int64_t{section} * p.panels + panel) * stages.small_numbers;
            bulk_load(reinterpret_cast<unsigned char*>(stage) + stages.bytes_a, small, small_bytes, full);
          }
          for (int box = 0; box < boxes && !plain; ++box) {
            const int row = (static_cast<int>(chunk) * boxes + box) * p.out.box_rows;
            const int parts = p.out.b.parts;
            const bool by_rows = p.out.b.row_major;
            p.a.start(by_rows ? column : parts * row, by_rows ? row : column / parts, stage + box * p.a.numbers(),
                      full);
          }
        } else {
          full.arrive();
        }
      }
      __syncwarp();
      at.advance(1, p.stages);
    }
    on_item(item);
  };
  if (items.clustered()) {
    for (std::uint32_t item = items.first(); item < p.chunks; item += items.step()) load(item);
  } else if constexpr (plain) {
    for_each_chunk<loading_threads>(p, load, thread < warp_size, tickets);
  } else {
    for_each_chunk(p, load);
  }
  stages.barriers.empty[at.stage].wait(at.parity);
  if (elected()) {
    if (thread < warp_size) stages.item_of[at.stage] = no_chunk;
    stages.barriers.full[at.stage].arrive();
  }
}

/// A warp sees A's panels arrive. It tells the blocks of the cluster when all panels of a chunk have arrived. That is
/// well before these are multiplied, so that blocks hardly wait for one another. A chunk must have more panels than
/// there are stages: then every warp has been told of the chunk before.
template <class Real>
__device__ inline void tell_when_read(const TsmmBoxes<Real>& p, const BoxStages<Real>& stages,
                                      const Items<Real, true>& items, Barrier& all_read) {
  const auto lane = static_cast<int>(threadIdx.x) % warp_size;
  RingPosition at{0, 0};
  for (std::uint32_t item = items.first(); item < p.chunks; item += items.step()) {
    for (int panel = 0; panel < p.panels; ++panel) {
      stages.barriers.full[at.stage].wait(at.parity);
      stages.barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
    }
    __syncwarp();
    if (lane < p.sections) arrive_in_cluster(all_read, static_cast<unsigned>(lane));
  }
}

/// Adds A C to sum for the boxes of a set and `steps` steps of 4 columns of A. `a` points to this lane's first entries
/// of both halves of the rows, `c` to this warp's columns. `ahead`: the warp loads A's next entries while it multiplies
/// these.
template <bool ahead, int tb, int tn, class Parameters, class Real>
__device__ inline void multiply_panel(const Parameters& p, double (&sum)[tb][tn][4], const Real* const (&a)[2], int box,
                                      const double* c, int pieces, int steps) {
  int at = 0;
  int s = 0;
  const auto load = [&](double(&left)[tb][8]) {
    unrolled<tb, 8>([&](int t, int v) { left[t][v] = a[v % 2][t * box + at + p.step[v / 2]]; });
  };
  double left[tb][8];
  double next[tb][8];
  if (ahead && steps >= 4) load(left);
#pragma unroll 2
  for (; s + 4 <= steps; s += 4, c += 2 * 64 * pieces) {
    if (!ahead) load(left);
    at += p.depth_step;
    if (ahead && s + 8 <= steps) load(next);
    multiply_step(sum, left, c, pieces);
    if (ahead) unrolled<tb, 8>([&](int t, int v) { left[t][v] = next[t][v]; });
  }
#pragma unroll
  for (int v = 0; v < 3; ++v) {
    if (s + v >= steps) break;
    double left[tb][2];
    unrolled<tb, 2>([&](int t, int half) { left[t][half] = a[half][t * box + at + p.step[v]]; });
    unrolled<tn, tb>([&](int x, int t) { multiply_16x8x4(sum[t][x], left[t], c[64 * (v / 2 * pieces + x) + v % 2]); });
  }
}

/// Packs alpha C for Fp64Tiles.
template <class Real_>
struct Fp64Pack {
  using Real = Real_;

  __device__ static void pack(const TsmmBoxes<Real>& p, int rows, double* packed, int thread, int threads) {
    const OrderOfSteps order{p.sections * p.section_pieces, rows / 8, p.depth_classes, p.out.neighbours,
                             p.section_pieces};
    cuda::pack(p.small, p.m, p.out.n, p.alpha.read(), order, packed, thread, threads);
  }
};

/// Packs C once for all blocks, where it does not fit into each of them, and sets their ticket to zero.
template <class Pack>
__global__ void pack_kernel(const __grid_constant__ TsmmBoxes<typename Pack::Real> p, double* packed) {
  release_next_kernel();
  await_previous_kernel();
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.tickets = 0;
  if (!p.condition.holds() || p.alpha.read().is_zero()) return;
  Pack::pack(p, p.panels * p.panel, packed, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
             static_cast<int>(gridDim.x * blockDim.x));
}

/// A policy of tsmm_strided_kernel: what a warp does with its tile of `tb` x 16 rows times `tn` x 8 columns. This one
/// multiplies in double precision. `wide`: for many columns of A and B. Every policy has these members.
template <class Real_, int tb_, int tn_, bool wide_ = false>
struct Fp64Tiles : Fp64Pack<Real_> {
  using Real = Real_;
  using Sum = double;  ///< of a result
  static constexpr int tb = tb_, tn = tn_;
  static constexpr bool exists = true;         ///< there is code for this architecture
  static constexpr bool wide = wide_;          ///< the block computes sections of B
  static constexpr bool may_copy = !wide;      ///< plain copies may bring A
  static constexpr bool may_stage = !wide;     ///< results may go through shared memory
  static constexpr bool rows_only = false;     ///< operands are row-major
  static constexpr bool may_overflow = false;  ///< infinities need not be true ones, so results are computed again
  /// How many blocks a multiprocessor runs at a time, and the registers of loading and of computing threads.
  static constexpr int blocks = wide ? 1 : dispatch::tsmm_box_blocks({tb, tn});
  static constexpr int loading_registers = wide ? 40 : blocks == 2 ? 48 : 56;
  static constexpr int registers = wide ? 232 : blocks == 2 ? 96 : 224;
  static constexpr bool early = !wide && tb * tn <= 4;  ///< B's old rows are read before the products
  static constexpr int old_halves = wide ? 1 : 2;       ///< otherwise so many sets of 8 rows of them at a time
  static constexpr bool prefetches = false;             ///< otherwise they come to the L2 cache before the products
  static constexpr int together = 1;                    ///< neighbours of a row of A that a lane reads
  static constexpr int piece_numbers = 64;              ///< packed C of 8 columns of B, 8 rows deep

  double sum[tb][tn][4];

  __device__ static int first_c(int warp_column, int lane) { return warp_column * tn * piece_numbers + 2 * lane; }

  __device__ void clear() {
    unrolled<tb * tn * 4>([&](int i) { sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0; });
  }

  /// Adds the products with `columns` columns of A. `a` points to this lane's first entries of both halves of the rows,
  /// `c` to the warp's part of C.
  __device__ void multiply(const TsmmBoxes<Real>& p, const Real* const (&a)[2], const double* c, int columns) {
    const int box = p.a.numbers();
    if constexpr (wide) {
      const int steps = (columns + 15) / 16;
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        double left[tb][8];
        unrolled<tb, 8>([&](int t, int v) { left[t][v] = a[v % 2][t * box + step * p.depth_step + p.step[v / 2]]; });
        multiply_step(sum, left, c + step * 128 * p.section_pieces, p.section_pieces);
      }
    } else {
      constexpr bool ahead = blocks == 1 ? tb * tn <= 8 : tb == 1;  // if registers suffice
      const int unit = 4 * p.depth_classes;
      const int steps = (columns + unit - 1) / unit * p.depth_classes;
      multiply_panel<ahead>(p, sum, a, box, c, p.section_pieces, steps);
    }
  }

  /// Gives the results. Returns whether all of the warp are finite.
  __device__ bool finish(double (&result)[tb][tn][4]) const {
    unrolled<tb * tn * 4>([&](int i) { (&result[0][0][0])[i] = (&sum[0][0][0])[i]; });
    return true;
  }
};

/// A warp computes its rows again in double precision. A comes from a stage that holds whole rows, since other warps
/// may have written to B, which may be A. Elsewhere A comes from memory. `place(row)` is where a row of results goes,
/// and result `column` goes to `to_column(column)` there.
template <class Math, class Real, class Place>
__device__ inline void multiply_rows_again(const TsmmBoxes<Real>& p, const Real* stage, std::int64_t first_row,
                                           int warp_row, int column0, const Place& place) {
  const bool rows = p.out.b.row_major;
#pragma unroll 1
  for (int i = 0; i < 16 * Math::tb; ++i) {
    const int row = 16 * warp_row + i % 16;
    const int row_of_set = i / 16 * p.out.box_rows + row;
    const std::int64_t row_of_b = first_row + row_of_set;
    if (row_of_b >= p.out.k) continue;
    const bool whole = p.panels == 1;
    const Real* const a = whole ? stage + i / 16 * p.a.numbers() + (rows ? place_of_row(p, row) : p.out.b.parts * row)
                                : p.lines.data + (rows ? row_of_b * p.lines.distance : p.out.b.parts * row_of_b);
    const std::int64_t step = rows ? p.out.b.parts : whole ? p.a.pitch : p.lines.distance;
    row_in_double<8 * Math::tn>(p, a, step, row_of_b, column0,
                                [&](int column, Real value) { *place(row_of_set, column) = value; });
  }
}

template <class Math>
__global__ void __launch_bounds__(block_threads, Math::blocks)
    tsmm_strided_kernel(const __grid_constant__ TsmmBoxes<typename Math::Real> p) {
#if __CUDA_ARCH__ >= 900
  if (!Math::exists) return;
  using Real = typename Math::Real;
  constexpr int tb = Math::tb;
  constexpr int tn = Math::tn;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  [[maybe_unused]] __shared__ Barrier all_read;
  __shared__ std::uint32_t item_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  // The compiler must see that all lanes of a warp take the same path: asynchronous products (wgmma) need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warps = p.row_warps * p.column_warps;
  const int box = p.a.numbers();
  const bool resident = !Math::wide && p.packed == nullptr;
  const int sets = Math::may_copy ? p.sets : 1;
  const BoxStages<Real> stages{barriers, item_of, memory, sets * tb * box * static_cast<int>(sizeof(Real)),
                               resident ? 0 : p.panel_numbers()};
  double* const packed = reinterpret_cast<double*>(memory + p.stages * stages.bytes());
  const int depth = static_cast<int>(round_up(p.m, 16));
  Real* const staged = reinterpret_cast<Real*>(packed + (resident ? depth * p.section_pieces * 8 : 0));
  const Items<Real, Math::wide> items(p);
  const bool plain = Math::may_copy && p.lines.data != nullptr;
  if (threadIdx.x == 0) {
    if constexpr (Math::wide) all_read.initialize(static_cast<unsigned>(p.sections));
    barriers.initialize(p.stages, static_cast<unsigned>(warps) + (items.clustered() ? 1 : 0),
                        plain ? loading_threads / warp_size : 1);
  }
  await_previous_kernel();
  if (!p.condition.holds()) return;
  if (items.clustered()) {
    meet_in_cluster();
  } else {
    __syncthreads();
  }
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<Math::loading_registers>();
    const auto nothing = [](std::uint32_t) {};
    if (reads_a && plain) {
      load_chunks<tb, Math::may_copy>(p, stages, items, tickets, nothing);
    } else if (reads_a && warp == computing_warps) {
      load_chunks<tb, false>(p, stages, items, tickets, nothing);
    }
    if constexpr (Math::wide) {
      if (reads_a && warp == computing_warps + 1 && p.clustered) tell_when_read(p, stages, items, all_read);
      __syncwarp();
      if (p.clustered) meet_in_cluster();  // barriers must exist as long as other blocks arrive there
    }
    return;
  }

  take_registers<Math::registers>();
  if (reads_a && resident) {
    Math::pack(p, depth, packed, static_cast<int>(threadIdx.x), computing_threads);
    publish_to_bulk_copies();  // asynchronous products read shared memory by the same proxy
    meet(1, computing_threads);
  }
  if (warp >= warps) return;
  const int warp_row = warp % p.row_warps;
  const int warp_column = warp / p.row_warps;
  const int first_c = Math::first_c(warp_column, lane);
  const int box_rows = p.out.box_rows;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  int start[2];
  unrolled<2>([&](int half) { start[half] = first_entry<Math::together>(p, warp_row, lane, half); });

  const auto places_of = [&](int column) { return Places<Real, Math::rows_only>(p.out, warp_row, column, lane); };
  const auto places_of_all = places_of(warp_column * 8 * tn);  // if there is one section
  Math math;
  RingPosition at{0, 0};
  [[maybe_unused]] unsigned turns_of_cluster = 0;
  const auto release = [&] {
    barriers.empty[at.stage].give_back();
    at.advance(1, p.stages);
  };
  for (std::uint32_t fixed = items.first();; fixed += items.step()) {  // fixed turns where there is no A to wait for
    if (reads_a) barriers.full[at.stage].wait(at.parity);
    const std::uint32_t item = __shfl_sync(0xffffffffU,
                                           reads_a            ? item_of[at.stage]
                                           : fixed < p.chunks ? fixed
                                                              : no_chunk,
                                           0);
    if (item == no_chunk) break;
    const int section = items.section(item);
    const int first_panel = items.first_panel(section);
    const int end_panel = reads_a ? items.end_panel(section) : first_panel;
    const int column0 = section * items.section_columns() + warp_column * 8 * tn;
    const auto places = Math::wide ? places_of(column0) : places_of_all;
    for (int set = 0; set < sets; ++set) {
      const std::int64_t first_row = (static_cast<std::int64_t>(items.chunk(item)) * sets + set) * tb * box_rows;
      [[maybe_unused]] Real old[Math::early ? tb : 1][tn][4];
      if constexpr (Math::early) {
        if (adds) places.read(first_row, old);
      } else if constexpr (Math::prefetches) {
        if (adds) places.template prefetch<tb, tn>(first_row);
      }
      math.clear();
      const Real* stage = nullptr;
#pragma unroll 1
      for (int panel = first_panel; panel < end_panel; ++panel) {
        if (panel > first_panel) {
          release();
          barriers.full[at.stage].wait(at.parity);
        }
        const unsigned char* const first = memory + at.stage * stages.bytes();
        stage = reinterpret_cast<const Real*>(first) + set * tb * box;
        const double* const c =
            resident ? packed + panel * p.panel_numbers() : reinterpret_cast<const double*>(first + stages.bytes_a);
        math.multiply(p, {stage + start[0], stage + start[1]}, c + first_c, min(p.panel, p.m - panel * p.panel));
      }
      typename Math::Sum result[tb][tn][4];
      const bool finite = math.finish(result);
      const bool last = reads_a && set == sets - 1;
      if (finite && last) release();
      if constexpr (Math::wide) {
        if (reads_a && p.clustered) {
          wait_for_cluster(all_read, turns_of_cluster);
          turns_of_cluster ^= 1;
        }
      }
      const bool through_shared = Math::may_stage && p.out.staged_pitch != 0;
      if (through_shared) meet(1, warps * warp_size);  // all warps have written the results before these to B
      if (finite) {
        if constexpr (Math::early) {
          if (adds) add_scaled(result, old, beta);
        } else {
          if (adds) places.template add<Math::old_halves>(first_row, beta, result);
        }
        if (through_shared) {
          places.stage(staged, result);
        } else {
          places.write(first_row, result);
        }
      } else if constexpr (Math::may_overflow) {
        multiply_rows_again<Math>(p, stage, first_row, warp_row, column0, [&](int row, int column) {
          return through_shared ? staged + row * p.out.staged_pitch + column
                                : p.out.b.data + p.out.b.offset(first_row + row, column);
        });
        if (last) release();
      }
      if (through_shared) {
        meet(1, warps * warp_size);
        const std::int64_t rows = min(p.out.k - first_row, static_cast<std::int64_t>(tb) * box_rows);
        write_staged(p.out, staged, first_row, static_cast<int>(rows), warp * warp_size + lane, warps * warp_size);
      }
    }
  }
  if constexpr (Math::wide) {
    __syncwarp();
    if (p.clustered) meet_in_cluster();
  }
#endif
}

}  // namespace blockvec::kernels::cuda
