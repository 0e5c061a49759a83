#pragma once

#include "src/cuda/tsmttsm_warpgroup.cuh"
#include "src/dispatch/cuda_turned_rows.hpp"

/// Units of 16 rows that the warps of tsmttsm_gauss_warpgroup.cuh take in turn, and buffers that take B's rows.
namespace blockvec::kernels::cuda {

inline constexpr int gauss_products = 3;
using dispatch::gauss_groups;
inline constexpr int multiplying_threads = gauss_groups * warpgroup_threads;
inline constexpr int gauss_block_threads = multiplying_threads + warpgroup_threads + loading_threads;
inline constexpr int unit_rows = dispatch::gauss_unit_rows;
/// Units whose sums are of single precision, of both warpgroups.
inline constexpr int gauss_early_units = gauss_groups * dispatch::rows_of_early_sums / unit_rows;

/// B's rows, turned. Each warpgroup that multiplies has its own buffers.
template <int columns>
struct GaussBuffers {
  static constexpr int count = dispatch::gauss_buffers;
  static constexpr int in_unit = unit_rows / dispatch::gauss_buffer_rows(columns);
  static constexpr int product = TurnedRows<columns>::bytes / in_unit;  ///< bytes: of re, im or re + im
  static constexpr int bytes = gauss_products * product;
  static constexpr int sharing = dispatch::gauss_shares_units(columns) ? 2 : 1;  ///< warps that turn a unit
  static constexpr int step = 2 * gauss_groups / sharing;                        ///< units from a warp's to its next
};

struct TurnedBarriers {
  Barrier full[gauss_groups * dispatch::gauss_buffers];
  Barrier empty[gauss_groups * dispatch::gauss_buffers];
};

/// Where a warp stands that takes one of so many units; chunks have a power of two of them.
template <int step>
class UnitPosition {
 public:
  int unit;  ///< of its chunk
  RingPosition at;

  __device__ UnitPosition(int first, int units, int stages)
      : unit(first % units),
        at{first / units, 0},
        home_(unit),
        units_(units),
        chunks_(max(1, step / units)),
        stages_(stages) {}
  /// Whether the next one is in another chunk.
  __device__ bool leaves() const { return unit + step >= units_; }
  __device__ void advance() {
    const bool leaves = this->leaves();
    unit = leaves ? home_ : unit + step;
    at.advance(leaves ? chunks_ : 0, stages_);
  }

 private:
  int home_, units_, chunks_, stages_;
};

/// One lane speaks for a warp whose lanes are all done.
__device__ inline void arrive_as_warp(std::uint32_t barrier) {
  __syncwarp();
  if (elected()) arrive_at(barrier);
}

/// The address of barriers, which the compiler is to keep in a register instead of asking for it again and again.
__device__ inline std::uint32_t kept_address(const Barrier* barriers) {
  std::uint32_t address = shared_address(barriers);
  asm volatile("" : "+r"(address));
  return address;
}

}  // namespace blockvec::kernels::cuda
