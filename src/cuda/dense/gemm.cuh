#pragma once

#include "src/cuda/dense/gemm_product.cuh"
#include "src/cuda/ptx/mma_f64.cuh"

/// Y = S X for a large matrix S, line by line or number by number (by columns), on FP64 tensor cores.
///
/// A tile is 256 results; a unit is a tile times 128 bytes of depth (lines: as many lines). Units stand tile after
/// tile. A block takes an equal share of neighbouring units. Its sums stay in registers through the units of a tile and
/// then go to memory as partial sums, which the next kernel adds in the order of the blocks: A is read once, in equal
/// shares whatever its shape, and all sums have a fixed order.
///
///   loading warps --full--> 8 warps, each with 32 results --empty--> loading warps
namespace blockvec::kernels::cuda {

template <class Real, bool by_rows>
struct GemmLoad {
  static constexpr int pieces = by_rows ? 1 : dispatch::gemm_rows / piece<Real>;
  static constexpr int lines = by_rows ? dispatch::gemm_rows : piece<Real>;
  struct Unit {
    std::int64_t tile, step;
  };
  const GemmProduct<Real>& p;
  std::int64_t first;

  __device__ Unit begin() const { return {first / p.steps, first % p.steps}; }
  __device__ void advance(Unit& unit) const {
    if (++unit.step != p.steps) return;
    unit.step = 0;
    ++unit.tile;
  }
  __device__ static std::int64_t number(const Unit& unit) {
    return by_rows ? unit.step * piece<Real> : unit.tile * dispatch::gemm_rows;
  }
  __device__ static std::int64_t line(const Unit& unit) {
    return by_rows ? unit.tile * dispatch::gemm_rows : unit.step * piece<Real>;
  }
  __device__ const double* x(const Unit& unit) const {
    return p.packed + unit.step * (p.packed_bytes / static_cast<int>(sizeof(double)));
  }
  __device__ void copy_a(const Unit& unit, unsigned char* to, int thread, int threads) const {
    copy_pieces(p.a, to, number(unit), line(unit), pieces, lines, thread, threads);
  }
  __device__ void bulk_a(const Unit& unit, unsigned char* to, Barrier& barrier, int lane) const {
    if (lane == 0) barrier.arrive_and_expect(static_cast<unsigned>(p.stage_bytes));
    if (lane >= pieces) return;
    tensor_load(to + lane * lines * line_bytes, p.a.map, static_cast<int>(number(unit)) + lane * piece<Real>,
                static_cast<int>(line(unit)), barrier, evict_first());
  }
};

/// The products of a warp: 32 results, which are two tiles of 16.
template <class Real, bool by_rows, int tiles_n>
__device__ inline void multiply_stage(double (&sum)[2][tiles_n][4], const unsigned char* a, const double* x, int warp,
                                      int lane) {
  constexpr int steps = piece_tiles<Real>;
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    double left[2][8];
    if constexpr (by_rows) {
#pragma unroll
      for (int m = 0; m < 2; ++m) lines_as_results<Real>(left[m], a + (32 * warp + 16 * m) * line_bytes, step, lane);
    } else {
      constexpr int pieces = 32 / piece<Real>;
#pragma unroll
      for (int k = 0; k < pieces; ++k) {
        numbers_as_results<Real>(left + k * piece_tiles<Real>, a + (pieces * warp + k) * piece<Real> * line_bytes, step,
                                 lane);
      }
    }
#pragma unroll
    for (int n = 0; n < tiles_n; ++n) {
      double right[4];
      read_right(right, x, step * tiles_n + n, lane);
#pragma unroll
      for (int m = 0; m < 2; ++m) multiply_16x8x16(sum[m][n], left[m], right);
    }
  }
}

/// Writes the sums of a warp to 32 rows of a matrix of 8 tiles_n columns.
template <class Real, bool by_rows, int tiles_n>
__device__ inline void store_sums(double* to, double (&sum)[2][tiles_n][4], int lane) {
  const int g = lane / 4, q = lane % 4;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row =
          by_rows ? 16 * m + g + 8 * half
                  : m / piece_tiles<Real> * piece<Real> + number_of_result<Real>(m % piece_tiles<Real>, g, half);
#pragma unroll
      for (int n = 0; n < tiles_n; ++n) {
        *reinterpret_cast<double2*>(to + row * 8 * tiles_n + 8 * n + 2 * q) =
            make_double2(sum[m][n][2 * half], sum[m][n][2 * half + 1]);
        sum[m][n][2 * half] = sum[m][n][2 * half + 1] = 0;
      }
    }
  }
}

template <class Real, bool by_rows, int tiles_n>
__global__ void __launch_bounds__(block_threads, 1) gemm_kernel(const __grid_constant__ GemmProduct<Real> p) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ Barrier full[dispatch::max_stages];
  __shared__ Barrier empty[dispatch::max_stages];
  const DenseStages stages{aligned_memory(memory), full,           empty,          p.stages,
                           p.stage_bytes,          p.packed_bytes, loading_threads};
  release_next_kernel();
  prepare(stages, p.a.bulk);
  const std::int64_t first = dispatch::first_unit(p.units, gridDim.x, blockIdx.x);
  const int units = static_cast<int>(dispatch::first_unit(p.units, gridDim.x, blockIdx.x + 1) - first);
  if (threadIdx.x >= computing_threads) {
    give_registers<dense_loading_registers>();
    fill_stages(stages, p.a.bulk, units, GemmLoad<Real, by_rows>{p, first});
    return;
  }
  take_registers<dense_computing_registers>();
  const int warp = static_cast<int>(threadIdx.x) / warp_size, lane = static_cast<int>(threadIdx.x) % warp_size;
  double sum[2][tiles_n][4] = {};
  std::int64_t tile = first / p.steps;
  std::int64_t of_tile = first % p.steps;
  RingPosition at{0, 0};
  for (int i = 0; i < units; ++i, at.advance(1, p.stages)) {
    full[at.stage].wait(at.parity);
    multiply_stage<Real, by_rows, tiles_n>(sum, stages.a(at.stage), reinterpret_cast<const double*>(stages.x(at.stage)),
                                           warp, lane);
    empty[at.stage].give_back_as_warp();
    if (++of_tile == p.steps || i + 1 == units) {
      constexpr int columns = 8 * tiles_n;
      double* const set = p.partial + (blockIdx.x + tile) * dispatch::gemm_rows * columns;
      store_sums<Real, by_rows, tiles_n>(set + 32 * warp * columns, sum, lane);
      of_tile = 0;
      ++tile;
    }
  }
}

template <class Real, bool by_rows>
GemmKernel<Real> gemm_kernel_of(int tiles_n) {
  switch (tiles_n) {
    case 1:
      return gemm_kernel<Real, by_rows, 1>;
    case 2:
      return gemm_kernel<Real, by_rows, 2>;
    case 3:
      return gemm_kernel<Real, by_rows, 3>;
    case 4:
      return gemm_kernel<Real, by_rows, 4>;
    case 6:
      return gemm_kernel<Real, by_rows, 6>;
    case 8:
      return gemm_kernel<Real, by_rows, 8>;
    default:
      return nullptr;
  }
}

}  // namespace blockvec::kernels::cuda
