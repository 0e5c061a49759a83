#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <complex>
#include <string>
#include <utility>

#include "space.hpp"

/// Arrays of Python as block vectors and small matrices, without copies. Python has checked dtypes, shapes, layouts and
/// where the memory is (_arrays.py, _homes.py), so what does not fit here is a mistake of this package.
namespace blockvec::python {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro>;  ///< read only, or also written where a function says so
using Writable = nb::ndarray<>;

/// Calls body.operator()<Scalar>() with the scalar type of that letter: NumPy's "f", "d", "F" or "D".
template <class Body>
decltype(auto) with_scalar(char letter, Body&& body) {
  switch (letter) {
    case 'f':
      return body.template operator()<float>();
    case 'd':
      return body.template operator()<double>();
    case 'F':
      return body.template operator()<Complex<float>>();
    case 'D':
      return body.template operator()<Complex<double>>();
    default:
      throw nb::type_error("expected the dtype f, d, F or D");
  }
}

/// The same with body.operator()<Scalar, Layout>().
template <class Body>
decltype(auto) with_types(char letter, bool by_rows, Body&& body) {
  return with_scalar(letter, [&]<class Scalar>() {
    return by_rows ? body.template operator()<Scalar, RowMajor>() : body.template operator()<Scalar, ColumnMajor>();
  });
}

template <class Scalar, class Any>
Scalar* entries_of(const Any& array) {
  if (array.dtype() != nb::dtype<typename ScalarTraits<Scalar>::Kernel>()) {
    throw nb::type_error("the arrays of a call have several dtypes");
  }
  // The library takes pointers to mutable entries, also of what it only reads.
  return static_cast<Scalar*>(const_cast<void*>(static_cast<const void*>(array.data())));
}

/// Which rank holds which rows, where this one holds those of the array. Collective where there are several.
template <class Any>
RowDistribution rows_of(const Context& context, const Any& array) {
  return RowDistribution::from_local_rows(static_cast<std::int64_t>(array.shape(0)), context.communicator());
}

/// A strided two-dimensional array as a block vector. A stride along an extent of 0 or 1 says nothing, nor
/// does one of an empty array.
template <class Scalar, class Layout, class Any>
Tall<Scalar, Layout> tall(const Context& context, const RowDistribution& distribution, const Any& array,
                          const std::string& label) {
  constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  const auto rows = static_cast<std::int64_t>(array.shape(0)), columns = static_cast<std::int64_t>(array.shape(1));
  const std::int64_t least = std::max<std::int64_t>(by_rows ? columns : rows, 1);
  const bool is_single = (by_rows ? rows : columns) <= 1 || rows * columns == 0;
  const std::int64_t ld = is_single ? least : array.stride(by_rows ? 0 : 1);
  return Tall<Scalar, Layout>::wrap(context, distribution, entries_of<Scalar>(array), columns, ld, label);
}

/// V and W as views of one block vector where W's columns follow V's in memory, as those of a growing basis do: then a
/// sweep reads both at once. On one rank, since others could see it otherwise; else V and W as they are.
template <class Scalar, class Layout>
std::pair<Tall<Scalar, Layout>, Tall<Scalar, Layout>> as_neighbours(const Tall<Scalar, Layout>& v,
                                                                    const Tall<Scalar, Layout>& w) {
  constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  const std::int64_t m = v.width(), b = w.width(), step = by_rows ? m : m * v.ld();
  const bool fits = v.ld() == w.ld() && v.ld() >= (by_rows ? m + b : v.local_rows());
  const bool is_alone = v.context().communicator().size() == 1;
  if (!is_alone || m == 0 || b == 0 || v.local_rows() == 0 || !fits || v.data() + step != w.data()) return {v, w};
  const auto both = Tall<Scalar, Layout>::wrap(v.context(), v.rows(), v.data(), m + b, v.ld(), "basis and X");
  return {both.columns(0, m), both.columns(m, m + b)};
}

/// A contiguous array in Fortran's order as a small matrix.
template <class Scalar, class Any>
Small<Scalar> small(const Context& context, const Any& array) {
  return {context, typename Small<Scalar>::View(entries_of<Scalar>(array), array.shape(0), array.shape(1))};
}

/// Real scalars get the real part: Python has refused others.
template <class Scalar>
Scalar scalar_from(std::complex<double> value) {
  using Real = RealOf<Scalar>;
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {static_cast<Real>(value.real()), static_cast<Real>(value.imag())};
  } else {
    return static_cast<Real>(value.real());
  }
}

}  // namespace blockvec::python
