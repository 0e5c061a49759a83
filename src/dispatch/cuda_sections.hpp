#pragma once

#include "src/dispatch/cuda_configuration.hpp"

/// tsmttsm's results that are too large for one block: which sections of them blocks take.
///
/// Of a Gram matrix only what is on and above the diagonal: first the squares on it, two by two, whose blocks load as
/// much as any other, then the squares above it.
namespace blockvec::kernels::dispatch {

inline bool takes_pairs(const CudaTsmttsm& c) { return c.gram() && c.sections_m > 1; }

/// Blocks for each part of the rows.
inline int section_count(const CudaTsmttsm& c) {
  const int side = c.sections_m;
  return takes_pairs(c) ? (side + 1) / 2 + side * (side - 1) / 2 : side * c.sections_n;
}

/// Such a section is covered by full tiles of 8 warps, or by the warps of two of the largest Gram matrices.
inline constexpr TileShape pair_tile{2, 8};
inline constexpr int pair_warps_m = 4;
inline constexpr int pair_warps_n = 2;
inline constexpr GramShape pair_gram = gram_shapes[std::size(gram_shapes) - 1];
inline constexpr int pair_side = 8 * pair_gram.blocks;
static_assert(pair_side == 16 * pair_tile.m * pair_warps_m && pair_side == 8 * pair_tile.n * pair_warps_n);

}  // namespace blockvec::kernels::dispatch
