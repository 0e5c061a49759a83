#pragma once

#include <cstdio>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>

namespace bench {

/// A CSV file that grows row by row and remembers which rows it has.
class Report {
 public:
  /// Opens a file, or begins it with `header` and the columns' names. A row's key are its first columns.
  Report(const std::string& path, const std::string& columns, const std::function<std::string()>& header) {
    std::ifstream old(path);
    bool begun = false;
    for (std::string line; std::getline(old, line); begun = true) rows_.insert(line);
    file_ = std::fopen(path.c_str(), "a");
    if (file_ == nullptr) throw std::runtime_error("cannot write " + path);
    if (!begun) std::fprintf(file_, "%s%s\n", header().c_str(), columns.c_str());
    std::fflush(file_);
  }
  ~Report() { std::fclose(file_); }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  bool has(const std::string& key) const { return !values(key).empty(); }

  /// What follows a row's key and a comma; empty where there is no such row.
  std::string values(const std::string& key) const {
    const auto next = rows_.lower_bound(key + ',');
    const bool found = next != rows_.end() && next->compare(0, key.size() + 1, key + ',') == 0;
    return found ? next->substr(key.size() + 1) : std::string();
  }

  template <class... Values>
  void add(const std::string& key, const char* format, Values... values) {
    char text[512];
    std::snprintf(text, sizeof text, format, values...);
    const std::string row = key + ',' + text;
    rows_.insert(row);
    std::fprintf(file_, "%s\n", row.c_str());
    std::fflush(file_);
    std::printf("%s\n", row.c_str());
    std::fflush(stdout);
  }

 private:
  std::set<std::string> rows_;
  std::FILE* file_ = nullptr;
};

}  // namespace bench
