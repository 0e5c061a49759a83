#include "blockvec/allocate.hpp"

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

}  // namespace blockvec::detail
