#include <cuda_runtime.h>

#include <cstdint>

#include "bench/cuda_roofs.hpp"
#include "src/cuda/ptx/mma_f64.cuh"

namespace bench {
namespace {

constexpr int threads = 512;

/// Each thread keeps `ahead` loads of 16 bytes in flight.
template <int ahead>
__global__ void read_kernel(const uint4* from, std::size_t count, unsigned* sink) {
  unsigned sum = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * threads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; i < count; i += ahead * stride) {
    uint4 x[ahead];
#pragma unroll
    for (int j = 0; j < ahead; ++j) {
      const std::size_t at = i + static_cast<std::size_t>(j) * stride;
      x[j] = at < count ? from[at] : uint4{};
    }
#pragma unroll
    for (int j = 0; j < ahead; ++j) sum ^= x[j].x ^ x[j].y ^ x[j].z ^ x[j].w;
  }
  if (sum == 0x12345678U) *sink = sum;  // hardly ever, but the compiler cannot know
}

constexpr int work_threads = 256;
constexpr int work_ahead = 8;

/// A warp reads 4 KiB at a time and makes `products` of 16 x 8 x 16 numbers of them; `writes`: it copies them, too.
template <int products, bool writes>
__global__ void __launch_bounds__(work_threads, 2)
    read_and_multiply_kernel(const double2* from, double2* to, std::size_t count, double* sink) {
  double sum[4][4] = {};
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * work_threads;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * work_threads + threadIdx.x;
  double2 x[work_ahead];
  const auto load = [&](std::size_t i, double2(&y)[work_ahead]) {
#pragma unroll
    for (int j = 0; j < work_ahead; ++j) {
      const std::size_t at = i + static_cast<std::size_t>(j) * stride;
      y[j] = at < count ? from[at] : double2{};
    }
  };
  load(first, x);
  for (std::size_t i = first; i < count; i += work_ahead * stride) {
    double2 next[work_ahead];
    load(i + work_ahead * stride, next);
    const auto number = [&](int j) { return j % 2 == 0 ? x[j / 2 % work_ahead].x : x[j / 2 % work_ahead].y; };
    double left[8];
    double right[4];
#pragma unroll
    for (int product = 0; product < products; ++product) {
#pragma unroll
      for (int v = 0; v < 8; ++v) left[v] = number(v + product / 8 * 8);
#pragma unroll
      for (int v = 0; v < 4; ++v) right[v] = number(8 + product / 8 * 8 + 2 * (product % 8) + v);
      blockvec::kernels::cuda::multiply_16x8x16(sum[product % 4], left, right);
    }
#pragma unroll
    for (int j = 0; j < work_ahead; ++j) {
      const std::size_t at = i + static_cast<std::size_t>(j) * stride;
      if (writes && at < count) to[at] = x[j];
      x[j] = next[j];
    }
  }
  double all = 0;
#pragma unroll
  for (int j = 0; j < 16; ++j) all += sum[j / 4][j % 4];
  if (all == 1.2345e300) *sink = all;
}

constexpr int piece_ahead = 4;
constexpr std::size_t piece_bytes = 64;

/// The first 4 bytes of piece `index` of so many a row, or null where the row does not touch that many.
__device__ const unsigned* piece_of(const Rows& rows, std::size_t index, std::size_t pieces) {
  const std::size_t begin = reinterpret_cast<std::size_t>(rows.data) + index / pieces * rows.pitch;
  const std::size_t piece = index % pieces;
  const std::size_t at = piece == 0 ? begin : begin / piece_bytes * piece_bytes + piece * piece_bytes;
  return at < begin + rows.width ? reinterpret_cast<const unsigned*>(at) : nullptr;
}

__global__ void read_pieces_kernel(const Rows a, const Rows b, std::size_t pieces_a, std::size_t pieces_b,
                                   unsigned* sink) {
  unsigned sum = 0;
  const std::size_t count_a = a.count * pieces_a;
  const std::size_t count = count_a + b.count * pieces_b;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * threads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; i < count;
       i += piece_ahead * stride) {
    unsigned x[piece_ahead];
#pragma unroll
    for (int j = 0; j < piece_ahead; ++j) {
      const std::size_t at = i + static_cast<std::size_t>(j) * stride;
      const unsigned* from = nullptr;
      if (at < count) from = at < count_a ? piece_of(a, at, pieces_a) : piece_of(b, at - count_a, pieces_b);
      x[j] = from == nullptr ? 0 : *from;
    }
#pragma unroll
    for (int j = 0; j < piece_ahead; ++j) sum ^= x[j];
  }
  if (sum == 0x12345678U) *sink = sum;
}

__global__ void scale_kernel(const double2* from, double2* to, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= count) return;
  const double2 x = from[i];
  to[i] = {2 * x.x, 2 * x.y};
}

constexpr int view_threads = 256;
constexpr int view_ahead = 4;

__device__ bool is_unlikely(double x) { return x == 1.2345e300; }
__device__ bool is_unlikely(double2 x) { return is_unlikely(x.x); }

/// Widths and pitches count units.
template <class Unit>
__global__ void copy_rows_kernel(const Unit* from, Unit* to, std::size_t rows, unsigned width, unsigned kept,
                                 std::size_t pitch_from, std::size_t pitch_to) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * view_ahead * view_threads + threadIdx.x;
  Unit x[view_ahead];
