#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/dispatch/cuda/calls.hpp"
#include "src/dispatch/cuda/configuration.hpp"

/// Every committed figure of bench/results/h200 is one of the kernel and the configuration that a call runs today. Who
/// changes a choice measures its rows again (bench/cuda_vs_cublas leaves out those that are there).
namespace blockvec::kernels::dispatch {
namespace {

CudaDevice h200() {
  CudaDevice device{132, 232448, true, "NVIDIA H200", 90};
  device.warpgroups = true;
  set_rates(device, {1980000, 3201000, 6016});
  return device;
}

/// A row's first cells: product,type,layout,m,n,lda,k; "row+3" begins at column 3, "column+1" at row 1.
struct Row {
  std::string product, type;
  bool row_major = true;
  std::int64_t m = 0, n = 0, ld = 0, k = 0, offset = 0;
  std::string kernel, configuration;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<Row> rows_of(const std::string& file) {
  std::ifstream lines(std::string(BLOCKVEC_RESULTS) + "/h200/" + file);
  std::vector<Row> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#' || line.rfind("product,", 0) == 0) continue;
    const std::vector<std::string> cells = cells_of(line + ",");  // a last empty cell counts
    if (cells.size() < 13) {
      ADD_FAILURE() << file << ": " << line;
      continue;
    }
    const std::size_t plus = cells[2].find('+');
    rows.push_back({cells[0], cells[1], cells[2].rfind("row", 0) == 0, std::stoll(cells[3]), std::stoll(cells[4]),
                    std::stoll(cells[5]), std::stoll(cells[6]),
                    plus == std::string::npos ? 0 : std::stoll(cells[2].substr(plus + 1)), cells[12],
                    cells.size() > 13 ? cells[13] : ""});
  }
  return rows;
}

/// "kernel configuration" of a row's call, on operands as bench/cuda_vs_cublas has them.
template <class T>
std::string chosen(const CudaDevice& device, const Row& row) {
  const bool one = row.product == "gram" || row.product == "tsmm_inplace";
  const std::int64_t ld_b = one || row.m == row.n ? row.ld : row.row_major ? row.n : row.k;
  const auto at = [](std::uintptr_t place, std::int64_t entries) { return reinterpret_cast<T*>(place) + entries; };
  const std::uintptr_t first = std::uintptr_t{1} << 40, second = std::uintptr_t{2} << 40;
  const Layout layout = row.row_major ? Layout::row_major : Layout::column_major;
  Matrix<const T> a{at(first, row.offset), row.k, row.m, row.ld, layout};
  Matrix<const T> b{one ? a.data : at(second, ld_b == row.ld ? row.offset : 0), row.k, row.n, ld_b, layout};
  prefer_rows(a, b);
  const auto text = [](const auto& choice) {
    return name_of(choice.configuration->kernel) + ' ' + words(choice.configuration);
  };
  if (row.product == "tsmttsm" || row.product == "gram") return text(choose(device, problem_of(a, b)));
  return text(choose(device, problem_of(a, b, row.product == "update")));
}

std::string chosen(const CudaDevice& device, const Row& row) {
  switch (row.type.front()) {
    case 'S':
      return chosen<float>(device, row);
    case 'C':
      return chosen<std::complex<float>>(device, row);
    case 'Z':
      return chosen<std::complex<double>>(device, row);
    default:
      return chosen<double>(device, row);
  }
}

TEST(CudaCommitted, RowsNameWhatCallsRun) {
  const CudaDevice device = h200();
  std::size_t count = 0;
  for (const char* const file : {"cuda_vs_cublas.csv", "cuda_vs_cublas_widths.csv", "cuda_vs_cublas_types.csv",
                                 "cuda_vs_cublas_odd.csv", "cuda_vs_cublas_64MiB.csv"}) {
    for (const Row& row : rows_of(file)) {
      ++count;
      EXPECT_EQ(row.kernel + ' ' + row.configuration, chosen(device, row))
          << file << ": " << row.product << ' ' << row.type << (row.row_major ? " rows " : " columns ") << row.m << 'x'
          << row.n << " ld " << row.ld << " K " << row.k << " from " << row.offset;
    }
  }
  EXPECT_GE(count, 2400U);
}

}  // namespace
}  // namespace blockvec::kernels::dispatch
