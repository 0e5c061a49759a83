#pragma once

#include "src/cuda/ptx/dependent_launch.cuh"
#include "src/cuda/tsmm/strided.cuh"

/// tsmm in complex double precision for wide operands by the 3M method: three real products instead of four (Gauss).
/// Loads and stores are those of tsmm/strided.cuh. Where A has many columns, panels (K slices) of A and C come
/// together.
///
/// Where a result is not finite, its warp computes it again with all four products. So only true infinities remain.
namespace blockvec::kernels::cuda {

/// Joins the three sums of a complex product: r = sum re re, i = sum im im, x = sum (re + im)(re + im). The product is
/// (r - i, x - r - i). Its parts are written as neighbouring real numbers.
template <int tb, int tn>
__device__ inline void join_sums(const double (&sum)[3][tb][tn][4], double (&real)[tb][2 * tn][4]) {
#pragma unroll
  for (int t = 0; t < tb; ++t) {
#pragma unroll
    for (int x = 0; x < tn; ++x) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const double r = sum[0][t][x][v];
        const double i = sum[1][t][x][v];
        real[t][2 * x + v % 2][v / 2 * 2] = r - i;
        real[t][2 * x + v % 2][v / 2 * 2 + 1] = sum[2][t][x][v] - r - i;
      }
    }
  }
}

/// Where a lane finds its numbers: A's in both halves of the rows of a box, and packed C's.
struct Sources {
  const double* a[2];
  int box;  ///< numbers from box to box
  const double* c;
  int pieces;  ///< MMA tiles along all columns of C
  int depth;   ///< rows of C, as scalars
};

/// Size of a tile of packed C: [8 rows][8 columns][re, im, re + im][lane][row / 4]. To compute sums here would keep the
/// tensor cores waiting. Where C comes in panels, its sums are left out: to read them again and again costs more.
__host__ __device__ constexpr int gauss_piece_numbers(bool with_sums) { return (with_sums ? 3 : 2) * 2 * 32; }

/// Packs `sets` sets of 8 rows of alpha C, with zeros beyond C.
__device__ inline void pack_gauss(const TsmmBoxes<double>& p, int sets, int pieces, bool with_sums, double* packed,
                                  int thread, int threads) {
  const Factor alpha = p.alpha.read();
  const int lane = thread % warp_size;
  for (int index = thread / warp_size; index < sets * pieces; index += threads / warp_size) {
    // The complex columns of one lane stand in two MMA tiles of real columns: tsmm/results.cuh.
    const int column = 2 * (index % pieces * 8 + column_of(false, lane / 4));
    double* const to = packed + index * gauss_piece_numbers(with_sums) + 2 * lane;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 2 * (index / pieces * 8 + lane % 4 + 4 * half);
      const bool there = row < p.m && column < p.out.n;
      const double re = there ? p.small.scaled(row, column, alpha) : 0.0;
      const double im = there ? p.small.scaled(row, column + 1, alpha) : 0.0;
      to[half] = re;
      to[64 + half] = im;
      if (with_sums) to[128 + half] = re + im;
    }
  }
}

/// Packs C once for all blocks, where it does not fit into each of them, and sets their ticket to zero.
inline __global__ void pack_gauss_kernel(const __grid_constant__ TsmmBoxes<double> p, int pieces, double* packed) {
  release_next_kernel();
  await_previous_kernel();
  if (blockIdx.x == 0 && threadIdx.x == 0) *p.tickets = 0;
  if (p.alpha.read().is_zero()) return;
  pack_gauss(p, p.panels * p.panel / 16, pieces, false, packed, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
             static_cast<int>(gridDim.x * blockDim.x));
}

/// A warp's tile of complex double precision: tb x 16 rows times tn x 8 complex columns.
template <int tb, int tn, bool by_columns>
struct GaussTile {
  static constexpr int boxes = tb;
  static constexpr int pieces = tn;
  static constexpr bool with_sums = !dispatch::gauss_by_panels({tb, tn});
  static constexpr int piece_numbers = gauss_piece_numbers(with_sums);
  /// From column to column of a box, in scalars.
  static constexpr int depth_step = by_columns ? dispatch::gauss_column_pitch : 2;
  double sum[3][tb][tn][4];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < 12 * tb * tn; ++i) (&sum[0][0][0][0])[i] = 0;
  }

  __device__ void multiply(const Sources& from, int lane) {
    const double* c = from.c + 2 * lane;
    const double* a[2] = {from.a[0], from.a[1]};
    const int next = from.pieces * piece_numbers;
    int depth = 0;
#pragma unroll unrolled
    for (; depth + 12 < from.depth; depth += 16, c += 2 * next) {
      double left[2][tb][8];
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
          read(a[v % 2] + t * from.box + 4 * (v / 2) * depth_step, left[0][t][v], left[1][t][v]);
        }
      }
      a[0] += 16 * depth_step;
      a[1] += 16 * depth_step;
      double right[with_sums ? 3 : 2][tn][4];
