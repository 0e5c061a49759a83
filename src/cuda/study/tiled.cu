#include <cuda_runtime.h>

#include "src/cuda/study/tiled.hpp"

namespace blockvec::kernels::cuda::study {
namespace {

constexpr int side = 16;

template <bool coalesced>
__global__ void naive_kernel(const TiledArguments p) {
  const int x = static_cast<int>(blockIdx.x) * side + static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(blockIdx.y) * side + static_cast<int>(threadIdx.y);
  const std::int64_t row = coalesced ? y : x;
  const int column = coalesced ? x : y;
  if (row >= p.m || column >= p.n) return;
  float sum = 0;
  for (int l = 0; l < p.k; ++l) sum = fmaf(p.a[row * p.k + l], p.b[static_cast<std::int64_t>(l) * p.n + column], sum);
  p.c[row * p.n + column] = sum;
}

__global__ void tiled_kernel(const TiledArguments p) {
  __shared__ float a[side][side], b[side][side];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * side + y;
  const int column = static_cast<int>(blockIdx.x) * side + x;
  float sum = 0;
  for (int first = 0; first < p.k; first += side) {
    a[y][x] = row < p.m && first + x < p.k ? p.a[row * p.k + first + x] : 0;
    b[y][x] = first + y < p.k && column < p.n ? p.b[static_cast<std::int64_t>(first + y) * p.n + column] : 0;
    __syncthreads();
#pragma unroll
    for (int l = 0; l < side; ++l) sum = fmaf(a[y][l], b[l][x], sum);
    __syncthreads();
  }
  if (row < p.m && column < p.n) p.c[row * p.n + column] = sum;
}

}  // namespace

void tiled(TiledStep step, const TiledArguments& arguments, CUstream_st* stream) {
  if (arguments.m == 0 || arguments.n == 0) return;
  const bool rows_along_x = step == TiledStep::naive;
  const auto blocks = [](int extent) { return static_cast<unsigned>((extent + side - 1) / side); };
  const dim3 grid(blocks(rows_along_x ? arguments.m : arguments.n), blocks(rows_along_x ? arguments.n : arguments.m));
  const dim3 threads(side, side);
  switch (step) {
    case TiledStep::naive:
      naive_kernel<false><<<grid, threads, 0, stream>>>(arguments);
      break;
    case TiledStep::coalesced:
      naive_kernel<true><<<grid, threads, 0, stream>>>(arguments);
      break;
    case TiledStep::tiled:
      tiled_kernel<<<grid, threads, 0, stream>>>(arguments);
      break;
  }
}

}  // namespace blockvec::kernels::cuda::study
