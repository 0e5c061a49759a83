#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// What dispatch knows of each kernel of tsmm; one entry a file of the kernel's name, unless a file serves several.
namespace blockvec::kernels::dispatch {

struct TsmmEntry {
  /// Adds the legal configurations that a call chooses from, or all of them, to `found`.
  void (*add)(TsmmKernel kernel, const CudaDevice& device, const CudaTsmmProblem& problem, Search search,
              std::vector<CudaTsmm>& found);
  /// As dispatch::complete.
  bool (*complete)(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration);
  /// What the model is told.
  CudaWork (*work)(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration);
};

extern const TsmmEntry row_ring_entry;  ///< also of row_ring_tf32, row_fma and row_deep
extern const TsmmEntry column_ring_entry;
extern const TsmmEntry column_tf32_entry;  ///< column_pieces.cpp
extern const TsmmEntry column_fma_entry;   ///< column_pieces.cpp
extern const TsmmEntry strided_entry;
extern const TsmmEntry strided_3m_entry;  ///< strided.cpp
extern const TsmmEntry strided_tf32_entry;
extern const TsmmEntry registers_3m_entry;
extern const TsmmEntry wide_entry;
extern const TsmmEntry per_warp_entry;  ///< also of per_warp_tf32
extern const TsmmEntry tf32_warpgroup_entry;
extern const TsmmEntry short_k_entry;
extern const TsmmEntry direct_entry;
extern const TsmmEntry general_entry;

/// What the rules ask kernels, whatever the widths.

/// Rows of a view come as TMA tiles, one row tile at a time (row_ring.cpp).
bool boxes_a_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Warps can share out A's columns (row_ring.cpp).
bool deep_serves(const CudaTsmmProblem& p);
/// Pairs of neighbours are read at once (strided_tf32.cpp).
bool boxes_split_serve(const CudaDevice& device, const CudaTsmmProblem& p);

/// Columns of B that a CTA tile of `wide` has, and those that the blocks of a cluster share out in place.
inline constexpr std::int64_t section_columns = 128;
inline constexpr int most_sections_in_place = 8;  ///< blocks of a cluster that every device takes
inline constexpr std::int64_t section_columns_in_place = 256;
inline constexpr std::int64_t most_columns_in_place = most_sections_in_place * section_columns_in_place;
/// Whether `wide` multiplies in place for every layout and stride of these extents (wide.cpp).
bool wide_serves_in_place(const CudaDevice& device, std::int64_t k, std::int64_t n);

}  // namespace blockvec::kernels::dispatch
