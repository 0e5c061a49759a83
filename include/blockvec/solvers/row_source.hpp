#pragma once

#include <blockvec/precision.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace blockvec::solvers {

/// Entries of one matrix row, in any order; entries of the same column add up.
template <class Scalar>
struct RowEntries {
  std::vector<std::int64_t> columns;  ///< global numbers
  std::vector<Scalar> values;         ///< as many as columns

  /// Forgets the entries, keeps the memory.
  void clear() {
    columns.clear();
    values.clear();
  }
  /// One more entry.
  void add(std::int64_t column, Scalar value) {
    columns.push_back(column);
    values.push_back(value);
  }
};

/// A square sparse matrix that can write down any of its rows: what a distributed operator is filled from, so that no
/// rank ever holds more than its own rows.
template <class Scalar_>
class RowSource {
 public:
  using Scalar = Scalar_;  ///< of the entries

  virtual ~RowSource() = default;
  /// Rows and columns of the whole matrix.
  virtual std::int64_t size() const = 0;
  /// Appends the entries of global row `row`. Threads call it at the same time for different rows.
  virtual void append_row(std::int64_t row, RowEntries<Scalar>& entries) const = 0;
  /// Writes the entries of `count` columns of a row from column `first` on, in their order, and returns true. A source
  /// that does not store all entries, zeros included, writes nothing and returns false. Threads call it as append_row.
  virtual bool copy_entries([[maybe_unused]] std::int64_t row, [[maybe_unused]] std::int64_t first,
                            [[maybe_unused]] std::int64_t count, [[maybe_unused]] Scalar* to) const {
    return false;
  }
  /// One line for people.
  virtual std::string describe() const = 0;
};

/// A source from a function append(row, entries), which threads call at the same time for different rows.
template <class Scalar>
class RowFunction final : public RowSource<Scalar> {
 public:
  /// Appends the entries of a row.
  using Append = std::function<void(std::int64_t row, RowEntries<Scalar>& entries)>;

  /// A matrix of `size` rows. `description` is one line for people.
  RowFunction(std::int64_t size, Append append, std::string description = "rows of a function")
      : size_(size), append_(std::move(append)), description_(std::move(description)) {}
  /// Rows and columns of the whole matrix.
  std::int64_t size() const override { return size_; }
  /// Calls the function.
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override { append_(row, entries); }
  /// The description.
  std::string describe() const override { return description_; }

 private:
  std::int64_t size_;
  Append append_;
  std::string description_;
};

/// Another source's entries in single precision: what fills an operator for Problem::a_single.
template <class Scalar>
class RoundedRows final : public RowSource<SingleOf<Scalar>> {
 public:
  /// `source` must outlive this.
  explicit RoundedRows(const RowSource<Scalar>& source) : source_(source) {}
  /// Rows and columns of the whole matrix.
  std::int64_t size() const override { return source_.size(); }
  /// Rounds the other source's entries. What lies beyond the largest float becomes Inf, which operators refuse.
  void append_row(std::int64_t row, RowEntries<SingleOf<Scalar>>& entries) const override {
    RowEntries<Scalar> exact;
    source_.append_row(row, exact);
    for (std::size_t i = 0; i < exact.columns.size(); ++i) entries.add(exact.columns[i], rounded(exact.values[i]));
  }
  /// The other source's line.
  std::string describe() const override { return source_.describe() + ", in single precision"; }

 private:
  static SingleOf<Scalar> rounded(Scalar value) {
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      return {static_cast<float>(value.real()), static_cast<float>(value.imag())};
    } else {
      return static_cast<float>(value);
    }
  }

  const RowSource<Scalar>& source_;
};

}  // namespace blockvec::solvers
