#pragma once

#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/load_plain.cuh"
#include "src/cuda/operands/load_tma.cuh"
#include "src/cuda/ptx/dependent_launch.cuh"
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
/// `tb` x `tn` MMA tiles (pieces): 16 rows of each of `tb` boxes times `tn` x 8 columns. A block loads all rows of a
/// chunk before it writes any of them, so that B may be A. Blocks take chunks from a ticket, as in tsmm/row_ring.cuh.
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmBoxes : TsmmTask<Real> {
  Boxes a;
  PlainLines<Real> lines;  ///< A in memory, for results that are computed again
  Results<Real> out;
  int m;
  int row_warps, column_warps;
  int panel;   ///< columns of A in a stage
  int panels;  ///< panels that a row of A has
  int sets;    ///< sets of tb boxes in a stage; more than one only if a row has one panel
  int stages;
  int step[4];        ///< from a lane's first depth to its others among 16, in numbers of a stage
  int depth_step;     ///< from 16 columns of A to the next 16, in numbers of a stage
  int depth_classes;  ///< number of consecutive columns of A that lanes of one q read in turn: see depth_of
  /// C in the order of steps; a panel of it comes with each panel of A. Null: all of C stays in shared memory.
  const double* packed;
  int section_pieces;  ///< MMA tiles of 8 columns in a section, the columns of B that a block takes at a time
  int sections;        ///< sections of B's columns
  bool clustered;      ///< each block of a cluster takes one section (tsmm/wide.cuh)

  /// How many numbers of packed C go with a panel, for `pieces` MMA tiles of 8 columns.
  __host__ __device__ int panel_numbers(int pieces) const { return panel * pieces * 8; }
};

/// How many blocks a multiprocessor runs at a time.
template <int tb, int tn>
inline constexpr int tsmm_blocks = dispatch::tsmm_box_blocks({tb, tn});

/// Packs C once for all blocks, where it does not fit into each of them, and sets their ticket to zero.
template <class Real>
__global__ void pack_kernel(const __grid_constant__ TsmmBoxes<Real> p, double* packed) {
  release_next_kernel();
  await_previous_kernel();
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.tickets = 0;
  if (p.alpha.read().is_zero()) return;
  const OrderOfSections order{
      {p.sections * p.section_pieces, p.panels * p.panel / 8, p.depth_classes, p.out.has_neighbours()},
      p.section_pieces};
  pack(p.small, p.m, p.out.n, p.alpha.read(), order, packed, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
       static_cast<int>(gridDim.x * blockDim.x));
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
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 8; ++v) left[t][v] = a[v % 2][t * box + at + p.step[v / 2]];
    }
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
    if (ahead) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int v = 0; v < 8; ++v) left[t][v] = next[t][v];
      }
    }
  }
#pragma unroll
  for (int v = 0; v < 3; ++v) {
    if (s + v >= steps) break;
    double left[tb][2];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int half = 0; half < 2; ++half) left[t][half] = a[half][t * box + at + p.step[v]];
    }
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      const double right = c[64 * (v / 2 * pieces + x) + v % 2];
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_16x8x4(sum[t][x], left[t], right);
    }
  }
}

