#pragma once

#include <cstdint>

#include "src/cuda/ptx/pipeline.cuh"
#include "src/cuda/unrolled.cuh"

/// Tensor-core products (wgmma) of a warpgroup, which is four warps: 64 rows, 8 deep, with right factors from shared
/// memory. They run asynchronously beside the code that starts them (sm_90a).
///
/// Warp w of four, lane 4 g + q holds: left[v] is row 16 w + g + 8 (v % 2), depth q + 4 (v / 2); sum[4 j + v] is row 16
/// w + g + 8 (v / 2), column 8 j + 2 q + v % 2.
namespace blockvec::kernels::cuda {

inline constexpr int warpgroup_threads = 128;

/// Describes a right factor of 8 rows in shared memory, [row / 4][column / 8][column % 8][row % 4]. `to_four_rows`:
/// bytes from its first four rows to the other four.
__device__ inline std::uint64_t right_factor(std::uint32_t address, int to_four_rows) {
  constexpr std::uint64_t to_eight_columns = 128;
  return (address & 0x3ffffU) >> 4 | static_cast<std::uint64_t>(to_four_rows / 16) << 16 | to_eight_columns / 16 << 32;
}
inline constexpr int right_factor_rows = 8;

/// Products that start after this see the registers and the shared memory as they are now.
__device__ inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Makes a group of the products that were started so far; only such groups can be waited for.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/// Waits for all committed products; they add to `sums`.
template <int sets, int count>
__device__ inline void await_products(float (&sums)[sets][count]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  unrolled<sets * count>([&](int i) { asm volatile("" : "+f"((&sums[0][0])[i])::"memory"); });
}

/// Waits for all committed groups of products except the last one.
__device__ inline void await_products_but_last() { asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); }

// Inline assembly names every register: entries i and on of `sum`, and where the first of them stand.
#define BLOCKVEC_SUMS_4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define BLOCKVEC_SUMS_8(i) BLOCKVEC_SUMS_4(i), BLOCKVEC_SUMS_4(i + 4)
#define BLOCKVEC_SUMS_16(i) BLOCKVEC_SUMS_8(i), BLOCKVEC_SUMS_8(i + 8)
#define BLOCKVEC_SUMS_32(i) BLOCKVEC_SUMS_16(i), BLOCKVEC_SUMS_16(i + 16)
#define BLOCKVEC_PLACES_4 "%0, %1, %2, %3"
#define BLOCKVEC_PLACES_8 BLOCKVEC_PLACES_4 ", %4, %5, %6, %7"
#define BLOCKVEC_PLACES_12 BLOCKVEC_PLACES_8 ", %8, %9, %10, %11"
#define BLOCKVEC_PLACES_16 BLOCKVEC_PLACES_12 ", %12, %13, %14, %15"
#define BLOCKVEC_PLACES_20 BLOCKVEC_PLACES_16 ", %16, %17, %18, %19"
#define BLOCKVEC_PLACES_24 BLOCKVEC_PLACES_20 ", %20, %21, %22, %23"
#define BLOCKVEC_PLACES_28 BLOCKVEC_PLACES_24 ", %24, %25, %26, %27"
#define BLOCKVEC_PLACES_32 BLOCKVEC_PLACES_28 ", %28, %29, %30, %31"
#define BLOCKVEC_PLACES_48 \
  BLOCKVEC_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define BLOCKVEC_PLACES_64 \
  BLOCKVEC_PLACES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

/// The product with `columns` columns of `right`. `factors` are the places of left, right and sign, which follow those
/// of the sums.
#define BLOCKVEC_PRODUCT(columns, places, factors, ...)                                                           \
  if constexpr (2 * count == columns)                                                                             \
  asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k8.f32.tf32.tf32 {" places "}, " factors:__VA_ARGS__ \
               : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "n"(sign))

/// Starts sum += sign left right. All warps of the group call this.
template <int sign, int count>
__device__ inline void start_product(float (&sum)[count], const unsigned (&left)[4], std::uint64_t right) {
  static_assert(count % 4 == 0 && (count <= 32 || count == 64));
  BLOCKVEC_PRODUCT(8, BLOCKVEC_PLACES_4, "{%4, %5, %6, %7}, %8, 1, %9, 1;", BLOCKVEC_SUMS_4(0));
  BLOCKVEC_PRODUCT(16, BLOCKVEC_PLACES_8, "{%8, %9, %10, %11}, %12, 1, %13, 1;", BLOCKVEC_SUMS_8(0));
  BLOCKVEC_PRODUCT(24, BLOCKVEC_PLACES_12, "{%12, %13, %14, %15}, %16, 1, %17, 1;", BLOCKVEC_SUMS_8(0),
                   BLOCKVEC_SUMS_4(8));
  BLOCKVEC_PRODUCT(32, BLOCKVEC_PLACES_16, "{%16, %17, %18, %19}, %20, 1, %21, 1;", BLOCKVEC_SUMS_16(0));
  BLOCKVEC_PRODUCT(40, BLOCKVEC_PLACES_20, "{%20, %21, %22, %23}, %24, 1, %25, 1;", BLOCKVEC_SUMS_16(0),
                   BLOCKVEC_SUMS_4(16));
  BLOCKVEC_PRODUCT(48, BLOCKVEC_PLACES_24, "{%24, %25, %26, %27}, %28, 1, %29, 1;", BLOCKVEC_SUMS_16(0),
                   BLOCKVEC_SUMS_8(16));
  BLOCKVEC_PRODUCT(56, BLOCKVEC_PLACES_28, "{%28, %29, %30, %31}, %32, 1, %33, 1;", BLOCKVEC_SUMS_16(0),
                   BLOCKVEC_SUMS_8(16), BLOCKVEC_SUMS_4(24));
  BLOCKVEC_PRODUCT(64, BLOCKVEC_PLACES_32, "{%32, %33, %34, %35}, %36, 1, %37, 1;", BLOCKVEC_SUMS_32(0));
  BLOCKVEC_PRODUCT(128, BLOCKVEC_PLACES_64, "{%64, %65, %66, %67}, %68, 1, %69, 1;", BLOCKVEC_SUMS_32(0),
                   BLOCKVEC_SUMS_32(32));
}

}  // namespace blockvec::kernels::cuda
