#pragma once

#include <cstddef>

struct CUstream_st;

/// What the device's memory can do, by plain kernels: the measure that the products are held against.
namespace bench {

/// Reads `bytes` and keeps next to nothing. `variant` 0 up to read_variants - 1: some shapes of the same loop.
inline constexpr int read_variants = 3;
void read_all(const void* from, std::size_t bytes, void* sink, int variant, CUstream_st* stream);

/// Reads `bytes` and multiplies them on tensor cores as often as a product of 64 by 64 columns does, straight from
/// registers and in any order; copies them besides, unless `to` is null. Under unbroken load, this takes the energy
/// that such a product cannot do without.
void read_and_multiply(const void* from, void* to, std::size_t bytes, void* sink, CUstream_st* stream);

/// Rows of a view: `width` bytes each, `pitch` bytes from one to the next.
struct Rows {
  const void* data;
  std::size_t count, width, pitch;
};

/// Reads a number of every 64-byte piece that the rows of two views touch; rows begin at multiples of 4 bytes.
void read_pieces(const Rows& a, const Rows& b, void* sink, CUstream_st* stream);

/// Writes twice the numbers that it reads.
void scale_all(const double* from, double* to, std::size_t count, CUstream_st* stream);

/// Copies the first numbers of A's rows to B's, whose rows are no wider, and reads the others: bytes are multiples
/// of 8. Memory serves pieces of rows at a speed of its own, and reads the sectors that are written in part.
void copy_rows(const Rows& a, const Rows& b, CUstream_st* stream);

/// Writes a chain of reads through `bytes` of memory, and follows it with one thread: `reads` reads one after the
/// other.
inline constexpr std::size_t chain_step = std::size_t{68} << 10;  ///< bytes from one read to the next
void write_chain(void* memory, std::size_t bytes, CUstream_st* stream);
void follow_chain(const void* memory, int reads, void* sink, CUstream_st* stream);

/// Uniform numbers in (-1, 1) that depend on seed and place alone.
void fill_random(double* to, std::size_t count, unsigned seed, CUstream_st* stream);
void fill_random(float* to, std::size_t count, unsigned seed, CUstream_st* stream);

}  // namespace bench
