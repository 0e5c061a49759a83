#include "src/cuda/ring_kernels.hpp"
#include "src/cuda/tsmm_boxes.cuh"
#include "src/dispatch/cuda_tsmm_once.hpp"

/// tsmm in place, V <- V C, of 64 columns in double precision: every block takes one chunk of rows, and the device
/// starts blocks in the order of the chunks. Then less is on its way at a time than in a ring, all that a block asks
/// for at once, which memory likes better where rows are written soon after they were read.
///
/// A warp takes 16 rows. C, packed in memory, stays in the first-level cache, which bulk copies pass by; results take
/// the place of A's rows and leave from there. A's columns are multiplied in the same order as in tsmm_held.cu, which
/// gives the same bits out of place.
namespace blockvec::kernels::cuda {
namespace {

constexpr int width = dispatch::once_columns;
constexpr int pieces = width / 8;  // of 8 columns of B
constexpr int warp_rows = dispatch::once_rows / computing_warps;
static_assert(warp_rows == 16);

__device__ inline double2 read_cached(const double* from) {
  double2 pair;
  asm volatile("ld.global.nc.L1::evict_last.v2.f64 {%0, %1}, [%2];" : "=d"(pair.x), "=d"(pair.y) : "l"(from));
  return pair;
}

/// Lanes of odd rows take the second eight of sixteen columns first: all rows begin in the same bank.
__device__ inline void multiply_once(double (&sum)[pieces][4], const double* rows, const double* c, int lane) {
  const int turn = lane / 4 % 2 * 8;
  const double* const first = rows + lane / 4 * width + lane % 4 * 2;
#pragma unroll
  for (int s = 0; s < width / 16; ++s) {
    double left[8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const double* const at = first + 8 * half * width + 16 * s;
      const double2 one = *reinterpret_cast<const double2*>(at + turn);
      const double2 other = *reinterpret_cast<const double2*>(at + 8 - turn);
      left[half] = turn != 0 ? other.x : one.x;
      left[2 + half] = turn != 0 ? other.y : one.y;
      left[4 + half] = turn != 0 ? one.x : other.x;
      left[6 + half] = turn != 0 ? one.y : other.y;
    }
#pragma unroll
    for (int x = 0; x < pieces; ++x) {
      const double* const entries = c + (2 * s * pieces + x) * 64 + 2 * lane;
      const double2 early = read_cached(entries);
      const double2 late = read_cached(entries + pieces * 64);
      const double right[4] = {early.x, early.y, late.x, late.y};
      multiply_16x8x16(sum[x], left, right);
    }
  }
}

/// Pieces come in twos, so that rows that begin in the same bank meet others there.
__device__ inline void put_once(const double (&sum)[pieces][4], double* rows, int lane) {
  double* const first = rows + lane / 4 * width + lane % 4 * 2;
#pragma unroll
  for (int x = 0; x < pieces; x += 2) {
#pragma unroll
    for (int z = 0; z < 2; ++z) {
      const bool second = (lane / 4 + z) % 2 != 0;
      double* const to = first + 8 * (x + (second ? 1 : 0));
      const double(&one)[4] = sum[x];
      const double(&other)[4] = sum[x + 1];
      write_pair(to, second ? other[0] : one[0], second ? other[1] : one[1]);
      write_pair(to + 8 * width, second ? other[2] : one[2], second ? other[3] : one[3]);
    }
  }
}

__global__ void __launch_bounds__(computing_threads, dispatch::once_blocks)
    tsmm_once_kernel(const __grid_constant__ TsmmBoxes<double> p) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ Barrier full;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * dispatch::once_rows;
  const auto rows = static_cast<int>(min(p.out.k - first_row, static_cast<std::int64_t>(dispatch::once_rows)));
  double* const v = p.out.b.data + first_row * width;
  double* const stage = reinterpret_cast<double*>(memory + reinterpret_cast<std::uintptr_t>(v) % line_bytes);
  release_next_kernel();
  if (threadIdx.x == 0) {
    full.initialize(1);
    publish_barriers();
  }
  await_previous_kernel();
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto bytes = static_cast<unsigned>(rows * width * static_cast<int>(sizeof(double)));
    full.arrive_and_expect(bytes);
    bulk_load(stage, v, bytes, full);
  }
  const int own = warp * warp_rows;
  if (own >= rows) return;
  full.wait(0);
  double sum[pieces][4] = {};
  multiply_once(sum, stage + own * width, p.packed, lane);
  __syncwarp();  // all of a row has been read
  put_once(sum, stage + own * width, lane);
  publish_to_bulk_copies();
  __syncwarp();
  if (elected()) {
    const int whole = min(rows - own, warp_rows) * width;
    bulk_store(v + own * width, stage + own * width, static_cast<unsigned>(whole) * sizeof(double));
    bulk_stores_have_read<0>();
  }
#endif
}

}  // namespace

template <class Real>
TsmmBoxesKernel<Real> tsmm_once_kernel_of() {
  return tsmm_once_kernel;
}
template TsmmBoxesKernel<double> tsmm_once_kernel_of<double>();

}  // namespace blockvec::kernels::cuda
