#pragma once

#include <algorithm>
#include <blockvec/scalar.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "solvers/host_memory.hpp"

/// Entries of a Hermitian matrix as files give them.
namespace blockvec::solvers {

/// An entry of a matrix; rows and columns count from 0.
template <class Scalar>
struct MatrixEntry {
  std::int64_t row;
  std::int64_t column;
  Scalar value;
};

/// Rows [begin, end) of a matrix.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool contains(std::int64_t row) const { return row >= begin && row < end; }
};

template <class Scalar>
double magnitude(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return std::hypot(value.real(), value.imag());
  } else {
    return std::abs(value);
  }
}

/// What stands opposite in a Hermitian matrix. Without negative zeros, which messages would show.
template <class Scalar>
Scalar mirror_value(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), 0 - value.imag()};
  } else {
    return value;
  }
}

/// "1.5" or "(1.5, -2)".
template <class Scalar>
std::string value_text(Scalar value);

/// Appends; asks whether there is memory each time that the array has to grow by much.
template <class Scalar>
void append(std::vector<MatrixEntry<Scalar>>& entries, const MatrixEntry<Scalar>& entry) {
  if (entries.size() == entries.capacity()) expect_memory("matrix entries", 2 * entries.size() * sizeof(entry));
  entries.push_back(entry);
}

/// By row and column; entries of the same place stay in the order in which they came.
template <class Scalar>
void sort_by_place(std::vector<MatrixEntry<Scalar>>& entries);

/// As sort_by_place(), entries of the same place summed in their order. Throws InputError naming `path` and the entry
/// where a sum is not finite.
template <class Scalar>
void sort_and_sum(const std::string& path, std::vector<MatrixEntry<Scalar>>& entries);

/// Every entry must be the conjugate of the one across the diagonal, to rounding of the matrix: values that were
/// computed differ by eps times its norm, however small they are themselves, so by 4 eps `frobenius_norm` at most.
/// `rows` are the entries of this rank's range, `columns` the conjugate transpose of other ranks' rows in this rank's
/// columns, both by row and column, one a place. Throws InputError naming `path` and the first entry that is not.
template <class Scalar>
void check_hermitian(const std::string& path, const std::vector<MatrixEntry<Scalar>>& rows,
                     const std::vector<MatrixEntry<Scalar>>& columns, const RowRange& range, double frobenius_norm);

/// This rank's rows from their entries, by sort_and_sum().
template <class Scalar>
class FileRows final : public RowSource<Scalar> {
 public:
  FileRows(std::string path, std::int64_t size, std::vector<MatrixEntry<Scalar>> entries)
      : path_(std::move(path)), size_(size), entries_(std::move(entries)) {}
  std::int64_t size() const override { return size_; }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    auto entry = std::lower_bound(entries_.begin(), entries_.end(), row,
                                  [](const MatrixEntry<Scalar>& e, std::int64_t r) { return e.row < r; });
    for (; entry != entries_.end() && entry->row == row; ++entry) entries.add(entry->column, entry->value);
  }
  std::string describe() const override { return path_; }

 private:
  std::string path_;
  std::int64_t size_;
  std::vector<MatrixEntry<Scalar>> entries_;  // by row and column
};

}  // namespace blockvec::solvers
