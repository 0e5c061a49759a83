#include <cuda_runtime.h>

#include "bench/cuda_sweep_device.hpp"

namespace bench {
namespace {

constexpr int chains = 8;
constexpr int chain_length = 1 << 14;
constexpr int threads = 256;
constexpr int tile_steps = 1 << 14;

/// A block reads `loads` neighbouring pieces of one double a thread at a time.
template <int loads>
__global__ void __launch_bounds__(sum_block_threads) sum_kernel(const double* from, std::size_t count, double* sink) {
  constexpr std::size_t piece = static_cast<std::size_t>(loads) * sum_block_threads;
  double sum = 0;
  for (std::size_t i = blockIdx.x * piece + threadIdx.x; i + piece <= count + threadIdx.x; i += gridDim.x * piece) {
    double x[loads];
#pragma unroll
    for (int j = 0; j < loads; ++j) x[j] = __ldg(from + i + j * sum_block_threads);
#pragma unroll
    for (int j = 0; j < loads; ++j) sum += x[j];
  }
  if (sum == 1e300) *sink = sum;  // hardly ever, but the compiler cannot know
}

__global__ void multiply_add_kernel(double* sink, double factor) {
  double x[chains];
#pragma unroll
  for (int j = 0; j < chains; ++j) x[j] = static_cast<double>(threadIdx.x + j);
#pragma unroll 16
  for (int i = 0; i < chain_length; ++i) {
#pragma unroll
    for (int j = 0; j < chains; ++j) x[j] = fma(x[j], factor, factor);
  }
  double all = 0;
#pragma unroll
  for (int j = 0; j < chains; ++j) all += x[j];
  if (all == 1e300) *sink = all;
}

template <int tile_m, int tile_n>
__global__ void __launch_bounds__(sum_block_threads) tile_kernel(double* sink, double start) {
  double a[tile_m];
  double b[tile_n];
  double sum[tile_m][tile_n] = {};
#pragma unroll
  for (int i = 0; i < tile_m; ++i) a[i] = start * static_cast<double>(threadIdx.x + i);
#pragma unroll
  for (int j = 0; j < tile_n; ++j) b[j] = start * static_cast<double>(threadIdx.x * 2 + j);
#pragma unroll 1
  for (int k = 0; k < tile_steps; ++k) {
#pragma unroll
    for (int i = 0; i < tile_m; ++i) {
#pragma unroll
      for (int j = 0; j < tile_n; ++j) sum[i][j] = fma(a[i], b[j], sum[i][j]);
    }
  }
  double all = 0;
#pragma unroll
  for (int i = 0; i < tile_m; ++i) {
#pragma unroll
    for (int j = 0; j < tile_n; ++j) all += sum[i][j];
  }
  if (all == 1e300) *sink = all;
}

// Doubles that are not negative are in the order of their bits.
__global__ void difference_kernel(const double* x, const double* y, std::size_t count, unsigned long long* most) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * threads;
  double largest = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; i < count; i += stride) {
    const double difference = fabs(x[i] - y[i]);
    largest = difference <= largest      ? largest
              : difference == difference ? difference
                                         : __longlong_as_double(0x7FF0LL << 48);
  }
  if (largest > 0) atomicMax(most, static_cast<unsigned long long>(__double_as_longlong(largest)));
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

}  // namespace

void sum_all(const double* from, std::size_t count, double* sink, int loads, int blocks, CUstream_st* stream) {
  const auto grid = static_cast<unsigned>(blocks);
  if (loads == 1) sum_kernel<1><<<grid, sum_block_threads, 0, stream>>>(from, count, sink);
  if (loads == 4) sum_kernel<4><<<grid, sum_block_threads, 0, stream>>>(from, count, sink);
  if (loads == 8) sum_kernel<8><<<grid, sum_block_threads, 0, stream>>>(from, count, sink);
}

double multiply_add_all(double* sink, CUstream_st* stream) {
  const int blocks = 8 * multiprocessors();
  multiply_add_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(sink, 0.5);
  return 2.0 * blocks * threads * chains * chain_length;
}

double multiply_tiles(double* sink, int tile_m, int blocks, CUstream_st* stream) {
  constexpr int tile_n = 8;
  constexpr double start = 1e-3;
  const auto grid = static_cast<unsigned>(blocks * multiprocessors());
  if (tile_m == 4) {
    tile_kernel<4, tile_n><<<grid, sum_block_threads, 0, stream>>>(sink, start);
  } else {
    tile_kernel<8, tile_n><<<grid, sum_block_threads, 0, stream>>>(sink, start);
  }
  return 2.0 * grid * sum_block_threads * tile_m * tile_n * tile_steps;
}

void largest_difference(const double* x, const double* y, std::size_t count, double* most, CUstream_st* stream) {
  cudaMemsetAsync(most, 0, sizeof *most, stream);
  difference_kernel<<<static_cast<unsigned>(8 * multiprocessors()), threads, 0, stream>>>(
      x, y, count, reinterpret_cast<unsigned long long*>(most));
}

}  // namespace bench
