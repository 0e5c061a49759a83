#pragma once

#include <vector>

#include "src/dispatch/cuda/configuration.hpp"
#include "src/dispatch/cuda/model.hpp"

/// What dispatch knows of each kernel of tsmm. An entry stands in the file of the kernel's name, unless a comment names
/// another.
namespace blockvec::kernels::dispatch {

struct TsmmEntry {
  /// Adds the kernel's legal configurations to `found`: those that a call chooses from, or all.
  void (*add)(TsmmKernel kernel, const CudaDevice& device, const CudaTsmmProblem& problem, Search search,
              std::vector<CudaTsmm>& found);
  /// Does for the kernel what dispatch::complete does.
  bool (*complete)(const CudaDevice& device, const CudaTsmmProblem& problem, CudaTsmm& configuration);
  /// Returns the work of a configuration, for the model.
  CudaWork (*work)(const CudaDevice& device, const CudaTsmmProblem& problem, const CudaTsmm& configuration);
};

extern const TsmmEntry row_ring_entry;  ///< also for row_ring_tf32, row_fma and row_deep
extern const TsmmEntry column_ring_entry;
extern const TsmmEntry column_tf32_entry;  ///< column_pieces.cpp
extern const TsmmEntry column_fma_entry;   ///< column_pieces.cpp
extern const TsmmEntry strided_entry;      ///< also for strided_plain
extern const TsmmEntry strided_3m_entry;   ///< strided.cpp
extern const TsmmEntry strided_tf32_entry;
extern const TsmmEntry registers_3m_entry;
extern const TsmmEntry wide_entry;
extern const TsmmEntry per_warp_entry;  ///< also for per_warp_tf32
extern const TsmmEntry tf32_warpgroup_entry;
extern const TsmmEntry short_k_entry;
extern const TsmmEntry direct_entry;
extern const TsmmEntry general_entry;

/// What the rules ask about kernels, whatever widths these are compiled for.

/// Whether the rows of a view A can come as TMA tiles, one per row tile (row_ring.cpp).
bool boxes_a_serve(const CudaDevice& device, const CudaTsmmProblem& p);
/// Whether warps can divide A's columns (row_ring.cpp).
bool deep_serves(const CudaTsmmProblem& p);
/// Whether pairs of neighbours in a row can be read at once (strided_tf32.cpp).
bool boxes_split_serve(const CudaDevice& device, const CudaTsmmProblem& p);

/// The columns of B in a CTA tile (section) of `wide`. In place, the blocks of a cluster divide all of B's columns.
inline constexpr std::int64_t section_columns = 128;
inline constexpr int most_sections_in_place = 8;  ///< cluster size that every device supports
inline constexpr std::int64_t section_columns_in_place = 256;
inline constexpr std::int64_t most_columns_in_place = most_sections_in_place * section_columns_in_place;
/// Whether `wide` multiplies in place for all layouts and strides of these extents (wide.cpp).
bool wide_serves_in_place(const CudaDevice& device, std::int64_t k, std::int64_t n);

}  // namespace blockvec::kernels::dispatch
