#pragma once

#include "src/cuda/plain_lines.cuh"
#include "src/cuda/ring.cuh"
#include "src/cuda/succession.cuh"
#include "src/cuda/tsmm_split.cuh"

/// Chunks of a column-major A, and C, on their way into shared memory for tsmm_columns.cuh.
namespace blockvec::kernels::cuda {

inline constexpr int most_groups = 8;

template <class Real>
struct TsmmColumns {
  CUtensorMap boxes_a, boxes_b;
  PlainLines<Real> lines;  ///< A, to be copied plainly; no data: it comes in boxes
  bool plain_b;            ///< B is written plainly
  bool in_pairs;           ///< and both parts of its complex numbers at once
  Tall<const Real> a;
  Tall<Real> b;
  std::int64_t k;
  int m, n;
  int rows;  ///< of a chunk
  int row_warps, column_warps, groups;
  int panel, panels;  ///< columns of scalars in a stage, stages of a chunk
  int stages;         ///< of a group
  int outgoing;       ///< chunks of results that a group keeps, 1 or 2; 0: they go straight to B
  Small<Real> small;
  const uint4* packed;  ///< C as of pack_columns, to come panel by panel with A's; null: it stays in the block
  Coefficient<Real> alpha, beta;
  unsigned* tickets;  ///< zero at the start
  std::uint32_t chunks;
  std::uint32_t chunks_per_ticket;
};

/// How a chunk and C lie in shared memory.
template <class Real, int parts, int tn>
struct ColumnsLayout {
  int pitch;          ///< real numbers from column to column
  int pieces;         ///< of 8 columns of B
  int panel_numbers;  ///< of A
  int small_pairs;    ///< of C's panel
  int out_columns;    ///< of scalars
  int stage_bytes, out_bytes;

