#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "solvers/hermitian_entries.hpp"
#include "solvers/is_finite.hpp"

/// Operators and tall blocks as small matrices on every rank, and the other way round.
namespace blockvec::solvers {

template <class Vector>
using OnHost = BlockVector<typename Vector::Scalar, typename Vector::Layout, Kokkos::HostSpace>;

/// V itself where it lies on the host, or memory there of its shape.
template <class Vector>
OnHost<Vector> twin_on_host(const Vector& v) {
  if constexpr (is_host_space<typename Vector::Space>) {
    return v;
  } else {
    return {v.context(), v.rows(), v.width(), "twin on the host"};
  }
}

/// Copies from a vector to its twin, or back.
template <class From, class To>
void copy_to_twin(const From& from, const To& to) {
  if constexpr (!std::is_same_v<From, To>) copy(from, to);
}

/// The rows of V, on the host, go to their places in `all`, which has all rows. Its other rows stay as they are.
template <class Host>
void place_rows(const Host& v, const SmallMatrix<typename Host::Scalar>& all) {
  for (std::int64_t j = 0; j < v.width(); ++j) {
    for (std::int64_t i = 0; i < v.local_rows(); ++i) all.data()[v.rows().begin() + i + j * all.ld()] = v.view()(i, j);
  }
}

/// `all` had the rows of this rank and zeros: then it has those of all ranks, exactly, since nothing is added to them
/// but zeros. One reduction.
template <class Scalar>
void share_rows(const SmallMatrix<Scalar>& all) {
  const std::int64_t numbers = all.rows() * all.columns();
  all.context().sum(all.data(), numbers, static_cast<std::uint64_t>(numbers));
}

/// All rows of V, on every rank. One reduction.
template <class Vector>
SmallMatrix<typename Vector::Scalar> all_rows(const Vector& v) {
  const SmallMatrix<typename Vector::Scalar> all(v.context(), v.global_rows(), v.width());
  const auto host = twin_on_host(v);
  copy_to_twin(v, host);
  place_rows(host, all);
  share_rows(all);
  return all;
}

/// V gets this rank's rows of these columns of `all`.
template <class Vector>
void take_rows(const SmallMatrix<typename Vector::Scalar>& all, const std::vector<std::int64_t>& columns,
               const Vector& v) {
  const auto host = twin_on_host(v);
  for (std::int64_t j = 0; j < v.width(); ++j) {
    const auto* const from = all.data() + columns[static_cast<std::size_t>(j)] * all.ld() + v.rows().begin();
    for (std::int64_t i = 0; i < v.local_rows(); ++i) host.view()(i, j) = from[i];
  }
  copy_to_twin(host, v);
}

/// The matrix of a linear operator, the same bits on every rank: apply(x, y) is called for the columns of the identity,
/// in blocks. After each, goes_on() says whether to go on; where it says no, the rest is zeros. Cost: one application a
/// column, one reduction of rows^2 numbers. Memory: rows^2 numbers, and 2 blocks (on a device 4).
template <class Vector, class Apply, class GoesOn>
SmallMatrix<typename Vector::Scalar> formed_matrix(const Context& context, const RowDistribution& rows,
                                                   const Apply& apply, const GoesOn& goes_on) {
  using Scalar = typename Vector::Scalar;
  constexpr std::int64_t together = 64;  // wide enough for the best products, and a few observers' looks
  const std::int64_t n = rows.global_rows(), most = std::min(n, together);
  const Vector x(context, rows, most, "columns of the identity"), y(context, rows, most, "columns of the matrix");
  const auto units = twin_on_host(x), images = twin_on_host(y);
  const SmallMatrix<Scalar> all(context, n, n);
  const auto set_units = [&](std::int64_t begin, std::int64_t end, Scalar value) {
    for (std::int64_t row = std::max(begin, rows.begin()); row < std::min(end, rows.end()); ++row)
      units.view()(row - rows.begin(), row - begin) = value;
  };
  for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
    end = std::min(n, begin + together);
    const auto block = [&](const auto& v) { return v.columns(0, end - begin); };
    set_units(begin, end, Scalar(1));
    copy_to_twin(block(units), block(x));
    apply(block(x), block(y));
    copy_to_twin(block(y), block(images));
    place_rows(block(images), all.block(0, n, begin, end));
    set_units(begin, end, Scalar(0));
    if (!goes_on()) return all;
  }
  share_rows(all);
  return all;
}

/// "1.5" or "(1.5, -2)", in any precision.
template <class Scalar>
std::string text_of(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return value_text(Complex<double>(value.real(), value.imag()));
  } else {
    return value_text(static_cast<double>(value));
  }
}

/// A formed matrix is finite, and the conjugate transpose of itself to rounding errors of products with it: a sum of n
/// terms has an error of about n eps times the norm. LAPACK reads one triangle only, so nothing else would tell. Throws
/// NotFiniteError or InputError, naming the solver, the matrix and the place.
template <class Scalar>
void require_hermitian(const std::string& solver, const std::string& name, const SmallMatrix<Scalar>& a) {
  const std::int64_t n = a.rows();
  const auto at = [&](std::int64_t i, std::int64_t j) { return a.data()[i + j * a.ld()]; };
  for (std::int64_t j = 0; j < n; ++j) {
    if (all_finite(a.data() + j * a.ld(), n)) continue;
    throw NotFiniteError(fmt::format("{}: {} applied to column {} of the identity is not finite", solver, name, j));
  }
  const double limit =
      static_cast<double>(n + 8) * epsilon<Scalar> * static_cast<double>(orth::dense::frobenius_norm(a));
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      if (magnitude(at(i, j) - mirror_value(at(j, i))) <= limit) continue;
      throw InputError(fmt::format("{}: {} is not Hermitian: entry ({}, {}) is {}, but entry ({}, {}) is {}", solver,
                                   name, i, j, text_of(at(i, j)), j, i, text_of(at(j, i))));
    }
  }
}

}  // namespace blockvec::solvers