/// Knows where stages lie and what they hold.
template <class Real>
struct BoxStages {
  RingBarriers& barriers;
  std::uint32_t* chunk_of;
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

/// One lane starts the copies of one panel of a chunk.
template <class Real>
__device__ inline void start_boxes(const TsmmBoxes<Real>& p, const BoxStages<Real>& stages, int boxes,
                                   std::uint32_t chunk, int panel, Real* stage, Barrier& full) {
#if __CUDA_ARCH__ >= 900
  const int box_rows = p.out.box_rows;
  const int row = static_cast<int>(chunk) * boxes * box_rows;
  const int column = panel * p.panel;
  for (int box = 0; box < boxes; ++box) {
    Real* const to = stage + box * p.a.numbers();
    const int box_row = row + box * box_rows;
    if (p.out.b.row_major) {
      p.a.start(column, box_row, to, full);
    } else {
      p.a.start(p.out.b.parts * box_row, column / p.out.b.parts, to, full);
    }
  }
#endif
}

/// The loading warps copy a K slice of a row tile by cp.async. Rows only.
template <class Real>
__device__ inline void copy_panel(const TsmmBoxes<Real>& p, int boxes, std::uint32_t chunk, int panel, Real* stage,
                                  int thread) {
  const int rows = boxes * p.out.box_rows;
  const int column = panel * p.panel;
  const int width = min(p.panel, (p.m - column + 3) / 4 * 4);
  copy_lines<loading_threads>(p.lines, static_cast<std::int64_t>(chunk) * rows, rows, column, width, stage, p.a.pitch,
                              thread);
}

/// Where a lane's entries begin in a stage, for either half of a warp's rows.
template <class Real>
__device__ inline int first_entry(const TsmmBoxes<Real>& p, int warp_row, int lane, int half) {
  const RowMap& map = p.out.map;
  const int row = 16 * warp_row + map.by_lane * (lane / 4 % 4) + map.by_first * (lane / 16) + map.by_second * half;
  return p.out.b.row_major ? place_of_row(p, row) + lane % 4 : p.out.b.parts * row + lane % 4 * p.a.pitch;
}

struct Nothing {
  __device__ void operator()(std::uint32_t) const {}
};

/// The loading warp takes tickets and starts the copies of all boxes. A last stage, marked no_chunk, ends the work. It
/// calls on_chunk(chunk) after it has started a chunk's copies.
template <int tb, bool plain, int first_thread = computing_threads, class Real, class OnChunk = Nothing>
__device__ inline void load_chunks(const TsmmBoxes<Real>& p, const BoxStages<Real>& stages, std::uint32_t (&tickets)[2],
                                   const OnChunk& on_chunk = {}) {
#if __CUDA_ARCH__ >= 900
  const int thread = static_cast<int>(threadIdx.x) - first_thread;
  const bool leads = thread < warp_size && elected();
  const int boxes = p.sets * tb;
  const unsigned small_bytes = static_cast<unsigned>(stages.small_numbers) * sizeof(double);
  RingPosition at{0, 1};
  const auto share_ticket = [&](int turn, unsigned ticket) {
    if (leads) tickets[turn] = ticket;
    if constexpr (plain) {
      meet(2, loading_threads);
    } else {
      __syncwarp();
    }
    return tickets[turn] * p.chunks_per_ticket;
  };
  const auto take_ticket = [&] { return leads ? atomicAdd(p.tickets, 1U) : 0U; };
  int turn = 0;
  std::uint32_t first = share_ticket(turn, take_ticket());
  while (first < p.chunks) {
    const unsigned next = take_ticket();  // used only when the copies of these chunks are under way
    const std::uint32_t end = min(first + p.chunks_per_ticket, p.chunks);
    for (std::uint32_t chunk = first; chunk < end; ++chunk) {
      for (int panel = 0; panel < p.panels; ++panel) {
        stages.barriers.empty[at.stage].wait(at.parity);
        Barrier& full = stages.barriers.full[at.stage];
        Real* const stage = reinterpret_cast<Real*>(stages.memory + at.stage * stages.bytes());
        if constexpr (plain) {
          copy_panel(p, boxes, chunk, panel, stage, thread);
          full.await_copies();
          __syncwarp();
        }
        if (leads) {
          stages.chunk_of[at.stage] = chunk;
          full.arrive_and_expect((plain ? 0U : static_cast<unsigned>(stages.bytes_a)) + small_bytes);
          if (small_bytes != 0) {
            const double* const small = p.packed + static_cast<std::int64_t>(panel) * stages.small_numbers;
            bulk_load(reinterpret_cast<unsigned char*>(stage) + stages.bytes_a, small, small_bytes, full);
          }
          if constexpr (!plain) start_boxes(p, stages, boxes, chunk, panel, stage, full);
        } else if (plain && thread >= warp_size && elected()) {
          full.arrive();
        }
        __syncwarp();
        at.advance(1, p.stages);
      }
      on_chunk(chunk);
    }
    turn ^= 1;
    first = share_ticket(turn, next);
  }
  stages.barriers.empty[at.stage].wait(at.parity);
  if (leads) stages.chunk_of[at.stage] = no_chunk;
  if (elected()) stages.barriers.full[at.stage].arrive();
#endif
}

template <class Real, int tb, int tn>
__global__ void __launch_bounds__(block_threads, tsmm_blocks<tb, tn>)
    tsmm_boxes_kernel(const __grid_constant__ TsmmBoxes<Real> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warps = p.row_warps * p.column_warps;
  const int box = p.a.numbers();
  const int pieces = p.column_warps * tn;
  const int panel_numbers = p.panel_numbers(pieces);
  const bool resident = p.packed == nullptr;
  const BoxStages<Real> stages{barriers, chunk_of, memory, p.sets * tb * box * static_cast<int>(sizeof(Real)),
                               resident ? 0 : panel_numbers};
  const int bytes = stages.bytes();
  double* const packed = reinterpret_cast<double*>(memory + p.stages * bytes);
  Real* const staged =
      reinterpret_cast<Real*>(packed + (resident ? static_cast<int>(round_up(p.m, 16)) * pieces * 8 : 0));
  const bool plain = p.lines.data != nullptr;
  if (threadIdx.x == 0) {
    barriers.initialize(p.stages, static_cast<unsigned>(warps), plain ? loading_threads / warp_size : 1);
  }
  await_previous_kernel();
  __syncthreads();
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<tsmm_blocks<tb, tn> == 2 ? 48 : 56>();
    if (!reads_a) return;
    if (plain) {
      load_chunks<tb, true>(p, stages, tickets);
    } else if (warp == computing_warps) {
      load_chunks<tb, false>(p, stages, tickets);
    }
    return;
  }

