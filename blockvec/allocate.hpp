#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace blockvec::detail {

/// Bytes that the system says it can still give without swapping, or the largest number where it does not say.
std::size_t available_memory();

/// Asks for huge pages under memory that nothing has touched yet: hundreds of times fewer page faults. A hint.
void prefer_huge_pages(void* data, std::size_t bytes);

/// An uninitialised array. Throws OutOfMemoryError naming the label and the bytes asked for; on the host also where the
/// system would promise memory that it does not have (and end the process later).
template <class T, class Space>
Kokkos::View<T*, Space> allocate(std::size_t count, const std::string& label) {
  const auto fail = [&](const std::string& why) {
    const double bytes = static_cast<double>(count) * static_cast<double>(sizeof(T));
    throw OutOfMemoryError(label + ": no memory for " + std::to_string(static_cast<unsigned long long>(bytes)) +
                           " bytes (" + std::to_string(static_cast<unsigned long long>(count)) + " elements of " +
                           std::to_string(sizeof(T)) + "): " + why);
  };
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) fail("more than can be addressed");
  if constexpr (std::is_same_v<Space, Kokkos::HostSpace>) {
    constexpr std::size_t worth_asking = std::size_t{1} << 26;
    if (count * sizeof(T) > worth_asking) {
      const std::size_t available = available_memory();
      if (count * sizeof(T) > available) fail("the machine has " + std::to_string(available) + " bytes left");
    }
  }
  try {
    Kokkos::View<T*, Space> array(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), count);
    if constexpr (std::is_same_v<Space, Kokkos::HostSpace>) prefer_huge_pages(array.data(), count * sizeof(T));
    return array;
  } catch (const std::exception& error) {
    std::string why = error.what();
    fail(why.substr(0, why.find('\n')));
    throw;
  }
}

}  // namespace blockvec::detail