#pragma unroll
  for (int j = 0; j < view_ahead; ++j) {
    const std::size_t i = first + static_cast<std::size_t>(j) * view_threads;
    if (i < rows * width) x[j] = from[i / width * pitch_from + i % width];
  }
#pragma unroll
  for (int j = 0; j < view_ahead; ++j) {
    const std::size_t i = first + static_cast<std::size_t>(j) * view_threads;
    if (i < rows * width && (i % width < kept || is_unlikely(x[j]))) to[i / width * pitch_to + i % width % kept] = x[j];
  }
}

template <class Unit>
void copy_rows_by(const Rows& a, const Rows& b, CUstream_st* stream) {
  const std::size_t width = a.width / sizeof(Unit);
  const std::size_t of_block = view_ahead * view_threads;
  const auto blocks = static_cast<unsigned>((a.count * width + of_block - 1) / of_block);
  copy_rows_kernel<<<blocks, view_threads, 0, stream>>>(
      static_cast<const Unit*>(a.data), static_cast<Unit*>(const_cast<void*>(b.data)), a.count,
      static_cast<unsigned>(width), static_cast<unsigned>(b.width / sizeof(Unit)), a.pitch / sizeof(Unit),
      b.pitch / sizeof(Unit));
}

__global__ void write_chain_kernel(char* memory, std::size_t links) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < links) *reinterpret_cast<std::size_t*>(memory + i * chain_step) = (i + 1) % links * chain_step;
}

__global__ void follow_chain_kernel(const char* memory, int reads, std::size_t* sink) {
  std::size_t at = 0;
  for (int i = 0; i < reads; ++i) at = *reinterpret_cast<const std::size_t*>(memory + at);
  *sink = at;
}

template <class Real>
__global__ void fill_kernel(Real* to, std::size_t count, unsigned seed) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * threads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; i < count; i += stride) {
    std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL + seed;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    x ^= x >> 31;
    to[i] = static_cast<Real>(static_cast<double>(static_cast<std::int64_t>(x)) * 0x1p-63);
  }
}

int multiprocessors() {
  int device = 0;
  int count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

}  // namespace

void read_all(const void* from, std::size_t bytes, void* sink, int variant, CUstream_st* stream) {
  const auto* const data = static_cast<const uint4*>(from);
  const std::size_t count = bytes / sizeof(uint4);
  auto* const out = static_cast<unsigned*>(sink);
  const int units = multiprocessors();
  if (variant == 0) {
    read_kernel<4><<<4 * units, threads, 0, stream>>>(data, count, out);
  } else if (variant == 1) {
    read_kernel<8><<<2 * units, threads, 0, stream>>>(data, count, out);
  } else {
    read_kernel<8><<<32 * units, threads, 0, stream>>>(data, count, out);
  }
}

void read_and_multiply(const void* from, void* to, std::size_t bytes, void* sink, CUstream_st* stream) {
  const auto* const data = static_cast<const double2*>(from);
  const std::size_t count = bytes / sizeof(double2);
  const int blocks = 2 * multiprocessors();
  if (to == nullptr) {
    read_and_multiply_kernel<8, false>
        <<<blocks, work_threads, 0, stream>>>(data, nullptr, count, static_cast<double*>(sink));
  } else {
    read_and_multiply_kernel<16, true>
        <<<blocks, work_threads, 0, stream>>>(data, static_cast<double2*>(to), count, static_cast<double*>(sink));
  }
}

void read_pieces(const Rows& a, const Rows& b, void* sink, CUstream_st* stream) {
  const auto most = [](const Rows& rows) { return (rows.width + piece_bytes - 4) / piece_bytes + 1; };
  read_pieces_kernel<<<32 * multiprocessors(), threads, 0, stream>>>(a, b, most(a), most(b),
                                                                     static_cast<unsigned*>(sink));
}

void scale_all(const double* from, double* to, std::size_t count, CUstream_st* stream) {
  const std::size_t pairs = count / 2;
  scale_kernel<<<static_cast<unsigned>((pairs + threads - 1) / threads), threads, 0, stream>>>(
      reinterpret_cast<const double2*>(from), reinterpret_cast<double2*>(to), pairs);
}

void copy_rows(const Rows& a, const Rows& b, CUstream_st* stream) {
  const auto bits = [](const Rows& rows) { return reinterpret_cast<std::size_t>(rows.data) | rows.width | rows.pitch; };
  if ((bits(a) | bits(b)) % sizeof(double2) == 0) {
    copy_rows_by<double2>(a, b, stream);
  } else {
    copy_rows_by<double>(a, b, stream);
  }
}

void write_chain(void* memory, std::size_t bytes, CUstream_st* stream) {
  const std::size_t links = bytes / chain_step;
  const auto blocks = static_cast<unsigned>((links + threads - 1) / threads);
  write_chain_kernel<<<blocks, threads, 0, stream>>>(static_cast<char*>(memory), links);
}

void follow_chain(const void* memory, int reads, void* sink, CUstream_st* stream) {
  follow_chain_kernel<<<1, 1, 0, stream>>>(static_cast<const char*>(memory), reads, static_cast<std::size_t*>(sink));
}

void fill_random(double* to, std::size_t count, unsigned seed, CUstream_st* stream) {
  fill_kernel<<<8 * multiprocessors(), threads, 0, stream>>>(to, count, seed);
}
void fill_random(float* to, std::size_t count, unsigned seed, CUstream_st* stream) {
  fill_kernel<<<8 * multiprocessors(), threads, 0, stream>>>(to, count, seed);
}

}  // namespace bench
