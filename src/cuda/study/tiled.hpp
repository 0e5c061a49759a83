#pragma once

#include <array>
#include <cstdint>

struct CUstream_st;

/// The single-precision products of the article "CUDA Matmul (Part 2): Understanding Tiled Matrix Multiplication", for
/// bench/tiled. Row-major C = A B, any m, n, k; a thread computes one entry of C.
namespace blockvec::kernels::cuda::study {

struct TiledArguments {
  const float* a;  ///< m x k
  const float* b;  ///< k x n
  float* c;        ///< m x n
  int m, n, k;
};

enum class TiledStep : std::uint8_t {
  naive,      ///< every factor comes from memory; neighbouring threads have neighbouring rows of C
  coalesced,  ///< the same, and neighbouring threads have neighbouring columns
  tiled       ///< a block of 16 x 16 threads brings tiles of 16 x 16 of A and B to shared memory
};
inline constexpr std::array tiled_steps{TiledStep::naive, TiledStep::coalesced, TiledStep::tiled};

inline const char* name_of(TiledStep step) {
  return step == TiledStep::naive ? "naive" : step == TiledStep::coalesced ? "coalesced" : "tiled";
}

/// Launches one kernel.
void tiled(TiledStep step, const TiledArguments& arguments, CUstream_st* stream);

}  // namespace blockvec::kernels::cuda::study
