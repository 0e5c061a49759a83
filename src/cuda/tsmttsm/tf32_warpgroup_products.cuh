#pragma once

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/ptx/wgmma_tf32.cuh"
#include "src/cuda/tsmttsm/ring.cuh"

/// What tells the products of tsmttsm/tf32_warpgroup.cuh apart: real ones, and complex ones by 3M
/// (tsmttsm/ring_3m.cuh). Both are 3xTF32 products (math/tf32x3.cuh) with sums in single precision, which are added up
/// in double precision from time to time.
namespace blockvec::kernels::cuda {

inline constexpr int transposed_rows = dispatch::gauss_unit_rows;

/// Layout of B's transposed rows for one warpgroup: [8 rows][high, low][4 rows][column][4].
template <int columns>
struct TransposedRows {
  static constexpr int four_rows = columns * 16;  ///< bytes
  static constexpr int part = 2 * four_rows;
  static constexpr int step = 2 * part;
  static constexpr int bytes = transposed_rows / 8 * step;
};

/// Splits four numbers into the left factors of 3xTF32.
__device__ inline void split_left(const float (&x)[4], unsigned (&left)[2][4]) {
  unrolled<4>([&](int v) { split(x[v], left[0][v], left[1][v]); });
}

/// Real products. Two columns that a lane reads are a pair. They are `neighbours` where rows are aligned to pairs, like
/// the two parts of a complex column. Else they are some columns apart, so that lanes meet different banks. Up to 32
/// pairs of columns of A stand for two rows of the result each. For pairs of neighbours in B, all first columns come
/// before all second columns. The double-precision sums stay in registers.
template <int columns_of_b, bool are_neighbours>
struct RealProducts {
  static constexpr int columns = columns_of_b;
  static constexpr bool neighbours = are_neighbours;
  static constexpr int parts = 1;             ///< real columns that a row or column of an MMA tile stands for
  static constexpr int products = 1;          ///< real products
  static constexpr int pairs = columns / 2;   ///< of columns of B
  static constexpr int from_pair = 2;         ///< transposed columns that a pair becomes
  static constexpr int to_next = 16 * pairs;  ///< bytes from one of them to the next
  static constexpr int buffer_rows = transposed_rows;
  static constexpr int buffers = dispatch::warpgroup_warps * dispatch::buffers_of_transposing_warp;
  static constexpr int sharing = 1;          ///< warps that transpose the same rows
  static constexpr bool reads_ahead = true;  ///< a transposing warp reads all of its numbers before it writes some
  static constexpr bool few_buffers = false;
  static constexpr bool looks_first = false;
  static constexpr int transposing_registers = 112;
  static constexpr int multiplying_registers = 176;
  static constexpr int count = columns / 2;  ///< a lane's sums: two of the warp's 16 rows and a quarter of the columns
  static constexpr int shared_sums = 0;      ///< sums of a lane in shared memory

  /// Where a lane's sums stand in the result.
  struct Place {
    int left;   ///< the lane's first column of A
    int right;  ///< the lane's first sum in a row

    __device__ int row(int i) const { return left + i % 4 / 2 * (neighbours ? 1 : 8); }
    __device__ int column(int i) const {
      const int place = right + i / 4 * 8 + i % 2;
      return neighbours ? 2 * (place % pairs) + place / pairs : place;
    }
  };

  float early[products][count];
  double sum[count] = {};

  __device__ RealProducts(double, double2*) {}

  __device__ void split_pairs(const float2 (&x)[2], unsigned (&left)[products][2][4]) const {
    split_left({x[0].x, x[0].y, x[1].x, x[1].y}, left[0]);
  }
  /// Adds 0 times sum i.
  __device__ void test(int i, float& zero) const { zero = fmaf(early[0][i], 0.0F, zero); }
  /// Adds the single-precision sums to the double-precision sums.
  __device__ void join() {
    unrolled<count>([&](int i) { sum[i] += early[0][i]; });
  }
  /// Adds a row of the operands in double precision, straight from memory.
  __device__ void add_row(const TsmttsmRing<float>& p, const Place& place, std::int64_t row) {
    unrolled<count>([&](int i) {
      if (place.row(i) >= p.m || place.column(i) >= p.n) return;
      sum[i] += static_cast<double>(p.whole_a.data[p.whole_a.offset(row, place.row(i))]) *
                p.whole_b.data[p.whole_b.offset(row, place.column(i))];
      asm volatile("" : "+d"(sum[i])::"memory");  // one at a time: this is rare and must not take registers
    });
  }

