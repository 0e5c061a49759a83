#pragma once

#include "src/cuda/math/recompute.cuh"
#include "src/cuda/tsmm/strided.cuh"
#include "src/cuda/tsmm/tf32_warpgroup.cuh"

/// tsmm in single precision for row-major operands of any stride and width, by 3xTF32 products (math/tf32x3.cuh) of
/// whole warpgroups. A comes in TMA tiles (boxes), panel by panel, as in tsmm/strided.cuh. Pairs of neighbours and C in
/// two TF32 halves are those of tsmm/tf32_warpgroup.cuh. Two warpgroups share the 128 rows of a box.
///
/// Where a result is not finite, its warp computes its rows again in double precision from memory, one entry after the
/// other. So only true infinities remain.
namespace blockvec::kernels::cuda {

/// Packs C once for all blocks, where it does not fit into each of them, and sets their ticket to zero.
inline __global__ void pack_split_kernel(const __grid_constant__ TsmmBoxes<float> p, int columns, float* packed) {
  release_next_kernel();
  await_previous_kernel();
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.tickets = 0;
  const Factor alpha = p.alpha.read();
  if (alpha.is_zero()) return;
  pack_steps(p.panels * p.panel / (2 * pairs_of_step), columns, packed,
             static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), static_cast<int>(gridDim.x * blockDim.x),
             PairedEntries<TsmmBoxes<float>>{p, p.m, p.out.n, alpha});
}

/// Where a warp's results lie in B: 16 rows of each box. In a row, a lane has every fourth pair of neighbours.
template <int count>
class PairPlaces {
 public:
  __device__ PairPlaces(const Results<float>& out, int lane) : out_(out), column_(2 * (lane % 4)) {}

  /// Calls f(i, column, has_neighbour) for each pair in B. has_neighbour: the second column lies in B, too.
  template <class F>
  __device__ void visit(const F& f) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int column = 8 * i + column_;
      if (column < out_.n) f(i, column, column + 1 < out_.n);
    }
  }

  __device__ float* row(std::int64_t row) const { return out_.b.data + row * out_.b.row_stride; }

  /// Brings a row's numbers into the L2 cache, for a later read.
  __device__ void prefetch(std::int64_t of_row) const {
    if (of_row < out_.k) visit([&](int, int column, bool) { prefetch_line(row(of_row) + column); });
  }

  __device__ void read(std::int64_t of_row, float2 (&old)[count]) const {
    if (of_row >= out_.k) return;
    visit([&](int i, int column, bool both) {
      const float* const from = row(of_row) + column;
      old[i] =
          out_.in_pairs && both ? *reinterpret_cast<const float2*>(from) : make_float2(from[0], both ? from[1] : 0.0F);
    });
  }

 private:
  const Results<float>& out_;
  int column_;
};

