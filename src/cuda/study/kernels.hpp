#pragma once

#include <cstdint>
#include <vector>

/// The kernels of Ernst, Hager, Thies, Wellein 2020 with every size known when they are compiled: what the generator
/// instantiates and bench/cuda_sweep measures. The library uses none of them.
namespace blockvec::kernels::cuda::study {

/// How the threads' sums become C (section 3.2). Atomic sums change from run to run: for comparison only.
enum class Reduction : std::uint8_t {
  none,           ///< not at all: the measure of what the others cost
  thread,         ///< each thread writes its sums, a second kernel adds them
  block,          ///< each block adds its threads' sums and writes one C, a second kernel adds them
  thread_atomic,  ///< each thread adds its sums to C in memory
  block_atomic    ///< each block adds its threads' sums in shared memory, then those to C in memory
};

/// What figure 17 changes in a kernel to see what binds it. The results are wrong.
enum class Change : std::uint8_t {
  none,
  few_sums,          ///< all products into four sums: more threads fit
  few_sums_few_rows  ///< and all rows are the same few: operands come from the first-level cache
};

/// Where tsmm takes C from (section 4.2).
enum class Source : std::uint8_t { registers, shared, global, constant };

struct TsmttsmArguments {
  const void* a;
  const void* b;
  void* out;  ///< partial sums [part][m][n], or C where the reduction is atomic
  std::int64_t k;
};

/// C = A^H B for row-major A, K x M, and B, K x N, without gaps.
struct TsmttsmKernel {
  char type;  ///< 'D' or 'Z'
  int m, n;
  int tile_m, tile_n;
  bool transposed;
  bool leap_frog;
  Reduction reduction;
  Change change;
  int threads;           ///< of a block
  int least_blocks;      ///< that shall fit on a multiprocessor, which caps the registers
  int rows;              ///< that a block works on at a time
  const void* function;  ///< __global__ void(TsmttsmArguments)

  /// Partial sums of `blocks` blocks; 0: the result is in C, or nowhere.
  std::int64_t parts(int blocks) const {
    if (reduction == Reduction::thread) return static_cast<std::int64_t>(blocks) * rows;
    return reduction == Reduction::block ? blocks : 0;
  }
};

struct TsmmArguments {
  const void* a;
  const void* c;
  void* b;
  std::int64_t k;
};

/// B = A C for row-major A, K x M, C, M x N, and B, K x N, without gaps.
struct TsmmKernel {
  char type;
  int m, n;
  int threads_per_row;
  int unroll;  ///< rows that a thread works on at a time
  bool transposed;
  Source source;
  int threads;
  int rows;
  const void* function;  ///< __global__ void(TsmmArguments, C itself where it is constant memory, else nothing much)
};

/// Everything the generator was asked for, in any order.
std::vector<TsmttsmKernel> all_tsmttsm_kernels();
std::vector<TsmmKernel> all_tsmm_kernels();

/// The second kernel of a deterministic reduction: C = the sum of the parts in fixed order.
struct SumArguments {
  const void* partial;
  void* c;
  std::int64_t parts;
  int entries;
};
inline constexpr int sum_threads = 512;
inline constexpr int sum_entries = 32;  ///< of C a block
const void* sum_kernel(char type);      ///< __global__ void(SumArguments)

}  // namespace blockvec::kernels::cuda::study
