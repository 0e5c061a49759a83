#include "blockvec/allocate.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <fstream>

namespace blockvec::detail {

std::size_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string word;
  while (info >> word) {
    std::size_t kibibytes = 0;
    if (word == "MemAvailable:" && info >> kibibytes) return kibibytes * 1024;
  }
  return std::numeric_limits<std::size_t>::max();
}

void prefer_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t page = std::size_t{1} << 21;
  const auto begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace blockvec::detail