/// A block takes `tb` boxes of 128 rows and `columns` columns of B, counted in scalars.
template <int parts, int tb, int columns>
__global__ void __launch_bounds__(block_threads, 1)
    tsmm_boxes_split_kernel(const __grid_constant__ TsmmBoxes<float> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  constexpr bool early = parts * tb * columns <= 64;  // old rows have registers while sums are computed
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  // The compiler must see that all lanes of a warp take the same path: asynchronous products (wgmma) need it.
  const int warp = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x) / warp_size, 0);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int box = p.a.numbers();
  const bool resident = p.packed == nullptr;
  const BoxStages<float> stages{barriers, chunk_of, memory, tb * box * static_cast<int>(sizeof(float)),
                                resident ? 0 : p.panel_numbers(columns / 8)};
  const int bytes = stages.bytes();
  const int steps = (p.m + 2 * pairs_of_step - 1) / (2 * pairs_of_step);
  float* const packed = reinterpret_cast<float*>(memory + p.stages * bytes);
  float* const staged = packed + (resident ? steps * step_numbers(columns) : 0);
  if (threadIdx.x == 0) barriers.initialize(p.stages, computing_warps);
  await_previous_kernel();
  __syncthreads();
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (reads_a && warp == computing_warps) load_chunks<tb, false>(p, stages, tickets);
    return;
  }

  take_registers<232>();
  if (reads_a && resident) {
    pack_steps(steps, columns, packed, static_cast<int>(threadIdx.x), computing_threads,
               PairedEntries<TsmmBoxes<float>>{p, p.m, p.out.n, p.alpha.read()});
    publish_to_bulk_copies();  // wgmma reads shared memory by the same proxy
    meet(1, computing_threads);
  }
  int row_of_half[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const dispatch::RowMap& map = p.out.map;
    row_of_half[half] = 16 * warp + map.by_lane * (lane / 4 % 4) + map.by_first * (lane / 16) + map.by_second * half;
  }
  const int start[2] = {place_of_row(p, row_of_half[0]), place_of_row(p, row_of_half[1])};
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  constexpr int pairs = (parts * columns + 31) / 32 * 4;  // pairs of a row that a lane has
  const PairPlaces<pairs> places(p.out, lane);
  const int pitch = p.out.staged_pitch;
  const bool in_pairs = p.out.in_pairs || pitch != 0;
  WarpgroupSums<parts, columns> sums[tb];
  float2 old[early ? tb : 1][2][pairs];
  const auto row_of = [&](int t, int half) { return t * p.out.box_rows + row_of_half[half]; };
  const auto read_old = [&](std::int64_t first_row, int t, float2(&of_box)[2][pairs]) {
    places.read(first_row + row_of(t, 0), of_box[0]);
    places.read(first_row + row_of(t, 1), of_box[1]);
  };
  const auto finish = [&](std::int64_t first_row) {
    const int rows = static_cast<int>(min(p.out.k - first_row, static_cast<std::int64_t>(tb) * p.out.box_rows));
    const auto row_to = [&](int row) { return pitch != 0 ? staged + row * pitch : places.row(first_row + row); };
    bool finite = true;
#pragma unroll
    for (int t = 0; t < tb; ++t) finite = finite && sums[t].finite();
    finite = __all_sync(0xffffffffU, finite);
    if (pitch != 0) meet(1, computing_threads);  // the results before these have been written
    if (finite) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        if (!early && adds) read_old(first_row, t, old[0]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          if (row_of(t, half) >= rows) continue;
          float* const to_row = row_to(row_of(t, half));
          places.visit([&](int pair, int column, bool both) {
            const int i = 2 * half + (parts == 2 ? 4 * (pair / 2) + pair % 2 : 4 * pair);
            if (i >= columns / 2) return;
            float first = sums[t].sum[0][i];
            float second = parts == 2 ? sums[t].sum[parts - 1][i] : sums[t].sum[0][i + 1];
            if (adds) add_pair(first, second, old[early ? t : 0][half][pair], beta);
            float* const to = to_row + column;
            if (in_pairs && both) {
              write_pair(to, first, second);
            } else {
              to[0] = first;
              if (both) to[1] = second;
            }
          });
        }
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < 16 * tb; ++i) {
        const int row = i / 16 * p.out.box_rows + 16 * warp + i % 16;
        if (row >= rows) continue;
        float* const to = row_to(row);
        multiply_row_plainly<parts * columns>(p, first_row + row, lane,
                                              [&](int column, float value) { to[column] = value; });
      }
    }
    if (pitch == 0) return;
    meet(1, computing_threads);
    write_staged(p.out, staged, first_row, rows, static_cast<int>(threadIdx.x), computing_threads);
  };

  RingPosition at{0, 0};
  for (std::uint32_t turn = blockIdx.x;; turn += gridDim.x) {  // fixed turns where there is no A to wait for
    if (reads_a) barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = __shfl_sync(0xffffffffU,
                                            reads_a           ? chunk_of[at.stage]
                                            : turn < p.chunks ? turn
                                                              : no_chunk,
                                            0);
    if (chunk == no_chunk) break;
    const std::int64_t first_row = static_cast<std::int64_t>(chunk) * p.out.box_rows * tb;
#pragma unroll
    for (int t = 0; t < tb; ++t) {
      if (early && adds) {
        read_old(first_row, t, old[early ? t : 0]);
      } else if (adds) {
        places.prefetch(first_row + row_of(t, 0));
        places.prefetch(first_row + row_of(t, 1));
      }
      sums[t].clear();
    }
#pragma unroll 1
    for (int panel = 0; reads_a && panel < p.panels; ++panel) {
      if (panel > 0) barriers.full[at.stage].wait(at.parity);
      const float* const a = reinterpret_cast<const float*>(memory + at.stage * bytes);
      const int width = min(p.panel, p.m - panel * p.panel);
      const float* const c = resident ? packed + panel * (p.panel / (2 * pairs_of_step)) * step_numbers(columns)
                                      : a + stages.bytes_a / static_cast<int>(sizeof(float));
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        const auto pairs_of = [&](int half) {
          return reinterpret_cast<const float2*>(a + t * box + start[half]) + lane % 4;
        };
        const PairedRows fragments{{pairs_of(0), pairs_of(1)}, (width + 1) / 2 - lane % 4, 0};
        multiply_steps(sums[t], fragments, shared_address(c), (width + 15) / 16);
      }
      barriers.empty[at.stage].arrive();
      at.advance(1, p.stages);
    }
    finish(first_row);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
