#pragma once

#include <array>
#include <cstdint>

struct CUstream_st;

/// The kernels of Rivera, Chen, Xiong, Zhang, Song, Tao 2021, "TSM2X", for bench/tsm2. The library uses none of them.
/// All matrices are column-major: A is m x k, B is k x n, C is m x n. Each call is C = A B.
namespace blockvec::kernels::cuda::study {

template <class T>
struct Tsm2Arguments {
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T* c;
  std::int64_t ldc;
  std::int64_t m;
  int k, n;
};

/// The paper's tiles: a block of t1 threads, each with its own row of A, holds t1 rows of B in shared memory. A thread
/// keeps t2 entries of C and reads t3 entries of A at a time. A thread passes over its row once for each t2 columns.
struct Tsm2Tiles {
  int t1, t2, t3;
};
inline constexpr std::array<int, 2> tsm2_t1{128, 256};
inline constexpr std::array<int, 4> tsm2_t2{2, 4, 8, 16};
inline constexpr std::array<int, 5> tsm2_t3{2, 4, 8, 16, 32};

/// The steps of TSM2R, for an A that is large in both directions (the paper's V0 to V3).
enum class Tsm2rStep : std::uint8_t {
  inner,    ///< algorithm 1: one entry of C after the other, each with a pass over the row of A; uses t1 only
  outer,    ///< algorithm 2: t2 entries of C in registers; uses t1 and t2
  shared,   ///< algorithm 3: B comes through shared memory, A in tiles of t3
  prefetch  ///< algorithm 4: the next tiles of A and B are read while the current ones are multiplied
};

/// The orders of TSM2L, for a small B: a grid of m / tcf threads, each with `tcf` rows. Within a row both are
/// algorithm 4.
enum class Tsm2lOrder : std::uint8_t {
  rows_first,  ///< algorithm 6: a row is finished before the next one begins; B is read again for each
  tiles_first  ///< algorithm 7: all rows take a tile of B before the next one comes; from the second tile of B on, sums
               ///< pass through C
};

/// Launches one kernel. Throws std::invalid_argument for tiles that are not compiled.
template <class T>
void tsm2r(Tsm2rStep step, const Tsm2Tiles& tiles, const Tsm2Arguments<T>& arguments, CUstream_st* stream);
template <class T>
void tsm2l(Tsm2lOrder order, const Tsm2Tiles& tiles, std::int64_t tcf, const Tsm2Arguments<T>& arguments,
           CUstream_st* stream);

}  // namespace blockvec::kernels::cuda::study
