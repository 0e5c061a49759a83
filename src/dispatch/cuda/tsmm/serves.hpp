#pragma once

#include "src/dispatch/cuda/configuration.hpp"

/// What the rules ask about kernels of tsmm, whatever widths these are compiled for.
namespace blockvec::kernels::dispatch {

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
