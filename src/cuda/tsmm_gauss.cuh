#pragma once

#include "src/cuda/succession.cuh"
#include "src/cuda/tsmm_boxes.cuh"

/// tsmm of wide row-major operands of complex double precision by three real products instead of four, as Gauss has
/// them; loads and results are tsmm_boxes.cuh's.
///
/// Where a result is not finite, its warp computes it again with all four products, so that only true infinities are
/// seen.
namespace blockvec::kernels::cuda {

/// Three sums stand for a complex product: r = sum re re, i = sum im im, x = sum (re + im)(re + im); it is
/// (r - i, x - r - i). As real numbers, side by side:
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

/// Where a lane finds its numbers: of A in either half of the rows of a box, of packed C.
struct Sources {
  const double* a[2];
  int box;  ///< from box to box
  const double* c;
  int pieces;  ///< of C in all
  int depth;   ///< rows of C, scalars as the tile takes them
};

/// Complex double precision: tb pieces of 16 rows times tn pieces of 8 complex columns.
template <int tb, int tn>
struct GaussRows {
  static constexpr int boxes = tb;
  static constexpr int pieces = tn;
  static constexpr int piece_numbers = 3 * 2 * warp_size;  ///< of packed C: 8 rows x 8 columns
  double sum[3][tb][tn][4];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < 12 * tb * tn; ++i) (&sum[0][0][0][0])[i] = 0;
  }

  /// [8 rows][piece][re, im, re + im][lane][row / 4]: sums would keep the tensor cores waiting.
  template <class Value>
  __device__ static void pack(double* packed, int index, int lane, const Value& value) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane % 4 + 4 * half;
      double* const to = packed + index * piece_numbers + 2 * lane + half;
      const double re = value(row, 0);
      const double im = value(row, 1);
      to[0] = re;
      to[64] = im;
      to[128] = re + im;
    }
  }

  __device__ void multiply(const Sources& from, int lane) {
    const double* c = from.c + 2 * lane;
    const int next = from.pieces * piece_numbers;
    int depth = 0;
#pragma unroll 2
    for (; depth + 12 < from.depth; depth += 16, c += 2 * next) {
      double left[3][tb][8];
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int v = 0; v < 8; ++v) read(from, t, v % 2, depth + 4 * (v / 2), left[0][t][v], left[1][t][v]);
      }
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int v = 0; v < 8; ++v) left[2][t][v] = left[0][t][v] + left[1][t][v];
      }
#pragma unroll
      for (int x = 0; x < tn; ++x) {
        double right[3][4];
#pragma unroll
        for (int part = 0; part < 3; ++part) {
#pragma unroll
          for (int v = 0; v < 4; v += 2) {
            const double2 pair = *reinterpret_cast<const double2*>(c + v / 2 * next + x * piece_numbers + 64 * part);
            right[part][v] = pair.x;
            right[part][v + 1] = pair.y;
          }
        }
#pragma unroll
        for (int which = 0; which < 3; ++which) {
#pragma unroll
          for (int t = 0; t < tb; ++t) multiply_16x8x16(sum[which][t][x], left[which][t], right[which]);
        }
      }
    }
#pragma unroll
    for (int v = 0; v < 3; ++v) {
      if (depth + 4 * v >= from.depth) break;
      double left[3][tb][2];
#pragma unroll
      for (int t = 0; t < tb; ++t) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          read(from, t, half, depth + 4 * v, left[0][t][half], left[1][t][half]);
          left[2][t][half] = left[0][t][half] + left[1][t][half];
        }
      }
#pragma unroll
      for (int x = 0; x < tn; ++x) {
        const double* const at = c + v / 2 * next + x * piece_numbers + v % 2;
        const double right[3] = {at[0], at[64], at[128]};
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
  __device__ static void read(const Sources& from, int t, int half, int depth, double& re, double& im) {
    const double2 both = *reinterpret_cast<const double2*>(from.a[half] + t * from.box + 2 * depth);
    re = both.x;
    im = both.y;
  }
};

