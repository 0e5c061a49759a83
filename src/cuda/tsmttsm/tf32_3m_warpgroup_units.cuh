#pragma once

#include "src/cuda/tsmttsm/warpgroup_units.cuh"
#include "src/dispatch/cuda/tsmttsm/turned_rows.hpp"

/// Units of 16 rows that the warps of tsmttsm/tf32_3m_warpgroup.cuh take in turn, and buffers that take B's rows.
namespace blockvec::kernels::cuda {

inline constexpr int gauss_products = 3;
using dispatch::gauss_groups;
inline constexpr int unit_rows = dispatch::gauss_unit_rows;
/// Either warpgroups take units in turn, or all of them, where they are `apart`: each has 64 columns of A of its own.
template <bool apart>
inline constexpr int groups_in_turn = apart ? 1 : gauss_groups;
/// Units whose sums are of single precision, of warpgroups in turn.
template <bool apart>
inline constexpr int gauss_early_units = groups_in_turn<apart>* dispatch::rows_of_early_sums / unit_rows;

/// B's rows, turned. Each warpgroup that multiplies has its own buffers, unless all take the same units.
template <int columns, bool apart>
struct GaussBuffers {
  static constexpr int sets = groups_in_turn<apart>;
  static constexpr int count = gauss_groups * dispatch::gauss_buffers / sets;  ///< in a set
  static constexpr int in_unit = unit_rows / dispatch::gauss_buffer_rows(columns);
  static constexpr int product = TurnedRows<columns>::bytes / in_unit;  ///< bytes: of re, im or re + im
  static constexpr int bytes = gauss_products * product;
  static constexpr int sharing = dispatch::gauss_shares_units(columns) ? 2 : 1;  ///< warps that turn a unit
  /// Whether products may go on running while there is a full buffer, as measured on an H200.
  static constexpr bool looks_first = columns == 48 || columns == 56;
  static constexpr int step = 2 * gauss_groups / sharing;  ///< units from a warp's to its next
};

struct TurnedBarriers {
  Barrier full[gauss_groups * dispatch::gauss_buffers];
  Barrier empty[gauss_groups * dispatch::gauss_buffers];
  Barrier sums[gauss_groups];  ///< a group may add to the sums: the other one has
};

}  // namespace blockvec::kernels::cuda
