#pragma once

#include "src/cuda/math/recompute.cuh"
#include "src/cuda/operands/staged.cuh"
#include "src/cuda/tsmm/chunks.cuh"

/// tsmm of rows: a multistage pipeline (ring) in shared memory. Row tiles (chunks) of A come through the ring; row
/// tiles of B go out through shared memory by bulk stores. Consumer warp groups take the stages in turn. `Math`
/// says how these multiply: RowTiles (tsmm/row_tiles.cuh) or RowFma (tsmm/row_fma.cuh).
namespace blockvec::kernels::cuda {

template <class Real>
struct TsmmRing : TsmmTask<Real> {
  Staged<Real> a;
  Staged<Real> old;  ///< B's rows before the product; boxed: TMA loads and stores B's rows
  /// Bytes of B's rows in a stage, which beta scales. 0: B's old rows do not come through the ring.
  int stage_bytes_b;
  Real* b;
  std::int64_t pitch_b;
  int pitch_out;  ///< numbers from row to row in shared memory, where results wait for their store
  int m, n;
  std::int64_t k;
  int rows;
  int stages;
  int groups;
  int warps;  ///< warps of a consumer warp group
  RowMap map;
  int full_barriers;  ///< number of barriers that announce full stages: see dispatch::full_barriers
};

/// The loading warp takes tickets and fills stages. At the end it sends every group a stage marked no_chunk. `two`: B's
/// old rows come with A's. Groups take stages in turn, so that there may be more barriers than stages (full_barriers).
template <bool two, class Real>
__device__ inline void load_chunks(const TsmmRing<Real>& p, RingBarriers& barriers, std::uint32_t* chunk_of,
                                   unsigned char* ring, int bytes_a) {
  const RowFeeder<Real> a(p.a, p.rows, 0);
  const RowFeeder<Real> b(p.old, p.rows, 0);
  RingPosition at{0, 1};
  RingPosition told{0, 0};
  const auto advance = [&] {
    at.advance(1, p.stages);
    told.advance(1, p.full_barriers);
  };
  const int bytes = bytes_a + p.stage_bytes_b;
  for_each_chunk(p, [&](std::uint32_t turn) {
    // The last rows come first: they are still in L2 where V^H W has just been computed, as Gram-Schmidt does.
    const std::uint32_t chunk = p.chunks - 1 - turn;
    barriers.empty[at.stage].wait(at.parity);
    if (elected()) chunk_of[at.stage] = chunk;  // the same lane arrives at the barrier
    fill_stage<two>(a, b, bytes_a, chunk, ring + at.stage * bytes, barriers.full[told.stage]);
    advance();
  });
  for (int group = 0; group < p.groups; ++group) {
    barriers.empty[at.stage].wait(at.parity);
    if (elected()) {
      chunk_of[at.stage] = no_chunk;
      barriers.full[told.stage].arrive();
    }
    __syncwarp();
    advance();
  }
}

/// Puts a lane's four numbers back into order. Where rows begin in the same bank, the lanes of one column read their
/// four numbers in different orders (v ^ turn).
template <class Number>
__device__ inline void undo_turn(Number (&x)[4], int turn) {
  const auto exchange = [](bool really, Number& one, Number& other) {
    const Number first = really ? other : one;
    other = really ? one : other;
    one = first;
  };
  exchange(turn & 1, x[0], x[1]);
  exchange(turn & 1, x[2], x[3]);
  exchange(turn & 2, x[0], x[2]);
  exchange(turn & 2, x[1], x[3]);
}

/// Writes a group's results by plain stores, where bulk stores cannot: B has gaps, ends within the chunk, or must be
/// read here.
template <class Real>
__device__ inline void store_plain(const TsmmRing<Real>& p, const Real* out, std::int64_t first_row, int valid_rows,
                                   Factor beta, int thread, int threads) {
  const bool adds = !beta.is_zero() && p.stage_bytes_b == 0;
  const int row_step = threads / p.n;
  const int column_step = threads % p.n;
  int row = thread / p.n;
  int column = thread % p.n;
  // A warp works in lock step and owns complex entries as a whole. It reads both numbers before it writes one.
  while (__any_sync(0xffffffffU, row < valid_rows)) {
    const bool mine = row < valid_rows;
    Real* const to = p.b + (first_row + row) * p.pitch_b;
    double value = 0;
    if (mine) {
      value = out[row * p.pitch_out + column];
      if (adds) value += scaled_entry(to, column, beta);
    }
    __syncwarp();
    if (mine) to[column] = static_cast<Real>(value);
    row += row_step;
    column += column_step;
    if (column >= p.n) {
      column -= p.n;
      ++row;
    }
  }
}

template <class Real, class Math>
__global__ void __launch_bounds__(Math::warps* warp_size + loading_threads, 1)
    tsmm_ring_kernel(const __grid_constant__ TsmmRing<Real> p) {
  constexpr int threads = Math::warps * warp_size;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int bytes_a = stage_bytes<Real>(p.rows, p.a.row_step);
  const int bytes = bytes_a + p.stage_bytes_b;
  const int bytes_out = stage_bytes<Real>(p.rows, p.pitch_out);
  unsigned char* const outgoing = memory + p.stages * bytes;
  auto* const packed = reinterpret_cast<typename Math::Number*>(outgoing + p.groups * bytes_out);
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(p.warps));
  await_previous_kernel();
  if (!p.condition.holds()) return;
  __syncthreads();

