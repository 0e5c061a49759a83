#pragma once

#include <algorithm>
#include <blockvec/kernels/spmmv.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tests/kernels/support/guarded_matrix.hpp"

/// Sparse matrices of tests, and the bound that their products are held against.
namespace blockvec::kernels::test {

template <class T, class Offset = std::int64_t>
struct SparseMatrix {
  std::int64_t columns = 0;
  std::vector<Offset> row_begin{0};
  std::vector<std::int32_t> column{};
  std::vector<T> value{};

  std::int64_t rows() const { return static_cast<std::int64_t>(row_begin.size()) - 1; }
  CsrMatrix<T, Offset> view() const { return {rows(), columns, row_begin.data(), column.data(), value.data()}; }
  std::int64_t longest() const {
    Offset most = 0;
    for (std::size_t i = 1; i < row_begin.size(); ++i) most = std::max<Offset>(most, row_begin[i] - row_begin[i - 1]);
    return most;
  }
  /// The same positions, entries by `f`.
  template <class F>
  auto map(F&& f) const {
    SparseMatrix<decltype(f(T())), Offset> to{columns, row_begin, column};
    for (const T& x : value) to.value.push_back(f(x));
    return to;
  }
};

/// even: rows of seven entries. ragged: of none to twelve. with_long_rows: ragged, and a few rows of most columns.
enum class Pattern { empty, even, ragged, with_long_rows };
inline constexpr Pattern patterns[] = {Pattern::empty, Pattern::even, Pattern::ragged, Pattern::with_long_rows};

template <class T, class Offset = std::int64_t>
SparseMatrix<T, Offset> random_sparse(std::int64_t rows, std::int64_t columns, Pattern pattern) {
  std::mt19937 random(static_cast<unsigned>(rows + 7 * columns + static_cast<int>(pattern)));
  std::uniform_real_distribution<double> uniform(-1, 1);
  SparseMatrix<T, Offset> a{columns};
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t entries = pattern == Pattern::empty ? 0 : pattern == Pattern::even ? 7 : random() % 13;
    if (pattern == Pattern::with_long_rows && i % 97 == 5) entries = columns - columns / 5;
    entries = std::min(entries, columns);
    std::set<std::int32_t> chosen;
    while (static_cast<std::int64_t>(chosen.size()) < entries) {
      chosen.insert(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(columns)));
    }
    for (const std::int32_t j : chosen) {
      a.column.push_back(j);
      a.value.push_back(test::value<T>(uniform(random), uniform(random)));
    }
    a.row_begin.push_back(static_cast<Offset>(a.column.size()));
  }
  return a;
}

}  // namespace blockvec::kernels::test
