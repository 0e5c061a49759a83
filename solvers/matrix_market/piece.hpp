#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A part of a file that is no gzip stream, as one of several ranks reads it.
namespace blockvec::solvers {

/// The text of all lines that begin in bytes [begin, end) of a file, begin > 0. So ranks that cut the bytes among
/// themselves have each line once; each reads its bytes, the one before them, and on to the end of its last line, but
/// not beyond what MatrixMarketLines takes for a line. Throws InputError naming the file, OutOfMemoryError.
std::vector<char> read_lines(const std::string& path, std::int64_t begin, std::int64_t end);

/// How many lines a text has, and how many of them are neither blank nor comments.
struct LineCounts {
  std::int64_t all = 0;
  std::int64_t data = 0;
};
LineCounts count_lines(std::string_view text);

}  // namespace blockvec::solvers
