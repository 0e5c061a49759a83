#include "solvers/hermitian_entries.hpp"

#include <fmt/core.h>

#include <blockvec/solvers/input_error.hpp>
#include <optional>
#include <utility>

namespace blockvec::solvers {
namespace {

using Place = std::pair<std::int64_t, std::int64_t>;

template <class Scalar>
Place place(const MatrixEntry<Scalar>& entry) {
  return {entry.row, entry.column};
}

/// The value at a place; 0 where there is no entry.
template <class Scalar>
Scalar value_at(const std::vector<MatrixEntry<Scalar>>& entries, const Place& where) {
  const auto entry = std::lower_bound(entries.begin(), entries.end(), where,
                                      [](const MatrixEntry<Scalar>& e, const Place& p) { return place(e) < p; });
  return entry != entries.end() && place(*entry) == where ? entry->value : Scalar(0);
}

}  // namespace

template <class Scalar>
std::string value_text(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return fmt::format("({}, {})", value.real(), value.imag());
  } else {
    return fmt::format("{}", value);
  }
}

template <class Scalar>
void sort_by_place(std::vector<MatrixEntry<Scalar>>& entries) {
  const auto before = [](const MatrixEntry<Scalar>& a, const MatrixEntry<Scalar>& b) { return place(a) < place(b); };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::stable_sort(entries.begin(), entries.end(), before);
}

template <class Scalar>
void sort_and_sum(const std::string& path, std::vector<MatrixEntry<Scalar>>& entries) {
  sort_by_place(entries);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (kept > 0 && place(entries[kept - 1]) == place(entries[i])) {
      entries[kept - 1].value += entries[i].value;
    } else {
      entries[kept++] = entries[i];
    }
  }
  entries.resize(kept);
  for (const MatrixEntry<Scalar>& entry : entries) {
    if (!std::isfinite(magnitude(entry.value))) {
      throw InputError(fmt::format("{}: what is given for entry ({}, {}) adds up to {}", path, entry.row + 1,
                                   entry.column + 1, value_text(entry.value)));
    }
  }
}

template <class Scalar>
void check_hermitian(const std::string& path, const std::vector<MatrixEntry<Scalar>>& rows,
                     const std::vector<MatrixEntry<Scalar>>& columns, const RowRange& range, double frobenius_norm) {
  const double limit = 4 * epsilon<Scalar> * frobenius_norm;
  std::optional<MatrixEntry<Scalar>> first;  // in the upper triangle
  Scalar across{};
  const auto compare = [&](const MatrixEntry<Scalar>& entry, Scalar mirrored) {
    if (magnitude(entry.value - mirror_value(mirrored)) <= limit) return;
    const bool is_upper = entry.row <= entry.column;
    const MatrixEntry<Scalar> upper = is_upper ? entry : MatrixEntry<Scalar>{entry.column, entry.row, mirrored};
    if (first && place(*first) <= place(upper)) return;
    first = upper;
    across = is_upper ? mirrored : entry.value;
  };
  for (const MatrixEntry<Scalar>& entry : rows) {
    const Place mirror(entry.column, entry.row);
    compare(entry,
            range.contains(mirror.first) ? value_at(rows, mirror) : mirror_value(value_at(columns, place(entry))));
  }
  for (const MatrixEntry<Scalar>& entry : columns) {
    compare({entry.row, entry.column, value_at(rows, place(entry))}, mirror_value(entry.value));
  }
  if (first) {
    throw InputError(fmt::format("{}: the matrix is not Hermitian: entry ({}, {}) is {}, but entry ({}, {}) is {}",
                                 path, first->row + 1, first->column + 1, value_text(first->value), first->column + 1,
                                 first->row + 1, value_text(across)));
  }
}

#define BLOCKVEC_HERMITIAN_ENTRIES(Scalar)                                                   \
  template std::string value_text(Scalar);                                                   \
  template void sort_by_place(std::vector<MatrixEntry<Scalar>>&);                            \
  template void sort_and_sum(const std::string&, std::vector<MatrixEntry<Scalar>>&);         \
  template void check_hermitian(const std::string&, const std::vector<MatrixEntry<Scalar>>&, \
                                const std::vector<MatrixEntry<Scalar>>&, const RowRange&, double);
BLOCKVEC_HERMITIAN_ENTRIES(double)
BLOCKVEC_HERMITIAN_ENTRIES(Complex<double>)
#undef BLOCKVEC_HERMITIAN_ENTRIES

}  // namespace blockvec::solvers