  if (warp >= Math::warps) {
    give_registers<40>();
    if (warp > Math::warps) return;
    if (p.stage_bytes_b != 0) {
      load_chunks<true>(p, barriers, chunk_of, memory, bytes_a);
    } else {
      load_chunks<false>(p, barriers, chunk_of, memory, bytes_a);
    }
    return;
  }

  take_registers<Math::warps == computing_warps ? 232 : 152>();
  // The consumers pack C while the first chunks are on their way.
  const Factor beta = p.beta.read();
  Math::pack(p, packed, static_cast<int>(threadIdx.x), threads);
  meet(1, threads);
  const int group = warp / p.warps;
  if (group >= p.groups) return;
  const int group_threads = p.warps * warp_size;
  const int group_thread = static_cast<int>(threadIdx.x) - group * group_threads;
  const int shift_out = p.old.segment[0];
  Real* const out = reinterpret_cast<Real*>(outgoing + group * bytes_out) + shift_out;
  const bool flat = has_bulk_copies && p.pitch_b == p.n && reinterpret_cast<std::uintptr_t>(p.b) % 16 == 0 &&
                    (beta.is_zero() || p.stage_bytes_b != 0);
  const Math math(p, packed, warp % p.warps, lane);
  const auto wait_for_room = [&] {  // waits until the results before these have left shared memory
    if (group_thread == 0) bulk_stores_have_read();
    meet(1 + group, group_threads);
  };
  const bool adds = p.stage_bytes_b != 0 && !beta.is_zero();
  RingPosition at{group, 0};
  for (;; at.advance(p.groups, p.stages)) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    const unsigned char* const stage = memory + at.stage * bytes;
    const Real* const a = reinterpret_cast<const Real*>(stage) + p.a.segment[0];
    const Real* const old = reinterpret_cast<const Real*>(stage + bytes_a) + shift_out;
    math.multiply(a, old, out, adds, beta, wait_for_room);
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.rows;
    const int valid_rows = static_cast<int>(min(static_cast<std::int64_t>(p.rows), p.k - first_row));
    publish_to_bulk_copies();
    meet(1 + group, group_threads);
    barriers.empty[at.stage].arrive();
    if (p.old.boxed) {
      if (group_thread == 0) store_box(p.old.boxes.map[0], 0, static_cast<int>(first_row), out);
    } else if (flat && valid_rows == p.rows) {
      if (group_thread == 0) {
        bulk_store(p.b + first_row * p.n, out, static_cast<unsigned>(p.rows * p.n * sizeof(Real)));
      }
    } else {
      store_plain(p, out, first_row, valid_rows, beta, group_thread, group_threads);
      meet(1 + group, group_threads);
    }
  }
  if (group_thread == 0) bulk_stores_are_done();
}

}  // namespace blockvec::kernels::cuda
