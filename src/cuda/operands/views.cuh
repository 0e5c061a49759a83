#pragma once

#include <blockvec/kernels/matrix.hpp>
#include <complex>

#include "src/cuda/operands/load_columns.cuh"
#include "src/cuda/operands/load_flat_rows.cuh"
#include "src/cuda/operands/matrix.cuh"
#include "src/cuda/operands/tensor_map.hpp"
#include "src/dispatch/cuda/launch.hpp"
#include "src/real.hpp"

/// Makes the real views that kernels take from the operands of a call.
namespace blockvec::kernels::cuda {

template <class T>
inline constexpr int parts_of = real_parts<T>;

template <class T>
using real_pointer = std::conditional_t<std::is_const_v<T>, const real_t<T>*, real_t<T>*>;

template <class T>
real_pointer<T> real_data(const Matrix<T>& a) {
  return reinterpret_cast<real_pointer<T>>(a.data);
}

template <class T>
auto tall(const Matrix<T>& a) {
  constexpr int parts = parts_of<T>;
  const bool rows = a.layout == Layout::row_major;
  using Entry = std::remove_pointer_t<real_pointer<T>>;
  return Tall<Entry>{real_data(a), parts * (rows ? a.ld : 1), parts * (rows ? 1 : a.ld), parts, rows};
}

template <class T>
Small<real_t<T>> small(const Matrix<const T>& c, Triangle triangle) {
  constexpr int parts = parts_of<T>;
  const bool rows = c.layout == Layout::row_major;
  const Half half = triangle == Triangle::upper ? Half::upper : triangle == Triangle::lower ? Half::lower : Half::none;
  return {real_data(c), parts * (rows ? c.ld : 1), parts * (rows ? 1 : c.ld), parts, half};
}

/// The lines of an operand: rows of a row-major matrix, or columns that begin `before` rows ahead of a column-major
/// one. A single line has no distance to the next; it gets one that tensor maps accept.
template <class T>
Lines<real_t<T>> lines(const Matrix<const T>& a, int before = 0) {
  constexpr int parts = parts_of<T>;
  const bool rows = a.layout == Layout::row_major;
  const std::int64_t length = parts * (rows ? a.columns : before + a.rows);
  const std::int64_t count = rows ? a.rows : a.columns;
  return {real_data(a) - parts * before, length, count, count == 1 ? round_up(length, 4) : parts * a.ld};
}

/// `fold` rows of a row-major matrix are one row of the stream.
template <class T>
Stream<real_t<T>> stream(const Matrix<const T>& a, int fold) {
  constexpr int parts = parts_of<T>;
  return {real_data(a), parts * ((a.rows - 1) * a.ld + a.columns), static_cast<int>(fold * parts * a.ld)};
}

/// A column-major operand that begins `before` rows ahead of the matrix. A thread block takes `at_once` columns, which
/// are `pitch` numbers apart in a stage.
template <class T>
Columns<real_t<T>> columns(const Matrix<const T>& a, int at_once, int pitch, int before = 0) {
  constexpr int parts = parts_of<T>;
  Columns<real_t<T>> made{};
  made.data = real_data(a) - parts * before;
  made.distance = parts * a.ld;
  made.length = parts * (before + a.rows);
  made.before = parts * before;
  made.count = static_cast<int>(a.columns);
  made.at_once = at_once;
  made.parts = parts;
  made.pitch = pitch;
  made.classes = 1;
  made.even = made.distance * sizeof(real_t<T>) % 16 == 0 && reinterpret_cast<std::uintptr_t>(made.data) % 16 == 0;
  return made;
}

/// Rows from the last start of a cache line, or at least of 16 bytes, to the first row of column-major operands. It
/// is 0 where columns differ in it. Row tiles that begin so many rows early share no cache line, and lanes read them 16
/// bytes at a time.
template <class T, class U>
int rows_before(const Matrix<T>& a, const Matrix<U>& b) {
  const auto found = [&](std::uintptr_t unit) -> std::int64_t {
    const auto place = [&](const auto& x) { return reinterpret_cast<std::uintptr_t>(x.data) % unit; };
    const auto alike = [&](const auto& x) { return x.columns == 1 || x.ld * sizeof(T) % unit == 0; };
    const std::uintptr_t bytes = place(a);
    if (!alike(a) || !alike(b) || place(b) != bytes || bytes % sizeof(T) != 0) return -1;
    return static_cast<std::int64_t>(bytes / sizeof(T));
  };
  const std::int64_t of_line = found(line_bytes);
  return static_cast<int>(std::max<std::int64_t>(of_line >= 0 ? of_line : found(16), 0));
}

template <class T>
Coefficient<real_t<T>> coefficient(const Coefficients<T>& x) {
  Factor value{};
  if constexpr (parts_of<T> == 2) {
    value = {static_cast<double>(x.value.real()), static_cast<double>(x.value.imag())};
  } else {
    value = {static_cast<double>(x.value), 0};
  }
  return {value, reinterpret_cast<const real_t<T>*>(x.device), parts_of<T>};
}

}  // namespace blockvec::kernels::cuda
