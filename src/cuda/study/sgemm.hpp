#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "src/cuda/study/curve.hpp"

struct CUstream_st;

/// The single-precision product of the article "Matrix Multiplication On GPU: Part 2, Tiling", whose parts can be taken
/// away one at a time. Column-major C = A B, any m, n, k, without tensor cores. The library does not use it.
namespace blockvec::kernels::cuda::study {

struct SgemmArguments {
  const float* a;  ///< m x k
  std::int64_t lda;
  const float* b;  ///< k x n
  std::int64_t ldb;
  float* c;  ///< m x n
  std::int64_t ldc;
  int m, n, k;
};

/// What is compiled. The first one has everything, each other lacks one thing.
struct SgemmParts {
  int stages = 4;               ///< of asynchronous copies, 1: a tile is copied when the one before it is multiplied
  bool wide = true;             ///< 16 bytes an access, where columns begin at multiples of 16 bytes
  bool ahead = true;            ///< factors come to registers one step before they are multiplied
  bool narrow_barriers = true;  ///< warps wait for those that copy what they need, not for the whole block

  friend constexpr bool operator==(const SgemmParts&, const SgemmParts&) = default;
};
inline constexpr std::array<SgemmParts, 7> sgemm_parts{
    {{}, {.stages = 3}, {.stages = 2}, {.stages = 1}, {.wide = false}, {.ahead = false}, {.narrow_barriers = false}}};
std::string name_of(const SgemmParts& parts);

/// Launches one kernel. Throws std::invalid_argument for parts that are not compiled, std::runtime_error if CUDA
/// refuses.
void sgemm(const SgemmParts& parts, Order order, const SgemmArguments& arguments, CUstream_st* stream);

}  // namespace blockvec::kernels::cuda::study
