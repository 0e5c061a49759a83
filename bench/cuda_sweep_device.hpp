#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

/// What cuda_sweep runs on the device beside the products.
namespace bench {

/// Sums `count` doubles with `blocks` blocks of 128 threads, each with `loads` reads of 8 bytes in flight: 1, 4 or 8.
inline constexpr int sum_block_threads = 128;
void sum_all(const double* from, std::size_t count, double* sink, int loads, int blocks, CUstream_st* stream);

/// Fused multiply-adds in registers alone. Returns how many floating-point operations that is.
double multiply_add_all(double* sink, CUstream_st* stream);

/// sums(i, j) += a(i) b(j) with tiles of 4 x 8 or 8 x 8 in registers alone, as tsmttsm multiplies. Returns the
/// operations.
double multiply_tiles(double* sink, int tile_m, int blocks, CUstream_st* stream);

/// *most = the largest |x_i - y_i|, infinity if one of them is NaN. Clears *most first.
void largest_difference(const double* x, const double* y, std::size_t count, double* most, CUstream_st* stream);

}  // namespace bench
