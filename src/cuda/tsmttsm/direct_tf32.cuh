#pragma once

#include "src/cuda/math/tf32x3.cuh"
#include "src/cuda/tsmttsm/direct.cuh"

/// The tiles of tsmttsm/direct.cuh in single precision by 3xTF32 (math/tf32x3.cuh), for devices that multiply slowly in
/// double precision.
namespace blockvec::kernels::cuda {

/// Sums of at most `rows_of_early_sums` rows are in single precision. They are added up in double precision, which the
/// lane holds in the same order.
template <Neighbours neighbours, int tile_m, int tile_n>
struct DirectTf32Tiles : DirectTiles<float, neighbours, tile_m, tile_n> {
  using Plain = DirectTiles<float, neighbours, tile_m, tile_n>;
  using LaneA = typename Plain::LaneA;
  using LaneB = typename Plain::LaneB;
  static constexpr int pieces = Plain::pieces;
  static constexpr int early_sets = dispatch::rows_of_early_sums / 16;

  /// The factors of 16 rows, 8 rows after the other, as multiply_tf32 takes them.
  struct Factors {
    float left[2][pieces][4];
    float right[2][tile_n][2];
    __device__ Factors(const typename LaneA::Loads& a, const typename LaneB::Loads& b) {
      unrolled<2>([&](int half) {
        unrolled<pieces, 4>([&](int x, int v) { left[half][x][v] = LaneA::entry(a, 2 * x + v % 2, 2 * half + v / 2); });
        unrolled<tile_n, 2>([&](int y, int j) { right[half][y][j] = LaneB::entry(b, y, 2 * half + j); });
      });
    }
  };

  float early[pieces][tile_n][4] = {};

  __device__ void add(const Factors& factors) {
    unrolled<2>([&](int half) {
      unsigned left[2][pieces][4];
      unsigned right[2][tile_n][2];
      unrolled<pieces, 4>([&](int x, int v) { split(factors.left[half][x][v], left[0][x][v], left[1][x][v]); });
      unrolled<tile_n, 2>([&](int y, int v) { split(factors.right[half][y][v], right[0][y][v], right[1][y][v]); });
      // Small products come first. Products that wait for one another stand far apart.
      unrolled<3, tile_n, pieces>([&](int product, int y, int x) {
        multiply_tf32(early[x][y], left[product == 0][x], right[product == 1][y]);
      });
    });
  }

  /// Adds the sums of single precision to the others, and begins new ones. Returns false if some of the warp's are not
  /// finite: then they are lost, and the caller adds their rows again.
  __device__ bool join() {
    float zero = 0;
    unrolled<pieces, tile_n, 4>([&](int x, int y, int v) { zero = fmaf(early[x][y][v], 0.0F, zero); });
    const bool finite = __all_sync(0xffffffffU, zero == 0);
    unrolled<pieces, tile_n, 4>([&](int x, int y, int v) {
      if (finite) this->sum[x][y][v] += early[x][y][v];
    });
    unrolled<pieces, tile_n, 4>([&](int x, int y, int v) { early[x][y][v] = 0; });
    return finite;
  }

  __device__ void add_again(const typename LaneA::Loads& a, const typename LaneB::Loads& b) { Plain::add({a, b}); }
};

}  // namespace blockvec::kernels::cuda