#pragma unroll
      for (int part = 0; part < (with_sums ? 3 : 2); ++part) {
#pragma unroll
        for (int x = 0; x < tn; ++x) {
#pragma unroll
          for (int v = 0; v < 4; v += 2) {
            const double2 pair = *reinterpret_cast<const double2*>(c + v / 2 * next + x * piece_numbers + 64 * part);
            right[part][x][v] = pair.x;
            right[part][x][v + 1] = pair.y;
          }
        }
      }
      multiply_pieces(sum[0], left[0], right[0]);
      multiply_pieces(sum[1], left[1], right[1]);
      add_to<tb * 8>(left[0][0], left[1][0]);
      if (!with_sums) add_to<tn * 4>(right[0][0], right[1][0]);
      multiply_pieces(sum[2], left[0], right[with_sums ? 2 : 0]);
    }
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      if (depth + 4 * v >= from.depth) break;
      double left[3][tb][2];
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          read(a[half] + t * from.box + 4 * v * depth_step, left[0][t][half], left[1][t][half]);
          left[2][t][half] = left[0][t][half] + left[1][t][half];
        }
      }
#pragma unroll
      for (int x = 0; x < tn; ++x) {
        const double* const at = c + v / 2 * next + x * piece_numbers + v % 2;
        const double right[3] = {at[0], at[64], with_sums ? at[128] : at[0] + at[64]};
#pragma unroll
        for (int which = 0; which < 3; ++which) {
#pragma unroll
          for (int t = 0; t < tb; ++t) multiply_16x8x4(sum[which][t][x], left[which][t], right[which]);
        }
      }
    }
  }

  __device__ void results(double (&real)[tb][2 * tn][4]) const { join_sums(sum, real); }

 private:
  static constexpr int unrolled = with_sums ? 2 : 1;

  __device__ static void multiply_pieces(double (&sums)[tb][tn][4], const double (&left)[tb][8],
                                         const double (&right)[tn][4]) {
#pragma unroll
    for (int x = 0; x < tn; ++x) {
#pragma unroll
      for (int t = 0; t < tb; ++t) multiply_16x8x16(sums[t][x], left[t], right[x]);
    }
  }
  template <int count>
  __device__ static void add_to(double* one, const double* other) {
#pragma unroll
    for (int i = 0; i < count; ++i) one[i] += other[i];
  }
  __device__ static void read(const double* from, double& re, double& im) {
    const double2 both = *reinterpret_cast<const double2*>(from);
    re = both.x;
    im = both.y;
  }
};

/// Returns a number of A for multiply_plainly: from a stage if it holds whole rows, else from memory.
__device__ inline double number_of(const TsmmBoxes<double>& p, const double* stage, std::int64_t first_row, int box,
                                   int row, int d) {
  const bool rows = p.out.b.row_major;
  if (p.panels == 1) {
    return stage[box * p.a.numbers() + (rows ? place_of_row(p, row) + d : d / 2 * p.a.pitch + 2 * row + d % 2)];
  }
  const std::int64_t in_a = min(first_row + box * p.out.box_rows + row, p.out.k - 1);
  return p.lines.data[rows ? in_a * p.lines.distance + d : d / 2 * p.lines.distance + 2 * in_a + d % 2];
}

/// Computes results again, entry by entry, with all products in double precision: 16 rows of each box, `columns`
/// columns.
__device__ inline void multiply_plainly(const TsmmBoxes<double>& p, const double* stage, int boxes, int warp_row,
                                        std::int64_t first_row, int column0, int columns, Factor beta, int lane) {
  const Factor alpha = p.alpha.read();
  const int box_rows = p.out.box_rows;
#pragma unroll 1
  for (int i = lane; i < boxes * 16 * columns; i += warp_size) {  // the number of entries is a multiple of warp_size
    const int box = i / columns / 16;
    const int row = 16 * warp_row + i / columns % 16;
    const int column = column0 + i % columns;
    const std::int64_t row_of_b = first_row + box * box_rows + row;
    const bool mine = row_of_b < p.out.k && column < p.out.n;
    Factor value{0, 0};
    if (mine) {
#pragma unroll 1
      for (int d = 0; d < p.m; ++d) {
        value.re += number_of(p, stage, first_row, box, row, d) * p.small.scaled(d, column, alpha);
      }
      if (!beta.is_zero()) {
        const double* const old = p.out.b.data + p.out.b.offset(row_of_b, column - column % p.out.b.parts);
        const Factor scaled = scale(beta, {old[0], old[1]});
        value.re += column % p.out.b.parts == 0 ? scaled.re : scaled.im;
      }
    }
    __syncwarp();  // both parts of a complex entry are read before either is written
    if (mine) p.out.b.data[p.out.b.offset(row_of_b, column)] = value.re;
  }
}