  __device__ explicit ColumnsLayout(const TsmmColumns<Real>& p)
      : pitch(p.rows * parts),
        pieces(p.column_warps * tn),
        panel_numbers(p.panel * pitch),
        small_pairs((p.panel * parts + 7) / 8 * pieces * warp_size),
        out_columns(pieces * 8 / parts),
        stage_bytes(panel_numbers * static_cast<int>(sizeof(Real)) + (p.packed == nullptr ? 0 : 16 * small_pairs)),
        out_bytes(out_columns * pitch * static_cast<int>(sizeof(Real))) {}
};

/// C as the tensor cores want it, [8 real rows][piece of 8 columns][lane] of 16 bytes: entries of one column, two in
/// double precision, or two and what they leave (split.cuh).
template <int parts, bool tf32, class Real>
__device__ inline void pack_columns(const TsmmColumns<Real>& p, int pieces, uint4* packed, int thread, int threads) {
  const Factor alpha = p.alpha.read();
  const int steps_of_panel = (p.panel * parts + 7) / 8;
  for (int i = thread; i < p.panels * steps_of_panel * pieces * warp_size; i += threads) {
    const int lane = i % warp_size;
    const int column = i / warp_size % pieces * 8 + lane / 4;
    const int step = i / warp_size / pieces;
    double value[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const int slot = step % steps_of_panel * 2 + v;
      const int in_panel = slot / parts * 4 + lane % 4;
      const int row = (step / steps_of_panel * p.panel + in_panel) * parts + slot % parts;
      value[v] = in_panel < p.panel && row < p.m && column < p.n ? p.small.scaled(row, column, alpha) : 0.0;
    }
    if constexpr (tf32) {
      const SplitNumber first = split(static_cast<float>(value[0]));
      const SplitNumber second = split(static_cast<float>(value[1]));
      packed[i] = make_uint4(first.high, second.high, first.low, second.low);
    } else {
      reinterpret_cast<double2*>(packed)[i] = make_double2(value[0], value[1]);
    }
  }
}

/// C for all blocks, where it does not fit into each.
template <class Real, int parts, bool tf32>
__global__ void pack_columns_kernel(const __grid_constant__ TsmmColumns<Real> p, int pieces, uint4* packed) {
  release_next_kernel();
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;
  pack_columns<parts, tf32>(p, pieces, packed, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
                            static_cast<int>(gridDim.x * blockDim.x));
}

/// Stages of all groups and what they hold.
struct ColumnsRing {
  RingBarriers& barriers;
  std::uint32_t* chunk_of;
  std::uint32_t* tickets;
  unsigned char* memory;
};

/// Copies `pitch` numbers of `columns` columns, zeros beyond A, by the loading warps: a column a warp.
template <int bytes, class Real>
__device__ inline void copy_columns(const PlainLines<Real>& from, int column, int columns, std::int64_t first, Real* to,
                                    int pitch, int thread) {
  constexpr int numbers = bytes / static_cast<int>(sizeof(Real));
  constexpr int step = warp_size * numbers;
  const int lane_first = thread % warp_size * numbers;
  const std::int64_t left = from.length - first;
  const int length = left < pitch ? static_cast<int>(left) : pitch;
  for (int i = thread / warp_size; i < columns; i += loading_threads / warp_size) {
    Real* const target = to + i * pitch;
    const Real* const source = from.data + (column + i) * from.distance + first;
    if (length == pitch && column + i < from.count) {
#pragma unroll 4
      for (int j = lane_first; j < pitch; j += step) async_copy<bytes>(target + j, source + j, true);
    } else {
      for (int j = lane_first; j < pitch; j += step) {
        const int there = column + i < from.count ? min(max(length - j, 0), numbers) : 0;
        async_copy_part<bytes>(target + j, there > 0 ? source + j : from.data, there * static_cast<int>(sizeof(Real)));
      }
    }
  }
}

/// The warps that load: one of them takes tickets and starts boxes, plain copies are shared by four. Stages are filled
/// chunk by chunk for one group after the other; a last stage of each group says that there is nothing more.
template <bool plain, class Layout, class Real>
__device__ inline void load_columns(const TsmmColumns<Real>& p, const Layout& layout, const ColumnsRing& ring) {
#if __CUDA_ARCH__ >= 900
  const int thread = static_cast<int>(threadIdx.x) - computing_threads;
  const bool leads = thread < warp_size && elected();
  const unsigned small_bytes = p.packed == nullptr ? 0 : 16U * static_cast<unsigned>(layout.small_pairs);
  const unsigned panel_bytes = static_cast<unsigned>(layout.panel_numbers * sizeof(Real));
  RingPosition round{0, 1};  // where a chunk begins in the stages of its group
  RingPosition at = round;
  int group = 0;
  const auto next_group = [&] {
    if (++group < p.groups) return;
    group = 0;
    round = at;
  };
  int turn = 0;
  const auto take_ticket = [&] { return leads ? atomicAdd(p.tickets, 1U) : 0U; };
  const auto share_ticket = [&](unsigned ticket) {
    if (leads) ring.tickets[turn] = ticket;
    if constexpr (plain) {
      meet(2, loading_threads);
    } else {
      __syncwarp();
    }
    const std::uint32_t first = ring.tickets[turn] * p.chunks_per_ticket;
    turn ^= 1;
    return first;
  };
  std::uint32_t first = share_ticket(take_ticket());
  while (first < p.chunks) {
    const unsigned next = take_ticket();  // looked at when these chunks are under way
    const std::uint32_t end = min(first + p.chunks_per_ticket, p.chunks);
    for (std::uint32_t chunk = first; chunk < end; ++chunk, next_group()) {
      at = round;
      for (int panel = 0; panel < p.panels; ++panel, at.advance(1, p.stages)) {
        const int stage = group * p.stages + at.stage;
        unsigned char* const to = ring.memory + stage * layout.stage_bytes;
        Barrier& full = ring.barriers.full[stage];
        ring.barriers.empty[stage].wait(at.parity);
        if constexpr (plain) {
          const std::int64_t first_number = static_cast<std::int64_t>(chunk) * layout.pitch;
          Real* const columns = reinterpret_cast<Real*>(to);
          if (p.lines.copy_bytes >= 8) {
            copy_columns<8>(p.lines, panel * p.panel, p.panel, first_number, columns, layout.pitch, thread);
          } else {
            copy_columns<sizeof(Real)>(p.lines, panel * p.panel, p.panel, first_number, columns, layout.pitch, thread);
          }
          full.await_copies();
          __syncwarp();
        }
        if (leads) {
          ring.chunk_of[stage] = chunk;
          full.arrive_and_expect((plain ? 0 : panel_bytes) + small_bytes);
          if (!plain) tensor_load(to, p.boxes_a, static_cast<int>(chunk) * layout.pitch, panel * p.panel, full);
          if (small_bytes != 0) {
            const uint4* const small = p.packed + static_cast<std::int64_t>(panel) * layout.small_pairs;
            bulk_load(to + panel_bytes, small, small_bytes, full);
          }
        } else if (plain && thread >= warp_size && elected()) {
          full.arrive();
        }
        __syncwarp();
      }
    }
    first = share_ticket(next);
  }
  for (int i = 0; i < p.groups; ++i, next_group()) {
    at = round;
    const int stage = group * p.stages + at.stage;
    ring.barriers.empty[stage].wait(at.parity);
    if (leads) ring.chunk_of[stage] = no_chunk;
    if (elected()) ring.barriers.full[stage].arrive();
    for (int panel = 0; panel < p.panels; ++panel) at.advance(1, p.stages);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
