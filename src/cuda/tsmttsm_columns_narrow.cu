#include <type_traits>

#include "src/cuda/succession.cuh"
#include "src/cuda/tsmttsm_columns_narrow.cuh"
#include "src/dispatch/cuda_tsmttsm_columns_narrow.hpp"

/// Where columns are so few that most of what tensor cores multiply would be nothing: threads own rows, and all sums.
namespace blockvec::kernels::cuda {
namespace {

constexpr int threads = dispatch::narrow_threads;
constexpr int warps = threads / 32;

template <class Real, int parts>
using Scalar = std::conditional_t<parts == 1, Real, std::conditional_t<sizeof(Real) == 4, float2, double2>>;

template <class Real, int parts, int columns>
struct Sums {
  double sum[columns][columns][parts] = {};

  __device__ void add(const Scalar<Real, parts> (&a)[columns], const Scalar<Real, parts> (&b)[columns],
                      [[maybe_unused]] double sign) {
#pragma unroll
    for (int i = 0; i < columns; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        if constexpr (parts == 1) {
          sum[i][j][0] = fma(static_cast<double>(a[i]), static_cast<double>(b[j]), sum[i][j][0]);
        } else {
          const double re = a[i].x;
          const double im = sign * a[i].y;
          sum[i][j][0] = fma(re, static_cast<double>(b[j].x), fma(-im, static_cast<double>(b[j].y), sum[i][j][0]));
          sum[i][j][1] = fma(re, static_cast<double>(b[j].y), fma(im, static_cast<double>(b[j].x), sum[i][j][1]));
        }
      }
    }
  }
};

template <class Real, int parts, int columns>
__global__ void __launch_bounds__(threads, dispatch::narrow_blocks(sizeof(Real), parts, columns))
    tsmttsm_narrow_kernel(const __grid_constant__ TsmttsmNarrow<Real> p) {
  constexpr int at_once = dispatch::narrow_rows;
  constexpr int sums = columns * columns * parts;
  using T = Scalar<Real, parts>;
  __shared__ double of_warps[warps][sums];
  release_next_kernel();
  const T* const a = reinterpret_cast<const T*>(p.a);
  const T* const b = reinterpret_cast<const T*>(p.b);
  Sums<Real, parts, columns> own;
  await_previous_kernel();
  if (p.alpha.read().is_zero()) return;

  const std::int64_t step = std::int64_t{gridDim.x} * threads * at_once;
  const std::int64_t whole = p.k - (at_once - 1) * threads;
  std::int64_t row = std::int64_t{blockIdx.x} * threads * at_once + threadIdx.x;
  T x[at_once][columns];
  T y[at_once][columns];
#pragma unroll 1
  for (; row < whole; row += step) {
#pragma unroll
    for (int u = 0; u < at_once; ++u) {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        x[u][j] = a[j * p.distance_a + row + u * threads];
        y[u][j] = b[j * p.distance_b + row + u * threads];
      }
    }
#pragma unroll
    for (int u = 0; u < at_once; ++u) own.add(x[u], y[u], p.sign);
  }
#pragma unroll 1
  for (int u = 0; u < at_once; ++u, row += threads) {
    if (row >= p.k) break;
#pragma unroll
    for (int j = 0; j < columns; ++j) {
      x[0][j] = a[j * p.distance_a + row];
      y[0][j] = b[j * p.distance_b + row];
    }
    own.add(x[0], y[0], p.sign);
  }

  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < sums; ++i) {
    double sum = (&own.sum[0][0][0])[i];
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, apart);
    if (lane == 0) of_warps[threadIdx.x / 32][i] = sum;
  }
  __syncthreads();
  double* const partial = p.partial + std::int64_t{blockIdx.x} * sums * parts;
  for (int i = static_cast<int>(threadIdx.x); i < sums * parts; i += threads) {
    const int row_of_view = i / (columns * parts);
    double sum = 0;
    if (row_of_view % parts == 0) {
      const int entry = row_of_view / parts * columns * parts + i % (columns * parts);
      for (int w = 0; w < warps; ++w) sum += of_warps[w][entry];
    }
    partial[i] = sum;
  }
}

}  // namespace

template <class Real>
TsmttsmNarrowKernel<Real> tsmttsm_narrow_kernel_of(int parts, int columns) {
  if constexpr (sizeof(Real) == 4) {
    if (parts == 2 && columns == 2) return tsmttsm_narrow_kernel<Real, 2, 2>;
  }
  if (parts == 1 && columns == 3) return tsmttsm_narrow_kernel<Real, 1, 3>;
  return nullptr;
}

template TsmttsmNarrowKernel<float> tsmttsm_narrow_kernel_of<float>(int, int);
template TsmttsmNarrowKernel<double> tsmttsm_narrow_kernel_of<double>(int, int);

}  // namespace blockvec::kernels::cuda