template <class Tile>
__global__ void __launch_bounds__(block_threads, 1) tsmm_gauss_kernel(const __grid_constant__ TsmmBoxes<double> p) {
#if __CUDA_ARCH__ >= 900
  constexpr int tb = Tile::boxes;
  constexpr int tn = 2 * Tile::pieces;  // MMA tiles of 8 real columns
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warps = p.row_warps * p.column_warps;
  const int box = p.a.numbers();
  const int pieces = p.column_warps * Tile::pieces;
  const bool resident = p.packed == nullptr;
  const int small_numbers = p.panel / 16 * pieces * Tile::piece_numbers;
  const BoxStages<double> stages{barriers, chunk_of, memory, p.sets * tb * box * static_cast<int>(sizeof(double)),
                                 resident ? 0 : small_numbers};
  auto* const packed = reinterpret_cast<double*>(memory + p.stages * stages.bytes());
  if (threadIdx.x == 0) barriers.initialize(p.stages, static_cast<unsigned>(warps));
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
    pack_gauss(p, (p.m / 2 + 7) / 8, pieces, Tile::with_sums, packed, static_cast<int>(threadIdx.x), computing_threads);
    meet(1, computing_threads);
  }
  if (warp >= warps) return;
  const int warp_row = warp % p.row_warps;
  const int first_piece = warp / p.row_warps * Tile::pieces;
  const int column0 = 8 * 2 * first_piece;
  const int box_rows = p.out.box_rows;
  const Factor beta = p.beta.read();
  const Places<double> places(p.out, warp_row, column0, lane);
  int start[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int group = lane / 4;
    const int row =
        16 * warp_row + p.out.map.by_lane * (group % 4) + p.out.map.by_first * (group / 4) + p.out.map.by_second * half;
    start[half] = (Tile::depth_step == 2 ? place_of_row(p, row) : 2 * row) + lane % 4 * Tile::depth_step;
  }
  const std::int64_t chunk_rows = static_cast<std::int64_t>(box_rows) * tb * p.sets;
  const auto finish = [&](std::int64_t first_row, double(&result)[tb][tn][4]) {
    if (!beta.is_zero()) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        if (__all_sync(0xffffffffU, places.template inside<tn>(first_row + t * box_rows))) {
          places.add_inside(first_row + t * box_rows, result[t], beta);
          continue;
        }
        double old[1][tn][4];
        places.read(first_row + t * box_rows, old);
        add_scaled(reinterpret_cast<double(&)[1][tn][4]>(result[t]), old, beta);
      }
    }
    places.write(first_row, result);
  };
  RingPosition at{0, 0};
  for (std::uint32_t turn = blockIdx.x;; turn += gridDim.x) {  // fixed turns where there is no A to wait for
    if (reads_a) barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = reads_a ? chunk_of[at.stage] : turn < p.chunks ? turn : no_chunk;
    if (chunk == no_chunk) break;
    for (int set = 0; set < p.sets; ++set) {
      const std::int64_t first_row = chunk * chunk_rows + set * tb * box_rows;
      Tile tile;
      tile.clear();
      const double* stage = nullptr;
#pragma unroll 1
      for (int panel = 0; reads_a && panel < p.panels; ++panel) {
        if (panel > 0) {
          barriers.empty[at.stage].arrive();
          at.advance(1, p.stages);
          barriers.full[at.stage].wait(at.parity);
        }
        const unsigned char* const first = memory + at.stage * stages.bytes();
        stage = reinterpret_cast<const double*>(first) + set * tb * box;
        const double* const c =
            resident ? packed + panel * small_numbers : reinterpret_cast<const double*>(first + stages.bytes_a);
        tile.multiply({{stage + start[0], stage + start[1]},
                       box,
                       c + first_piece * Tile::piece_numbers,
                       pieces,
                       min(p.panel, p.m - panel * p.panel) / 2},
                      lane);
      }
      double result[tb][tn][4];
      tile.results(result);
      unsigned largest = 0;  // exponent without sign; integer code leaves the double-precision pipe to tensor cores
#pragma unroll
      for (int i = 0; i < 4 * tb * tn; ++i) {
        largest = max(largest, static_cast<unsigned>(__double2hiint((&result[0][0][0])[i])) << 1);
      }
      const bool finite = __all_sync(0xffffffffU, largest < 0xffe00000U);
      if (!finite) multiply_plainly(p, stage, tb, warp_row, first_row, column0, 8 * tn, beta, lane);
      if (reads_a && set == p.sets - 1) {
        barriers.empty[at.stage].arrive();
        at.advance(1, p.stages);
      }
      if (finite) finish(first_row, result);
    }
  }
#endif
}

}  // namespace blockvec::kernels::cuda
