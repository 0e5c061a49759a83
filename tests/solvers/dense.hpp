#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <vector>

namespace blockvec::solvers {

/// A source as a dense matrix, entries of one place summed.
template <class Scalar>
HostMatrix<Scalar> dense(const RowSource<Scalar>& source) {
  const auto n = static_cast<std::size_t>(source.size());
  HostMatrix<Scalar> result("dense", n, n);
  RowEntries<Scalar> entries;
  for (std::size_t row = 0; row < n; ++row) {
    entries.clear();
    source.append_row(static_cast<std::int64_t>(row), entries);
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      result(row, static_cast<std::size_t>(entries.columns[i])) += entries.values[i];
    }
  }
  return result;
}

/// All eigenvalues, ascending.
template <class Scalar>
std::vector<double> spectrum(const HostMatrix<Scalar>& matrix) {
  const auto n = static_cast<std::int64_t>(matrix.extent(0));
  const Context context = Context::self(1);
  SmallMatrix<Scalar> a(context, n, n);
  SmallMatrix<double> values(context, 1, n);
  a.from_host(matrix);
  orth::dense::eigendecomposition(a, values, a);
  const auto host = values.to_host();
  return std::vector<double>(host.data(), host.data() + n);
}

template <class Scalar>
std::vector<double> spectrum(const RowSource<Scalar>& source) {
  return spectrum(dense(source));
}

/// What LAPACK's eigenvalues of a matrix with norm `norm` may be off by: a modest multiple of n eps norm.
inline double spectrum_tolerance(std::size_t n, double norm) {
  return 8 * static_cast<double>(n) * epsilon<double> * norm;
}

}  // namespace blockvec::solvers
