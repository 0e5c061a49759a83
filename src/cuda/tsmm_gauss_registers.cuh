#pragma once

#include "src/cuda/succession.cuh"
#include "src/cuda/tsmm_boxes.cuh"

/// tsmm of complex double precision by three real products instead of four, in either layout; A comes in boxes
/// (tsmm_boxes.cuh).
///
/// With Gauss: t = C.re (A.re + A.im); the result is (t - A.im (C.re + C.im), t + A.re (C.im - C.re)). Sums of C's
/// parts are made once, and both parts of a result are summed from t on: besides A.re + A.im nothing is added by
/// instructions that would keep the tensor cores waiting.
///
/// C stays in registers, so that shared memory is read for A alone: each warp has 16 columns of one half of C's rows.
/// The products are B^T = C^T A^T, 8 rows of B at a time. Of every two such sets, each of a pair of warps begins one
/// with its half of C's rows and finishes the other: what was begun passes through shared memory.
///
/// Where a result is not finite, its warp computes it again with all four products, so that only true infinities are
/// seen.
namespace blockvec::kernels::cuda {

/// What pairs of warps hand over: two sets of 8 x 16 complex numbers each way, so that none is overwritten unread.
inline constexpr int handed_numbers = dispatch::gauss_pair_bytes / static_cast<int>(sizeof(double2));
inline constexpr int set_numbers = 8 * 16;
static_assert(handed_numbers == 4 * set_numbers);

/// sum += left right, of depth 4 `depth`: as long products as there are move the fewest registers.
template <int depth>
__device__ inline void multiply_deep(double (&sum)[4], const double (&left)[2 * depth], const double (&right)[depth]) {
#pragma unroll
  for (int d = 0; d + 4 <= depth; d += 4) {
    const double(&l)[8] = reinterpret_cast<const double(&)[8]>(left[2 * d]);
    multiply_16x8x16(sum, l, reinterpret_cast<const double(&)[4]>(right[d]));
  }
  constexpr int of_four = depth / 4 * 4;
  if constexpr (depth % 4 >= 2) {
    const double l[4] = {left[2 * of_four], left[2 * of_four + 1], left[2 * of_four + 2], left[2 * of_four + 3]};
    const double r[2] = {right[of_four], right[of_four + 1]};
    multiply_16x8x8(sum, l, r);
  }
  if constexpr (depth % 2 == 1) {
    const double l[2] = {left[2 * depth - 2], left[2 * depth - 1]};
    multiply_16x8x4(sum, l, right[depth - 1]);
  }
}

/// A warp's part of alpha C: a lane has columns lane / 4 and 8 more, rows lane % 4 and so many fours more.
template <int depth>
struct GaussFactor {
  double re[2 * depth], difference[2 * depth], negative_sum[2 * depth];

  __device__ void read(const TsmmBoxes<double>& p, int first_row, int first_column, int lane) {
    const Factor alpha = p.alpha.read();
#pragma unroll
    for (int d = 0; d < depth; ++d) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = 2 * (first_row + 4 * d + lane % 4);
        const int column = 2 * (first_column + 8 * half + lane / 4);
        double c_re = 0;
        double c_im = 0;
        if (row < p.m && column < p.out.n) {
          c_re = p.small.scaled(row, column, alpha);
          c_im = p.small.scaled(row, column + 1, alpha);
        }
        const int i = 2 * d + half;
        re[i] = c_re;
        difference[i] = c_im - c_re;
        negative_sum[i] = -(c_re + c_im);
        // They are to stay, not to be computed again from one another.
        asm volatile("" : "+d"(re[i]), "+d"(difference[i]), "+d"(negative_sum[i]));
      }
    }
  }
};

/// Where a lane's numbers of A lie in a stage, and its results in B. Of 8 rows, products number those of a row-major
/// operand as they are; of a column-major one, neighbours belong to lanes that write side by side.
struct GaussPlaces {
  int first_a;     ///< of its row, at depth lane % 4
  int depth_step;  ///< to 4 columns of A further
  int set_step;    ///< to 8 rows further
  int row[2];      ///< of its results in a set
  int column;      ///< the first one of scalars; the second one is 8 further
  std::int64_t second_row, second_column;
  double* first_b;

