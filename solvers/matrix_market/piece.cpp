#include "solvers/matrix_market/piece.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/solvers/input_error.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "solvers/host_memory.hpp"
#include "solvers/matrix_market/lines.hpp"

namespace blockvec::solvers {

std::vector<char> read_lines(const std::string& path, std::int64_t begin, std::int64_t end) {
  if (begin == end) return {};
  const std::size_t bytes = static_cast<std::size_t>(end - begin) + 1;
  expect_memory(path, bytes);
  std::vector<char> text;
  text.reserve(bytes + MatrixMarketLines::longest + 1);
  text.resize(bytes);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  file.seekg(begin - 1);
  file.read(text.data(), std::ssize(text));
  if (!file) {
    throw InputError(fmt::format("{}: bytes {} to {} cannot be read: {}", path, begin - 1, end - 1,
                                 errno == 0 ? "the file has become shorter" : std::strerror(errno)));
  }
  // A line belongs to the rank that has its first byte: one that has begun before is left out, the last one completed.
  const auto line_feed = std::find(text.begin(), text.end(), '\n');
  if (line_feed == text.end()) return {};
  text.erase(text.begin(), line_feed + 1);
  if (text.empty() || text.back() == '\n') return text;
  const std::size_t most = text.size() + MatrixMarketLines::longest;
  for (char next = 0; next != '\n' && text.size() <= most && file.get(next);) text.push_back(next);
  return text;
}

LineCounts count_lines(std::string_view text) {
  LineCounts result;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    ++result.all;
    if (is_data_line(without_carriage_return(text.substr(0, length)))) ++result.data;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return result;
}

}  // namespace blockvec::solvers
