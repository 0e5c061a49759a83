#include "bench/cuda_sweep_table.hpp"

#include <fstream>
#include <stdexcept>

namespace bench {

SweepTable::SweepTable(const std::string& path, const std::string& comment, const std::vector<std::string>& columns,
                       std::size_t key_columns)
    : file_(nullptr), comment_(comment) {
  bool is_new = true;
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    is_new = false;
    if (line.empty() || line[0] == '#') continue;
    std::size_t end = 0;
    for (std::size_t column = 0; column < key_columns && end != std::string::npos; ++column) {
      end = line.find(',', end + (column > 0 ? 1 : 0));
    }
    keys_.insert(line.substr(0, end));
  }
  file_ = std::fopen(path.c_str(), "a");
  if (file_ == nullptr) throw std::runtime_error("cannot write " + path);
  if (is_new) {
    std::string header;
    for (const std::string& column : columns) header += (header.empty() ? "" : ",") + column;
    std::fprintf(file_, "%s\n", header.c_str());
  }
}

SweepTable::~SweepTable() { std::fclose(file_); }

void SweepTable::add(const std::string& key, const std::string& values) {
  if (!comment_.empty()) std::fprintf(file_, "# %s\n", comment_.c_str());
  comment_.clear();
  std::fprintf(file_, "%s,%s\n", key.c_str(), values.c_str());
  std::fflush(file_);
  keys_.insert(key);
}

}  // namespace bench
