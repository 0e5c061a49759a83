#pragma once

#include <fmt/core.h>

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstddef>
#include <string>

namespace blockvec::solvers {

/// An uninitialised array. Throws OutOfMemoryError naming label and bytes.
template <class T, class Space>
Kokkos::View<T*, Space> allocate_array(const std::string& label, std::size_t count) {
  try {
    return Kokkos::View<T*, Space>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), count);
  } catch (const std::exception&) {
    throw OutOfMemoryError(fmt::format("{}: no memory for {} bytes in {}", label, count * sizeof(T), Space::name()));
  }
}

/// A copy of `count` numbers in host memory.
template <class T, class Space>
Kokkos::View<T*, Space> copy_array(const std::string& label, const T* data, std::size_t count) {
  const auto array = allocate_array<T, Space>(label, count);
  Kokkos::deep_copy(array, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(data, count));
  return array;
}

}  // namespace blockvec::solvers
