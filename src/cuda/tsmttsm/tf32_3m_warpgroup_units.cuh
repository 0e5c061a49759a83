#pragma once

#include "src/cuda/tsmttsm/warpgroup_units.cuh"
#include "src/dispatch/cuda/constants.hpp"

/// Units of 16 rows that warps of tsmttsm/tf32_3m_warpgroup.cuh take in turn, and buffers for transposed rows of B.
namespace blockvec::kernels::cuda {

inline constexpr int gauss_products = 3;
using dispatch::gauss_groups;
inline constexpr int unit_rows = dispatch::gauss_unit_rows;
/// The multiplying warpgroups take units in turn; or, `apart`, each takes all units, for its own 64 columns of A.
template <bool apart>
inline constexpr int groups_in_turn = apart ? 1 : gauss_groups;
/// Units whose sums stay in single precision, counted over the warpgroups that take turns.
template <bool apart>
inline constexpr int gauss_early_units = groups_in_turn<apart>* dispatch::rows_of_early_sums / unit_rows;

/// Buffers for B's transposed rows. Each multiplying warpgroup has its own buffers, unless both take the same units.
template <int columns, bool apart>
struct GaussBuffers {
  static constexpr int sets = groups_in_turn<apart>;
  static constexpr int count = gauss_groups * dispatch::gauss_buffers / sets;  ///< buffers in a set
  static constexpr int in_unit = unit_rows / dispatch::gauss_buffer_rows(columns);
  static constexpr int product = TurnedRows<columns>::bytes / in_unit;  ///< bytes of re, im or re + im
  static constexpr int bytes = gauss_products * product;
  static constexpr int sharing = dispatch::gauss_shares_units(columns) ? 2 : 1;  ///< warps that transpose one unit
  /// Whether products may go on running while a full buffer exists; measured on an H200.
  static constexpr bool looks_first = columns == 48 || columns == 56;
  static constexpr int step = 2 * gauss_groups / sharing;  ///< units from one of a warp's units to its next
};

struct TurnedBarriers {
  Barrier full[gauss_groups * dispatch::gauss_buffers];
  Barrier empty[gauss_groups * dispatch::gauss_buffers];
  Barrier sums[gauss_groups];  ///< a group may add to the sums, because the other group has added
};

}  // namespace blockvec::kernels::cuda
