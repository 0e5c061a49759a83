#include "solvers/host_memory.hpp"

#include <fmt/core.h>

#include <blockvec/kernels/error.hpp>
#include <fstream>
#include <limits>
#include <string>

namespace blockvec::solvers {
namespace {

/// What Linux can still give without swapping, or the largest number where it does not say.
std::size_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word) {
    std::size_t kibibytes = 0;
    if (word == "MemAvailable:" && info >> kibibytes) return kibibytes * 1024;
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace

void expect_memory(std::string_view what, std::size_t bytes) {
  constexpr std::size_t worth_asking = std::size_t{1} << 26;
  if (bytes <= worth_asking) return;
  const std::size_t available = available_memory();
  if (bytes > available) {
    throw OutOfMemoryError(
        fmt::format("{}: no memory for {} bytes: the machine has {} bytes left", what, bytes, available));
  }
}

}  // namespace blockvec::solvers
