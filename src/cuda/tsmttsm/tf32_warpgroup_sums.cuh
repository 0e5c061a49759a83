#pragma once

#include "src/cuda/tsmttsm/warpgroup_units.cuh"

/// The sums of tsmttsm/tf32_warpgroup.cuh: 3xTF32 products in single precision. From time to time they are added up in
/// double precision. Up to 32 pairs of columns of A stand for two rows of the result each.
namespace blockvec::kernels::cuda {

/// A lane's sums: two of the warp's 16 rows and a quarter of the columns.
template <int columns>
struct WarpgroupProduct {
  static constexpr int count = columns / 2;
  float early[1][count];
  double sum[count] = {};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  /// Starts the products of 8 rows: left[high, low][...] times a factor of 8 transposed rows of B.
  __device__ void start(const unsigned (&left)[2][4], std::uint64_t right) {
    start_product<1>(early[0], left[1], right);
    start_product<1>(early[0], left[0], right + TurnedRows<columns>::part / 16);
    start_product<1>(early[0], left[0], right);
  }
#endif

  /// Adds the single-precision sums to the double-precision ones if, in the whole warp, all for which count(i) are
  /// finite.
  template <class Counts>
  __device__ bool join(const Counts& counts) {
    return join_if_finite(early[0], sum, counts);
  }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < count; ++i) early[0][i] = 0;
  }
};

/// Where a lane's sums stand in the result. For pairs of neighbours in B, all first columns come before all second
/// columns.
template <int columns, bool neighbours>
struct PlaceOfSums {
  int left;   ///< first column of the lane's pair of A
  int right;  ///< the lane's first sum in a row

  __device__ int row(int i) const { return left + i % 4 / 2 * (neighbours ? 1 : 8); }
  __device__ int column(int i) const {
    const int place = right + i / 4 * 8 + i % 2;
    return neighbours ? 2 * (place % (columns / 2)) + place / (columns / 2) : place;
  }
  __device__ bool counts(const TsmttsmRing<float>& p, int i) const { return row(i) < p.m && column(i) < p.n; }
};

/// Adds `rows` rows in double precision and from memory, where join could not.
template <int columns, bool neighbours>
__device__ inline void add_plainly(WarpgroupProduct<columns>& product, const PlaceOfSums<columns, neighbours>& place,
                                   const TsmttsmRing<float>& p, std::int64_t first_row, int rows) {
  const std::int64_t end = min(first_row + rows, p.k);
#pragma unroll 1
  for (std::int64_t i = first_row; i < end; ++i) {
#pragma unroll
    for (int v = 0; v < product.count; ++v) {
      if (!place.counts(p, v)) continue;
      product.sum[v] += static_cast<double>(p.whole_a.data[p.whole_a.offset(i, place.row(v))]) *
                        p.whole_b.data[p.whole_b.offset(i, place.column(v))];
      asm volatile("" : "+d"(product.sum[v])::"memory");  // one at a time: this is rare and must not take registers
    }
  }
}

/// Once all stages have been read, the second of two groups gives its sums to the first one through their memory.
/// Returns whether this is the first group.
template <int columns>
__device__ inline bool add_second_group(WarpgroupProduct<columns>& product, unsigned char* memory, int group) {
  double* const sums = reinterpret_cast<double*>(memory) + threadIdx.x % warpgroup_threads;
  meet(1, 2 * warpgroup_threads);
  if (group == 1) {
#pragma unroll
    for (int i = 0; i < product.count; ++i) sums[i * warpgroup_threads] = product.sum[i];
  }
  meet(1, 2 * warpgroup_threads);
  if (group == 1) return false;
#pragma unroll
  for (int i = 0; i < product.count; ++i) product.sum[i] += sums[i * warpgroup_threads];
  return true;
}

/// Writes a group's part of the block's partial sum.
template <int columns, bool neighbours>
__device__ inline void store(const WarpgroupProduct<columns>& product, const PlaceOfSums<columns, neighbours>& place,
                             const TsmttsmRing<float>& p, const Share& share) {
  double* const partial = p.partial + static_cast<std::int64_t>(share.part) * p.m * p.n;
#pragma unroll
  for (int i = 0; i < product.count; ++i) {
    if (place.counts(p, i)) partial[place.row(i) * p.n + place.column(i)] = product.sum[i];
  }
}

}  // namespace blockvec::kernels::cuda