  /// Writes a group's part of the block's partial sum. Unless the groups have columns of A of their own (`apart`), the
  /// second one first gives its sums to the first one through the memory of the stages.
  template <bool apart>
  __device__ void finish(const TsmttsmRing<float>& p, const Place& place, double* partial, unsigned char* memory,
                         int group) {
    if constexpr (!apart) {
      double* const sums = reinterpret_cast<double*>(memory) + threadIdx.x % warpgroup_threads;
      meet(1, 2 * warpgroup_threads);
      if (group == 1) {
        unrolled<count>([&](int i) { sums[i * warpgroup_threads] = sum[i]; });
      }
      meet(1, 2 * warpgroup_threads);
      if (group == 1) return;
      unrolled<count>([&](int i) { sum[i] += sums[i * warpgroup_threads]; });
    }
    unrolled<count>([&](int i) {
      if (place.row(i) < p.m && place.column(i) < p.n) partial[place.row(i) * p.n + place.column(i)] = sum[i];
    });
  }
};

/// Complex products by 3M, whose right factors are re, im and re + im of B. The double-precision sums lie in shared
/// memory as [sum of a lane][thread].
template <int columns_of_b>
struct GaussProducts {
  static constexpr int columns = columns_of_b;
  static constexpr bool neighbours = true;
  static constexpr int parts = 2;
  static constexpr int products = 3;
  static constexpr int pairs = columns;
  static constexpr int from_pair = products;
  static constexpr int buffer_rows = dispatch::gauss_buffer_rows(columns);
  static constexpr int to_next = TransposedRows<columns>::bytes * buffer_rows / transposed_rows;
  static constexpr int buffers = dispatch::gauss_groups * dispatch::gauss_buffers;
  static constexpr int sharing = dispatch::gauss_shares_units(columns) ? 2 : 1;
  static constexpr bool reads_ahead = false;
  static constexpr bool few_buffers = true;  ///< those of finished products must not wait for rows to be transposed
  /// Whether products may go on running while a full buffer exists; measured on an H200.
  static constexpr bool looks_first = columns == 48 || columns == 56;
  static constexpr int transposing_registers = 56;
  static constexpr int multiplying_registers = 208;
  static constexpr int count = columns / 2;
  static constexpr int shared_sums = count;

  struct Place {
    int left, right;

    __device__ int row(int i) const { return left + 16 * (i % 4 / 2); }
    __device__ int column(int i) const { return 2 * (right + i / 4 * 8 + i % 2); }
  };

  float early[products][count];
  float sign;
  double2* sums;

  __device__ GaussProducts(double sign_of_a, double2* shared) : sign(static_cast<float>(sign_of_a)), sums(shared) {
    asm volatile("" : "+f"(sign));  // the compiler must not compute it again and again
  }

  __device__ void split_pairs(const float2 (&x)[4], unsigned (&left)[products][2][4]) const {
    split_left({x[0].x, x[1].x, x[2].x, x[3].x}, left[0]);
    split_left({x[0].y, x[1].y, x[2].y, x[3].y}, left[1]);
    split_left({fmaf(sign, x[0].y, x[0].x), fmaf(sign, x[1].y, x[1].x), fmaf(sign, x[2].y, x[2].x),
                fmaf(sign, x[3].y, x[3].x)},
               left[2]);
  }
  __device__ void test(int i, float& zero) const {
    const float2 both = product(i);
    zero = fmaf(both.x, 0.0F, fmaf(both.y, 0.0F, zero));
  }
  __device__ void join() {
    unrolled<count>([&](int i) {
      const double2 old = sums[i * warpgroup_threads];
      const float2 more = product(i);
      sums[i * warpgroup_threads] = make_double2(old.x + more.x, old.y + more.y);
    });
  }
  __device__ void add_row(const TsmttsmRing<float>& p, const Place& place, std::int64_t row) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      if (place.row(i) >= p.m || place.column(i) >= p.n) continue;
      double2& sum = sums[i * warpgroup_threads];
      const float* const a = p.whole_a.data + p.whole_a.offset(row, place.row(i));
      const float* const b = p.whole_b.data + p.whole_b.offset(row, place.column(i));
      const double im = p.sign * a[1];
      sum.x += static_cast<double>(a[0]) * b[0] - im * b[1];
      sum.y += static_cast<double>(a[0]) * b[1] + im * b[0];
    }
  }

  /// Unless the groups have columns of A of their own (`apart`), each writes half of the sums.
  template <bool apart>
  __device__ void finish(const TsmttsmRing<float>& p, const Place& place, double* partial, unsigned char*, int group) {
    if (!apart) meet(1, 2 * warpgroup_threads);
#pragma unroll 1
    for (int i = apart ? 0 : group; i < count; i += apart ? 1 : 2) {
      if (place.row(i) >= p.m || place.column(i) >= p.n) continue;
      const double2 sum = sums[i * warpgroup_threads];
      double* const to = partial + place.row(i) * p.n + place.column(i);
      to[0] = sum.x;
      to[1] = sum.y;
      to[p.n] = 0;
      to[p.n + 1] = 0;
    }
  }

 private:
  /// Combines the three real products to the complex one.
  __device__ float2 product(int i) const {
    const float im = sign * early[1][i];
    return make_float2(early[0][i] - im, early[2][i] - early[0][i] - im);
  }
};

}  // namespace blockvec::kernels::cuda
