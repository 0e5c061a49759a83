#pragma once

#include "src/cuda/tsmm/strided.cuh"
#include "src/cuda/tsmm/tf32_warpgroup.cuh"

/// tsmm in single precision for row-major operands of any stride and width, by 3xTF32 products (math/tf32x3.cuh) of
/// whole warpgroups: a policy and the packed C of tsmm/strided.cuh. Pairs of neighbours and C in two TF32 halves are
/// those of tsmm/tf32_warpgroup.cuh. Two warpgroups share the 128 rows of a box.
namespace blockvec::kernels::cuda {

/// Packs alpha C for WarpgroupTiles of `width` columns. 0: the parameters say how many.
template <int width = 0>
struct WarpgroupPack {
  using Real = float;

  __device__ static void pack(const TsmmBoxes<float>& p, int rows, double* packed, int thread, int threads) {
    pack_steps(rows / (2 * pairs_of_step), width != 0 ? width : 8 * p.section_pieces, reinterpret_cast<float*>(packed),
               thread, threads, PairedEntries<TsmmBoxes<float>>{p, p.m, p.out.n, p.alpha.read()});
  }
};

/// A block takes `tb` boxes of 128 rows and `columns` columns of B, counted in scalars. It is a policy of
/// tsmm_strided_kernel, as Fp64Tiles is.
template <int parts, int tb_, int columns>
struct WarpgroupTiles : WarpgroupPack<columns> {
  using Sum = float;
  static constexpr int tb = tb_, tn = parts * columns / 8;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static constexpr bool exists = true;
#else
  static constexpr bool exists = false;
#endif
  static constexpr bool wide = false, may_copy = false, may_stage = true, rows_only = true, may_overflow = true;
  static constexpr int blocks = 1, loading_registers = 40, registers = 232;
  static constexpr bool early = parts * tb * columns <= 64;
  static constexpr bool prefetches = true;
  static constexpr int old_halves = 2;
  static constexpr int together = 2;
  WarpgroupSums<parts, columns> sums[tb];

  __device__ static int first_c(int, int) { return 0; }

  __device__ void clear() {
    unrolled<tb>([&](int t) { sums[t].clear(); });
  }

  __device__ void multiply(const TsmmBoxes<float>& p, const float* const (&a)[2], const double* c, int width) {
    const int box = p.a.numbers();
    unrolled<tb>([&](int t) {
      const auto pairs_of = [&](int half) { return reinterpret_cast<const float2*>(a[half] + t * box); };
      const int lane = static_cast<int>(threadIdx.x) % warp_size;
      const PairedRows fragments{{pairs_of(0), pairs_of(1)}, (width + 1) / 2 - lane % 4, 0};
      multiply_steps(sums[t], fragments, shared_address(c), (width + 15) / 16);
    });
  }

  /// A lane has every fourth pair of neighbours in a row.
  __device__ bool finish(float (&result)[tb][tn][4]) const {
    bool finite = true;
    unrolled<tb>([&](int t) {
      finite = finite && sums[t].finite();
      unrolled<4 * tn>([&](int i) {
        const int x = i / 4, half = i / 2 % 2, which = i % 2;
        result[t][x][i % 4] =
            parts == 2 ? sums[t].sum[parts * which / 2][4 * (x / 2) + 2 * half + x % 2] : sums[t].sum[0][i];
      });
    });
    return __all_sync(0xffffffffU, finite);
  }
};

}  // namespace blockvec::kernels::cuda