  __device__ GaussPlaces(const TsmmBoxes<double>& p, int first_depth, int first_column, int lane) {
    const int group = lane / 4;
    const int q = lane % 4;
    const bool rows = p.out.b.row_major;
    first_a = rows ? group * p.a.pitch + 2 * (first_depth + q)
                   : 2 * (group / 2 + 4 * (group % 2)) + (first_depth + q) * p.a.pitch;
    depth_step = rows ? 8 : 4 * p.a.pitch;
    set_step = rows ? 8 * p.a.pitch : 16;
    row[0] = rows ? 2 * q : q;
    row[1] = row[0] + (rows ? 1 : 4);
    column = first_column + group;
    first_b = p.out.b.data + p.out.b.offset(row[0], 2 * column);
    second_row = p.out.b.offset(row[1] - row[0], 0);
    second_column = p.out.b.offset(0, 16);
  }

  /// Calls f(v, place) for what lies in B of the set that begins at a row.
  template <class F>
  __device__ void visit(const TsmmBoxes<double>& p, std::int64_t first_row, const F& f) const {
    double* const first = first_b + first_row * p.out.b.row_stride;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      if (first_row + row[v % 2] < p.out.k && 2 * (column + v / 2 * 8) < p.out.n) {
        f(v, first + v % 2 * second_row + v / 2 * second_column);
      }
    }
  }
};

/// 8 rows x 16 columns, one entry after the other with all products; `stage` points to the box, `row` counts in it.
__device__ inline void multiply_set_plainly(const TsmmBoxes<double>& p, const double* stage, int row0,
                                            std::int64_t first_row, int first_column, Factor beta, int lane) {
  const Factor alpha = p.alpha.read();
  const bool rows = p.out.b.row_major;
#pragma unroll 1
  for (int i = lane; i < 8 * 32; i += warp_size) {  // both parts of an entry by neighbouring lanes
    const int row = i / 32;
    const int column = 2 * first_column + i % 32;
    const bool mine = first_row + row < p.out.k && column < p.out.n;
    Factor value{0, 0};
    if (mine) {
#pragma unroll 1
      for (int d = 0; d < p.m; ++d) {
        const double a =
            rows ? stage[(row0 + row) * p.a.pitch + d] : stage[d / 2 * p.a.pitch + 2 * (row0 + row) + d % 2];
        value.re += a * p.small.scaled(d, column, alpha);
      }
      if (!beta.is_zero()) {
        const double* const old = p.out.b.data + p.out.b.offset(first_row + row, column - column % 2);
        const Factor scaled = scale(beta, {old[0], old[1]});
        value.re += column % 2 == 0 ? scaled.re : scaled.im;
      }
    }
    __syncwarp();  // both parts of a complex entry are read before either is written
    if (mine) p.out.b.data[p.out.b.offset(first_row + row, column)] = value.re;
  }
}

