#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace bench {

/// A CSV file that grows row by row and is continued by the next run: the first columns tell rows apart.
class SweepTable {
 public:
  /// Reads what the file at `path` holds; a new one begins with its columns. Each run adds its own comment.
  SweepTable(const std::string& path, const std::string& comment, const std::vector<std::string>& columns,
             std::size_t key_columns);
  ~SweepTable();
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;

  /// `key`: the first columns, separated by commas.
  bool has(const std::string& key) const { return keys_.count(key) != 0; }
  void add(const std::string& key, const std::string& values);

 private:
  std::FILE* file_;
  std::string comment_;
  std::set<std::string> keys_;
};

/// printf into a string.
template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[512];
  const int length = std::snprintf(text, sizeof text, pattern, arguments...);
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace bench