  take_registers<tsmm_blocks<tb, tn> == 2 ? 96 : 224>();
  if (reads_a && resident) {
    const OrderOfSteps order{pieces, (p.m + 15) / 16 * 2, p.depth_classes, p.out.has_neighbours()};
    pack(p.small, p.m, p.out.n, p.alpha.read(), order, packed, static_cast<int>(threadIdx.x), computing_threads);
    meet(1, computing_threads);
  }
  if (warp >= warps) return;
  const int warp_row = warp % p.row_warps;
  const int column0 = warp / p.row_warps * 8 * tn;
  const int first_c = 8 * column0 + 2 * lane;
  const int box_rows = 16 * p.row_warps;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  const Places<Real> places(p.out, warp_row, column0, lane);
  int start[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) start[half] = first_entry(p, warp_row, lane, half);

  constexpr bool ahead = tsmm_blocks<tb, tn> == 1 ? tb * tn <= 8 : tb == 1;  // if registers suffice
  constexpr bool early = tb * tn <= 4;  // B's old rows have registers of their own while sums are computed
  double sum[tb][tn][4];
  Real old[early ? tb : 1][tn][4];
  const auto add_old = [&](std::int64_t first_row) {
    if constexpr (early) {
      add_scaled(sum, old, beta);
    } else {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        places.read(first_row + t * box_rows, old);
        add_scaled(reinterpret_cast<double(&)[1][tn][4]>(sum[t]), old, beta);
      }
    }
  };
  const auto finish = [&](std::int64_t first_row) {
    if (adds) add_old(first_row);
    if (p.out.staged_pitch == 0) {
      places.write(first_row, sum);
      return;
    }
    meet(1, warps * warp_size);  // all warps have written the results before these to B
    places.stage(staged, sum);
    meet(1, warps * warp_size);
    const std::int64_t rows = min(p.out.k - first_row, static_cast<std::int64_t>(tb) * box_rows);
    write_staged(p.out, staged, first_row, static_cast<int>(rows), warp * warp_size + lane, warps * warp_size);
  };
  const auto begin = [&](std::int64_t first_row) {
    if constexpr (early) {
      if (adds) places.read(first_row, old);
    }
#pragma unroll
    for (int i = 0; i < tb * tn * 4; ++i) sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0;
  };
  const std::int64_t chunk_rows = static_cast<std::int64_t>(box_rows) * tb * p.sets;
  if (!reads_a) {
    for (std::uint32_t chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
      for (int set = 0; set < p.sets; ++set) {
        begin(chunk * chunk_rows + set * tb * box_rows);
        finish(chunk * chunk_rows + set * tb * box_rows);
      }
    }
    return;
  }

  RingPosition at{0, 0};
  for (;;) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    for (int set = 0; set < p.sets; ++set) {
      const std::int64_t first_row = chunk * chunk_rows + set * tb * box_rows;
      begin(first_row);
      for (int panel = 0; panel < p.panels; ++panel) {
        if (panel > 0) barriers.full[at.stage].wait(at.parity);
        const unsigned char* const stage = memory + at.stage * bytes;
        const Real* const first = reinterpret_cast<const Real*>(stage) + set * tb * box;
        const Real* const a[2] = {first + start[0], first + start[1]};
        const double* const c = first_c + (resident ? packed + panel * panel_numbers
                                                    : reinterpret_cast<const double*>(stage + stages.bytes_a));
        const int columns = min(p.panel, p.m - panel * p.panel);
        const int unit = 4 * p.depth_classes;
        const int steps = (columns + unit - 1) / unit * p.depth_classes;
        multiply_panel<ahead>(p, sum, a, box, c, pieces, steps);
        if (set == p.sets - 1) {
          barriers.empty[at.stage].arrive();
          at.advance(1, p.stages);
        }
      }
      finish(first_row);
    }
  }
#endif
}

}  // namespace blockvec::kernels::cuda