/// A block takes `depth` times 8 rows of C and 16 `pieces` complex columns.
template <int depth, int pieces>
__global__ void __launch_bounds__(block_threads, 1)
    tsmm_gauss_registers_kernel(const __grid_constant__ TsmmBoxes<double> p) {
#if __CUDA_ARCH__ >= 900
  static_assert(2 * pieces == computing_warps);
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ RingBarriers barriers;
  __shared__ Barrier handed_over[pieces][2][2];  // by either half; in turns, for one may be a turn ahead
  __shared__ std::uint32_t chunk_of[max_stages];
  __shared__ std::uint32_t tickets[2];
  release_next_kernel();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const BoxStages<double> stages{barriers, chunk_of, memory, p.a.numbers() * static_cast<int>(sizeof(double)), 0};
  if (threadIdx.x == 0) {
    for (int i = 0; i < pieces; ++i) {
      for (int j = 0; j < 4; ++j) handed_over[i][j / 2][j % 2].initialize(warp_size);
    }
    barriers.initialize(p.stages, computing_warps);
  }
  await_previous_kernel();
  __syncthreads();
  const bool reads_a = !p.alpha.read().is_zero();

  if (warp >= computing_warps) {
    give_registers<40>();
    if (reads_a && warp == computing_warps) load_chunks<1, false>(p, stages, tickets);
    return;
  }

  take_registers<232>();
  // The halves of a pair share a tensor core, so that all of these have the same to do.
  const int piece = warp % pieces;
  const int half = warp / pieces;
  const int first_column = 16 * piece;
  const int first_depth = 4 * depth * half;
  const GaussPlaces places(p, first_depth, first_column, lane);
  const Factor beta = p.beta.read();
  const bool adds = !beta.is_zero();
  const int rows = p.out.box_rows;
  const int turns = rows / 16;
  const auto set_of = [&](int turn, int role) { return 2 * turn + (half ^ role); };
  const auto write = [&](std::int64_t first_row, const double(&re)[4], const double(&im)[4]) {
    if (p.out.in_pairs) {
      places.visit(p, first_row, [&](int v, double* to) { write_pair(to, re[v], im[v]); });
    } else {
      places.visit(p, first_row, [&](int v, double* to) {
        to[0] = re[v];
        to[1] = im[v];
      });
    }
  };
  const auto add_old = [&](std::int64_t first_row, double(&re)[4], double(&im)[4]) {
    places.visit(p, first_row, [&](int v, const double* old) {
      const Factor scaled = scale(beta, {old[0], old[1]});
      re[v] += scaled.re;
      im[v] += scaled.im;
    });
  };
  if (!reads_a) {
    for (std::uint32_t chunk = blockIdx.x; chunk < p.chunks; chunk += gridDim.x) {
      for (int turn = 0; turn < turns; ++turn) {
        const std::int64_t first_row = std::int64_t{chunk} * rows + 8 * set_of(turn, 1);
        double re[4] = {}, im[4] = {};
        if (adds) add_old(first_row, re, im);
        write(first_row, re, im);
      }
    }
    return;
  }

  GaussFactor<depth> c;
  c.read(p, first_depth, first_column, lane);
  auto* const handed = reinterpret_cast<double2*>(memory + p.stages * stages.bytes()) + piece * handed_numbers + lane;
  double2* const given = handed + 2 * half * set_numbers;
  const double2* const taken = handed + 2 * (half ^ 1) * set_numbers;
  RingPosition at{0, 0};
  unsigned turns_done = 0;
  for (;;) {
    barriers.full[at.stage].wait(at.parity);
    const std::uint32_t chunk = chunk_of[at.stage];
    if (chunk == no_chunk) break;
    const double* const stage = reinterpret_cast<const double*>(memory + at.stage * stages.bytes());
#pragma unroll 1
    for (int turn = 0; turn < turns; ++turn, ++turns_done) {
      const unsigned place = turns_done % 2;
#pragma unroll
      for (int role = 0; role < 2; ++role) {
        const int set = set_of(turn, role);
        const double* const a = stage + places.first_a + set * places.set_step;
        double re_a[depth], im_a[depth], sum_a[depth];
#pragma unroll
        for (int d = 0; d < depth; ++d) {
          const double2 both = *reinterpret_cast<const double2*>(a + d * places.depth_step);
          re_a[d] = both.x;
          im_a[d] = both.y;
        }
#pragma unroll
        for (int d = 0; d < depth; ++d) sum_a[d] = re_a[d] + im_a[d];
        double re[4] = {};
        multiply_deep<depth>(re, c.re, sum_a);
        double im[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) im[v] = re[v];
        if (role == 1) {
          handed_over[piece][half ^ 1][place].wait(turns_done / 2 % 2);
#pragma unroll
          for (int v = 0; v < 4; ++v) {
            const double2 begun = taken[place * set_numbers + v * warp_size];
            re[v] += begun.x;
            im[v] += begun.y;
          }
        }
        multiply_deep<depth>(im, c.difference, re_a);
        multiply_deep<depth>(re, c.negative_sum, im_a);
        if (role == 0) {
#pragma unroll
          for (int v = 0; v < 4; ++v) given[place * set_numbers + v * warp_size] = make_double2(re[v], im[v]);
          handed_over[piece][half][place].arrive();
          continue;
        }
        const std::int64_t first_row = std::int64_t{chunk} * rows + 8 * set;
        unsigned largest = 0;  // exponent, without the sign; integers leave double precision's pipe to the tensor cores
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          largest = max(largest, static_cast<unsigned>(__double2hiint(re[v])) << 1);
          largest = max(largest, static_cast<unsigned>(__double2hiint(im[v])) << 1);
        }
        if (__all_sync(0xffffffffU, largest < 0xffe00000U)) {
          if (adds) add_old(first_row, re, im);
          write(first_row, re, im);
        } else {
          multiply_set_plainly(p, stage, 8 * set, first_row, first_column, beta, lane);
        }
      }
    }
    barriers.empty[at.stage].arrive();
    at.advance(1, p.stages);
  }
#endif
}

}  // namespace blockvec::kernels::cuda
