#pragma once

#include "src/cuda/tsmttsm/tf32_3m_warpgroup_units.cuh"

/// The sums of tsmttsm/tf32_3m_warpgroup.cuh: three real products in single precision. From time to time they are added
/// to the complex product in double precision.
namespace blockvec::kernels::cuda {

/// Where a lane's sums stand in the result, which is a complex matrix here.
struct PlaceOfGaussSums {
  int left, right;  ///< row and column of the first sum

  __device__ int row(int i) const { return left + 8 * (i % 4 / 2); }
  __device__ int column(int i) const { return right + i / 4 * 8 + i % 2; }
  __device__ bool counts(const TsmttsmRing<float>& p, int i) const { return 2 * row(i) < p.m && 2 * column(i) < p.n; }
};

/// The single-precision sums of the three products. Double-precision sums lie in shared memory as [sum of a
/// lane][thread].
template <int columns>
struct GaussSums {
  static constexpr int count = columns / 2;
  float early[gauss_products][count];

  /// Adds the single-precision sums to the double-precision sums. If `finite` is false, it adds the group's units from
  /// `first_unit` to `end_unit` again from memory.
  template <bool by_columns, int in_turn>
  __device__ void join(const TsmttsmRing<float>& p, const Share& share, const PlaceOfGaussSums& place, bool finite,
                       double2* sums, int first_unit, int end_unit) {
    if (finite) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const double2 old = sums[i * warpgroup_threads];
        const float2 more = product(p, i);
        sums[i * warpgroup_threads] = make_double2(old.x + more.x, old.y + more.y);
      }
      return;
    }
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      if (!place.counts(p, i)) continue;
      double2 sum = sums[i * warpgroup_threads];
#pragma unroll 1
      for (int unit = first_unit; unit < end_unit; unit += in_turn) {
        const int units = p.rows / unit_rows;
        const std::int64_t start =
            std::int64_t{share.chunk<by_columns>(p, unit / units)} * p.rows + unit % units * unit_rows;
        const std::int64_t end = min(start + unit_rows, p.k);
#pragma unroll 1
        for (std::int64_t row = start; row < end; ++row) {
          const float* const a = p.whole_a.data + p.whole_a.offset(row, 2 * place.row(i));
          const float* const b = p.whole_b.data + p.whole_b.offset(row, 2 * place.column(i));
          const double im = p.sign * a[1];
          sum.x += static_cast<double>(a[0]) * b[0] - im * b[1];
          sum.y += static_cast<double>(a[0]) * b[1] + im * b[0];
        }
      }
      sums[i * warpgroup_threads] = sum;
    }
  }

  /// Whether all products inside the result are finite in the whole warp. Columns beyond B repeat others (turn_rows).
  __device__ bool finite(const TsmttsmRing<float>& p, const PlaceOfGaussSums& place) const {
    float zero[2] = {};
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const float2 sum = product(p, i);
      float& of_row = zero[i % 4 / 2];
      of_row = fmaf(sum.x, 0.0F, fmaf(sum.y, 0.0F, of_row));
    }
    const bool finite = (zero[0] == 0 || 2 * place.row(0) >= p.m) && (zero[1] == 0 || 2 * place.row(2) >= p.m);
    return __all_sync(0xffffffffU, finite);
  }

  __device__ void clear() {
#pragma unroll
    for (int which = 0; which < gauss_products; ++which) {
#pragma unroll
      for (int i = 0; i < count; ++i) early[which][i] = 0;
    }
  }

 private:
  /// Combines the three real products to the complex one.
  __device__ float2 product(const TsmttsmRing<float>& p, int i) const {
    const float im = static_cast<float>(p.sign) * early[1][i];
    return make_float2(early[0][i] - im, early[2][i] - early[0][i] - im);
  }
};

}  // namespace blockvec::kernels::cuda