/// C, times alpha, packed for a tile, zeros beyond it; by the computing warps.
template <class Tile>
__device__ inline void pack_for(const TsmmBoxes<double>& p, int pieces, double* packed, int thread, int threads) {
  const Factor alpha = p.alpha.read();
  const int lane = thread % warp_size;
  const int count = (p.m / 2 + 7) / 8 * pieces;
  for (int index = thread / warp_size; index < count; index += threads / warp_size) {
    const int first_row = index / pieces * 8;
    // Complex columns of one lane stand in two pieces of real ones: tsmm_results.cuh.
    const int place = column_of(false, lane / 4);
    const int column = 2 * (index % pieces * 8 + place);
    Tile::pack(packed, index, lane, [&](int row, int part) {
      const int real_row = 2 * (first_row + row);
      return real_row < p.m && column < p.out.n ? p.small.scaled(real_row, column + part, alpha) : 0.0;
    });
  }
}

/// A row of a box in its stage.
__device__ inline int place_of_row(const TsmmBoxes<double>& p, int row) {
  const int row_class = row % p.a.classes;
  return row_class * p.a.class_numbers() + row / p.a.classes * p.a.pitch + p.a.lead[row_class];
}

/// One entry after the other, all products in double precision: 16 rows of each box of a stage, `columns` columns.
__device__ inline void multiply_plainly(const TsmmBoxes<double>& p, const double* stage, int boxes, int warp_row,
                                        std::int64_t first_row, int column0, int columns, Factor beta, int lane) {
  const Factor alpha = p.alpha.read();
  const int box_rows = p.out.box_rows;
#pragma unroll 1
  for (int i = lane; i < boxes * 16 * columns; i += warp_size) {  // columns are many times a warp's lanes
    const int box = i / columns / 16;
    const int row = 16 * warp_row + i / columns % 16;
    const int column = column0 + i % columns;
    const double* const a = stage + box * p.a.numbers() + place_of_row(p, row);
    const std::int64_t row_of_b = first_row + box * box_rows + row;
    const bool mine = row_of_b < p.out.k && column < p.out.n;
    Factor value{0, 0};
    if (mine) {
#pragma unroll 1
      for (int d = 0; d < p.m; ++d) value.re += a[d] * p.small.scaled(d, column, alpha);
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
  constexpr int tn = 2 * Tile::pieces;  // pieces of 8 real columns
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
  const BoxStages<double> stages{barriers, chunk_of, memory, p.sets * tb * box * static_cast<int>(sizeof(double)), 0};
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
  if (reads_a) {
    pack_for<Tile>(p, pieces, packed, static_cast<int>(threadIdx.x), computing_threads);
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
    start[half] = place_of_row(p, row) + 2 * (lane % 4);
  }
  const std::int64_t chunk_rows = static_cast<std::int64_t>(box_rows) * tb * p.sets;
  const auto finish = [&](std::int64_t first_row, double(&result)[tb][tn][4]) {
    if (!beta.is_zero()) {
#pragma unroll
      for (int t = 0; t < tb; ++t) {
        double old[1][tn][4];
        places.read(first_row + t * box_rows, old);
        add_scaled(reinterpret_cast<double(&)[1][tn][4]>(result[t]), old, beta);
      }
    }
    places.write(first_row, result);
  };
  if (!reads_a) {
    double result[tb][tn][4] = {};
    for (std::uint32_t chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
      for (int set = 0; set < p.sets; ++set) finish(chunk * chunk_rows + set * tb * box_rows, result);
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
      const double* const stage = reinterpret_cast<const double*>(memory + at.stage * stages.bytes()) + set * tb * box;
      Tile tile;
      tile.clear();
      tile.multiply(
          {{stage + start[0], stage + start[1]}, box, packed + first_piece * Tile::piece_numbers, pieces, p.m / 2},
          lane);
      double result[tb][tn][4];
      tile.results(result);
      unsigned largest = 0;  // exponent, without the sign; integers leave the double-precision pipe to the tensor cores
#pragma unroll
      for (int i = 0; i < 4 * tb * tn; ++i) {
        largest = max(largest, static_cast<unsigned>(__double2hiint((&result[0][0][0])[i])) << 1);
      }
      const bool finite = __all_sync(0xffffffffU, largest < 0xffe00000U);
      if (!finite) multiply_plainly(p, stage, tb, warp_row, first_row, column0, 8 * tn, beta, lane);
      if (set == p.sets - 1) {
        barriers.empty[at.stage].arrive();
        at.advance(1, p.stages);
      }
      if (finite) finish(first_row, result);
    }
  }
#endif
}

}  // namespace blockvec::kernels::cuda
