#pragma once

#include <type_traits>

#include "src/cuda/mma.cuh"
#include "src/cuda/tsmm_columns_chunks.cuh"
#include "src/cuda/tsmm_columns_results.cuh"

/// tsmm of column-major operands on tensor cores. A comes in boxes of a chunk's rows by a panel of columns; results go
/// the same way, so that memory sees long pieces of every column. Columns that do not start at multiples of 16 bytes
/// are copied plainly instead.
///
/// Of four neighbours of a panel's columns, lane 4 g + q reads column q: 16 bytes of it at a time, which its eight
/// fellows continue, without a bank that two of them want. These are two rows of double precision, four of single
/// precision, or half as many complex numbers; which rows a fragment holds is free as long as results lie alike.
/// Groups of warps take the chunks in turn, each with stages of its own; in a group, warps stand `row_warps` deep along
/// the rows and `column_warps` wide along B's columns, each with `tb` pieces of 16 rows times `tn` pieces of 8 columns.
/// Chunks are handed out by a ticket, as in tsmm_ring.cuh; all of a chunk is loaded before any of it is written, so
/// that B may be A.
namespace blockvec::kernels::cuda {

/// sum += A C for a panel; `a` points to this lane's numbers of its first column, `c` to its entries of C.
template <int parts, int tb, int tn, class Real>
__device__ inline void multiply_columns(double (&sum)[tb][tn][4], const Real* a, int pitch, const uint4* c, int pieces,
                                        int columns) {
  using Piece = ColumnPiece<Real, parts, tb>;
  constexpr int count = 4 / parts;  // fours of columns that are 16 deep
  constexpr bool ahead = tb * tn <= 8;
  const int fours = columns / 4;
  const int four_step = 4 * pitch;
  Piece now[count];
  Piece next[count];
  const auto load = [&](Piece(&to)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) to[i].read(a + i * four_step);
  };
  if (ahead && fours >= count) load(now);
  int four = 0;
#pragma unroll 2
  for (; four + count <= fours; four += count, c += 2 * warp_size * pieces) {
    if (!ahead) load(now);
    a += count * four_step;
    if (ahead && four + 2 * count <= fours) load(next);
    double left[tb][8];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 8; ++v) left[t][v] = now[v / 2 / parts].at(t, v % 2, v / 2 % parts);
    }
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      const double2 first = *reinterpret_cast<const double2*>(c + warp_size * x);
      const double2 second = *reinterpret_cast<const double2*>(c + warp_size * (pieces + x));
      const double right[4] = {first.x, first.y, second.x, second.y};
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_16x8x16(sum[t][x], left[t], right);
    }
    if (ahead) {
#pragma unroll
      for (int i = 0; i < count; ++i) now[i] = next[i];
    }
  }
#pragma unroll
  for (int i = 0; i < count - 1; ++i) {
    if (four + i >= fours) break;
    Piece last;
    last.read(a + i * four_step);
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const int slot = i * parts + part;
#pragma unroll
      for (int x = 0; x < tn; ++x) {
        const double right = reinterpret_cast<const double*>(c + warp_size * (slot / 2 * pieces + x))[slot % 2];
#pragma unroll
        for (int t = 0; t < tb; ++t) {
          const double left[2] = {last.at(t, 0, part), last.at(t, 1, part)};
          multiply_16x8x4(sum[t][x], left, right);
        }
      }
    }
  }
}

/// The same by split products; `columns` are whole eights of real ones.
template <int parts, int tb, int tn>
__device__ inline void multiply_columns(float (&sum)[tb][tn][4], const float* a, int pitch, const uint4* c, int pieces,
                                        int columns) {
  using Piece = ColumnPiece<float, parts, tb>;
  constexpr int count = 2 / parts;
  const int fours = columns / 4;
  const int four_step = 4 * pitch;
  Piece now[count];
  Piece next[count];
  const auto load = [&](Piece(&to)[count]) {
#pragma unroll
    for (int i = 0; i < count; ++i) to[i].read(a + i * four_step);
  };
  load(now);
  for (int four = 0; four < fours; four += count, c += warp_size * pieces) {
    a += count * four_step;
    if (four + count < fours) load(next);
    float numbers[tb][4];
#pragma unroll
    for (int t = 0; t < tb; ++t) {
#pragma unroll
      for (int v = 0; v < 4; ++v) numbers[t][v] = now[v / 2 / parts].at(t, v % 2, v / 2 % parts);
    }
    unsigned left[2][tb][4];
    split(numbers, left);
#pragma unroll
    for (int x = 0; x < tn; ++x) {
      const uint4 both = c[warp_size * x];
      const unsigned right[2][2] = {{both.x, both.y}, {both.z, both.w}};
#pragma unroll
      for (int product = 0; product < 3; ++product) {
#pragma unroll
        for (int t = 0; t < tb; ++t) multiply_tf32(sum[t][x], left[product == 0][t], right[product == 1]);
      }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) now[i] = next[i];
  }
}

