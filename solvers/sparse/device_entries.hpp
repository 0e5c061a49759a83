#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/block_vector.hpp>
#include <cstdint>
#include <type_traits>

namespace blockvec::solvers {

/// Entries of a block vector for a kernel. A View is not passed to one: compilers of host and device may lay it out
/// differently (nvcc 13 with the Views of Kokkos 4.7).
template <class Scalar>
struct DeviceEntries {
  const Scalar* data;
  std::int64_t row_step, column_step;

  KOKKOS_FUNCTION const Scalar& operator()(std::int64_t row, std::int64_t column) const {
    return data[row * row_step + column * column_step];
  }
};

template <class Scalar, class Layout, class Space>
DeviceEntries<Scalar> device_entries(const BlockVector<Scalar, Layout, Space>& v) {
  const bool by_rows = std::is_same_v<Layout, RowMajor>;
  return {v.data(), by_rows ? v.ld() : 1, by_rows ? 1 : v.ld()};
}

}  // namespace blockvec::solvers
