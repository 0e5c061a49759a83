#include <algorithm>
#include <blockvec/kernels/dense.hpp>
#include <blockvec/kernels/packed.hpp>
#include <complex>
#include <cstdint>
#include <tuple>

#include "src/dispatch/host/dense_checks.hpp"
#include "src/reference/entry.hpp"

/// Packed Hermitian matrices on the host.
namespace blockvec::kernels {
namespace {

using dispatch::operand;
using reference::conjugate;
using reference::entry;

/// Calls f(first, rows, panel): columns from `first` on, for each panel as a matrix of the rows from `first` to n.
template <class T, class F>
void for_panels(const PackedHermitian<T>& a, F&& f) {
  for (std::int64_t first = 0; first < a.n; first += packed_panel<T>) {
    const std::int64_t columns = std::min(packed_panel<T>, a.n - first);
    f(first, Matrix<T>{a.data + packed_place<T>(a.n, first, first), a.n - first, columns, packed_panel<T>});
  }
}

template <class T>
Matrix<T> rows_of(const Matrix<T>& a, std::int64_t first, std::int64_t count) {
  return {a.data + (a.layout == Layout::row_major ? first * a.ld : first), count, a.columns, a.ld, a.layout};
}

}  // namespace

template <class T>
void pack(Triangle triangle, std::type_identity_t<Matrix<const T>> a, PackedHermitian<T> packed) {
  const Matrix<T> panels = dispatch::panels("pack", packed);
  dispatch::check_packing("pack", triangle, operand("A", a), packed.n, operand("packed A", panels));
  std::fill_n(panels.data, panels.rows * panels.columns, T(0));
  for_panels(packed, [&](std::int64_t first, const Matrix<T>& panel) {
    for (std::int64_t i = 0; i < panel.rows; ++i) {
      for (std::int64_t j = 0; j < std::min(i, panel.columns); ++j) {
        const std::int64_t row = first + i, column = first + j;
        entry(panel, i, j) = triangle == Triangle::lower ? entry(a, row, column) : conjugate(T(entry(a, column, row)));
      }
      if (i < panel.columns) entry(panel, i, i) = T(std::real(entry(a, first + i, first + i)));
    }
  });
}

template <class T>
void unpack(std::type_identity_t<PackedHermitian<const T>> packed, Matrix<T> a) {
  const Matrix<const T> panels = dispatch::panels("unpack", packed);
  dispatch::check_packing("unpack", Triangle::lower, operand("A", a), packed.n, operand("packed A", panels));
  for_panels(packed, [&](std::int64_t first, const Matrix<const T>& panel) {
    for (std::int64_t i = 0; i < panel.rows; ++i) {
      for (std::int64_t j = 0; j < std::min(i, panel.columns); ++j) {
        entry(a, first + i, first + j) = entry(panel, i, j);
        entry(a, first + j, first + i) = conjugate(T(entry(panel, i, j)));
      }
      if (i < panel.columns) entry(a, first + i, first + i) = T(std::real(entry(panel, i, i)));
    }
  });
}

template <class T>
void hemm(T alpha, std::type_identity_t<PackedHermitian<const T>> a, std::type_identity_t<Matrix<const T>> x, T beta,
          Matrix<T> y) {
  const dispatch::Operand of_x = operand("X", x), of_y = operand("Y", y);
  dispatch::check_packed_hemm(a.n, operand("packed A", dispatch::panels("hemm", a)), of_x, of_y);
  dispatch::check_blas_extents("hemm", {of_x, of_y});
  if (y.rows == 0 || y.columns == 0) return;
  constexpr std::int64_t together = 512;  // rows of a panel that a core's cache keeps for the second product
  T and_by = beta;                        // of Y, until all of it has been scaled
  for_panels(a, [&](std::int64_t first, const Matrix<const T>& panel) {
    const std::int64_t square = panel.columns;
    const Matrix<const T> x_panel = rows_of(x, first, square);
    const Matrix<T> y_panel = rows_of(y, first, square);
    hemm<T>(Triangle::lower, alpha, rows_of(panel, 0, square), x_panel, and_by, y_panel);
    for (std::int64_t i = square; i < panel.rows; i += together) {
      const std::int64_t count = std::min(together, panel.rows - i);
      const Matrix<const T> part = rows_of(panel, i, count);
      gemm<T>(alpha, part, x_panel, and_by, rows_of(y, first + i, count));
      gemm<T>(Op::conjugate_transpose, alpha, part, rows_of(x, first + i, count), T(1), y_panel);
    }
    and_by = T(1);
  });
}

/// Instantiates the functions, as in tall_skinny.cpp.
template <class T>
struct PackedOnHost {
  static constexpr std::tuple<void (*)(Triangle, Matrix<const T>, PackedHermitian<T>),
                              void (*)(PackedHermitian<const T>, Matrix<T>),
                              void (*)(T, PackedHermitian<const T>, Matrix<const T>, T, Matrix<T>)>
      functions{&pack<T>, &unpack<T>, &hemm<T>};
};
template struct PackedOnHost<float>;
template struct PackedOnHost<double>;
template struct PackedOnHost<std::complex<float>>;
template struct PackedOnHost<std::complex<double>>;

}  // namespace blockvec::kernels