/// `tf32`: by split products (tsmm_split.cuh).
template <class Real, int parts, int tb, int tn, bool tf32>
__global__ void __launch_bounds__(block_threads, 1) tsmm_columns_kernel(const __grid_constant__ TsmmColumns<Real> p) {
#if __CUDA_ARCH__ >= 900
  using Number = std::conditional_t<tf32, float, double>;
  using Piece = ColumnPiece<Real, parts, tb>;
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ Barrier old_is_there[2 * most_groups];
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const ColumnsLayout<Real, parts, tn> layout(p);
  const int group_warps = p.row_warps * p.column_warps;
  unsigned char* const outgoing = memory + p.groups * p.stages * layout.stage_bytes;
  uint4* const packed = reinterpret_cast<uint4*>(outgoing + p.groups * p.outgoing * layout.out_bytes);
  const bool plain_a = p.lines.data != nullptr;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2 * most_groups; ++i) old_is_there[i].initialize(1);
    for (int i = 0; i < p.groups * p.stages; ++i) {
      barriers.full[i].initialize(plain_a ? loading_threads / warp_size : 1);
      barriers.empty[i].initialize(static_cast<unsigned>(group_warps * warp_size));
    }
    publish_barriers();
  }
  await_previous_kernel();
  __syncthreads();
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<56>();
    if (!reads_a) return;
    const ColumnsRing ring{barriers, chunk_of, tickets, memory};
    if (plain_a) {
      load_columns<true>(p, layout, ring);
    } else if (warp == computing_warps) {
      load_columns<false>(p, layout, ring);
    }
    return;
  }

  take_registers<224>();
  if (reads_a && p.packed == nullptr) {
    pack_columns<parts, tf32>(p, layout.pieces, packed, static_cast<int>(threadIdx.x), computing_threads);
    meet(1, computing_threads);
  }
  const int group = warp / group_warps;
  if (group >= p.groups) return;
  const int in_group = warp % group_warps;
  const int row0 = in_group % p.row_warps * 16 * tb;
  const int column0 = in_group / p.row_warps * 8 * tn;
  const int threads = group_warps * warp_size;
  const bool leads = in_group == 0 && lane == 0;
  const int first_stage = group * p.stages;
  const int first_a = lane % 4 * layout.pitch + row0 * parts + lane / 4 * Piece::width;
  const int first_c = column0 / 8 * warp_size + lane;
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero() && !p.plain_b && p.outgoing != 0;  // what B held comes into the outgoing chunk
  const ColumnsResults<Real, parts, tb, tn> results(layout.pitch, row0, column0, lane);

  Number sum[tb][tn][4];
  int turn = 0;        // of the outgoing chunks
  unsigned phase = 0;  // of old_is_there
  const auto out_of = [&](int i) {
    return reinterpret_cast<Real*>(outgoing + (group * p.outgoing + i) * layout.out_bytes);
  };
  const auto is_whole = [&](std::uint32_t chunk) { return static_cast<std::int64_t>(chunk + 1) * p.rows <= p.k; };
  const auto begin = [&](std::uint32_t chunk) {
#pragma unroll
    for (int i = 0; i < tb * tn * 4; ++i) sum[i / (4 * tn)][i / 4 % tn][i % 4] = 0;
    if (!leads || p.plain_b || p.outgoing == 0) return;
    if (p.outgoing == 2) {
      bulk_stores_have_read<1>();
    } else {
      bulk_stores_have_read<0>();
    }
    if (!adds) return;
    Barrier& there = old_is_there[2 * group + turn];
    there.arrive_and_expect(static_cast<unsigned>(layout.out_bytes));
    tensor_load(out_of(turn), p.boxes_b, static_cast<int>(chunk) * layout.pitch, 0, there);
  };
  const auto finish = [&](std::uint32_t chunk) {
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.rows;
    if (p.outgoing == 0) {
      if (is_whole(chunk)) {
        results.template put<false>(sum, p, first_row, p.rows, beta);
      } else {
        results.template put<true>(sum, p, first_row, static_cast<int>(p.k - first_row), beta);
      }
      return;
    }
    Real* const out = out_of(turn);
    if (adds) {
      old_is_there[2 * group + turn].wait(phase);
    } else {
      meet(3 + group, threads);  // what was there has left
    }
    if (tf32 && !all_finite(sum)) {
      results.put_plainly(p, first_row + row0, column0, out, adds, beta, lane);
    } else {
      results.put(sum, out, adds, beta);
    }
    publish_to_bulk_copies();
    meet(3 + group, threads);
    if (p.plain_b && !beta.is_zero()) {
      write_columns<parts, true>(p, out, first_row, beta, in_group, group_warps, lane);
    } else if (p.plain_b || !is_whole(chunk)) {  // bulk stores end with 16 bytes
      write_columns<parts, false>(p, out, first_row, beta, in_group, group_warps, lane);
    } else if (leads) {
      tensor_store(p.boxes_b, static_cast<int>(chunk) * layout.pitch, 0, out);
      commit_stores();
    }
    if (++turn == p.outgoing) {
      turn = 0;
      phase ^= 1;
    }
  };

  if (!reads_a) {
    for (std::uint32_t chunk = blockIdx.x * p.groups + group; chunk < p.chunks; chunk += gridDim.x * p.groups) {
      begin(chunk);
      finish(chunk);
    }
  } else {
    RingPosition at{0, 0};
    for (;;) {
      barriers.full[first_stage + at.stage].wait(at.parity);
      const std::uint32_t chunk = chunk_of[first_stage + at.stage];
      if (chunk == no_chunk) break;
      begin(chunk);
      for (int panel = 0; panel < p.panels; ++panel, at.advance(1, p.stages)) {
        const int stage = first_stage + at.stage;
        if (panel > 0) barriers.full[stage].wait(at.parity);
        const Real* const a = reinterpret_cast<const Real*>(memory + stage * layout.stage_bytes);
        const uint4* const c = p.packed == nullptr ? packed + panel * layout.small_pairs
                                                   : reinterpret_cast<const uint4*>(a + layout.panel_numbers);
        multiply_columns<parts>(sum, a + first_a, layout.pitch, c + first_c, layout.pieces, p.panel);
        barriers.empty[stage].arrive();
      }
      finish(chunk);
    }
  }
  if (leads) bulk_stores_are_done();
#endif
}

}  // namespace blockvec::kernels::cuda
