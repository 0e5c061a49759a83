#pragma once

#include <cstdint>

#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/spmmv/product.cuh"

/// Kernel `sell`: row-major blocks. `lanes` lanes share a row, each with `vector` neighbouring columns.
///
/// A warp takes `rows` rows of a chunk. For each k it reads their k-th entries with one access each for columns and
/// values. Then it goes over the rows in `passes` passes: the lanes of a row get its entry by shuffle and read their
/// part of X's row. The reads of all passes are under way at the same time. The next entries are read meanwhile.
namespace blockvec::kernels::cuda {

inline constexpr int sell_threads = 256;

template <int lanes>
struct SellShape {
  static constexpr int passes = lanes < 4 ? lanes : 4;
  static constexpr int rows = 32 * passes / lanes;
  static constexpr int parts_of_chunk = 32 / rows;
  static constexpr int ahead = 4 / passes;  ///< entries of a row that are read at a time
};

template <class Real, int parts, int vector, int lanes, bool whole>
__global__ void __launch_bounds__(sell_threads, 4) sell_kernel(SparseProduct<Real> p) {
  using S = Scalar<Real, parts>;
  using Shape = SellShape<lanes>;
  constexpr int passes = Shape::passes;
  constexpr int ahead = Shape::ahead;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t unit =
      static_cast<std::int64_t>(blockIdx.x) * (sell_threads / 32) + static_cast<int>(threadIdx.x) / 32;
  const std::int64_t chunk = unit / Shape::parts_of_chunk;
  if (chunk >= p.chunks) return;
  const int first_row = static_cast<int>(unit % Shape::parts_of_chunk) * Shape::rows;
  const int row_of_pass = lane / lanes;
  const int first_column = (static_cast<int>(blockIdx.y) * lanes + lane % lanes) * vector;
  const bool has_column = first_column < p.width;
  const Real* const x = p.x + first_column * parts;

  const std::int64_t begin = __ldg(p.chunk_begin + chunk);
  const int length = p.multiplies ? static_cast<int>((__ldg(p.chunk_begin + chunk + 1) - begin) / 32) : 0;
  const std::int64_t place = begin + first_row + lane % Shape::rows;
  const std::uint64_t policy = evict_first();
  std::int32_t next_column[ahead];
  S next_value[ahead];
  const auto fetch = [&](int k) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      next_column[i] = -1;
      next_value[i] = S{};
      if (k + i < length) {
        const std::int64_t at = place + static_cast<std::int64_t>(k + i) * 32;
        next_column[i] = load_once(p.column + at, policy);
        next_value[i] = load_entry<Real, parts>(p.value, at, policy);
      }
    }
  };
  S sum[passes][vector];
  fetch(0);
  for (int k = 0; k < length; k += ahead) {
    std::int32_t column[ahead];
    S value[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      column[i] = next_column[i];
      value[i] = next_value[i];
    }
    fetch(k + ahead);
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      S from_x[passes][vector];
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        const int source = pass * (32 / lanes) + row_of_pass;
        const std::int32_t j = lanes == 1 ? column[i] : __shfl_sync(~0U, column[i], source);
        if (j >= 0 && has_column) load<whole>(from_x[pass], x + j * p.x_row);
      }
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        const int source = pass * (32 / lanes) + row_of_pass;
        const S a = lanes == 1 ? value[i] : shuffle(value[i], source);
        // Padding has the value 0, and its row of X was not read: it is 0.
#pragma unroll
        for (int v = 0; v < vector; ++v) add_product(sum[pass][v], a, from_x[pass][v]);
      }
    }
  }
#pragma unroll
  for (int pass = 0; pass < passes; ++pass) {
    const std::int64_t row = p.row_at(chunk * 32 + first_row + pass * (32 / lanes) + row_of_pass);
    if (row < 0 || !has_column) continue;
    finish<whole>(p, sum[pass], p.diagonal_x + row * p.x_row + first_column * parts,
                  p.z + row * p.z_row + first_column * parts, p.y + row * p.y_row + first_column * parts);
  }
}

}  // namespace blockvec::kernels::cuda
