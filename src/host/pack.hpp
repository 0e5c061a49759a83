#pragma once

#include <algorithm>
#include <blockvec/kernels/matrix.hpp>
#include <cstdint>

#include "src/dispatch/host/configuration.hpp"
#include "src/host/products.hpp"
#include "src/host/real.hpp"

/// Products B = A C on their way to the SIMD files.
namespace blockvec::kernels::host {

/// alpha C as the kernels want it (products.hpp), zeros where the triangle has none.
template <class T>
void pack(T alpha, const Matrix<const T>& c, Triangle triangle, Layout layout, std::int64_t ld, real_t<T>* packed) {
  std::fill(packed, packed + real_parts<T> * c.rows * ld, real_t<T>(0));
  for (std::int64_t i = 0; i < c.rows; ++i) {
    const std::int64_t begin = triangle == Triangle::upper ? i : 0;
    const std::int64_t end = triangle == Triangle::lower ? std::min(c.columns, i + 1) : c.columns;
    for (std::int64_t j = begin; j < end; ++j) {
      const T entry = c.layout == Layout::row_major ? c.data[i * c.ld + j] : c.data[i + j * c.ld];
      if constexpr (!is_complex<T>) {
        packed[i * ld + j] = alpha * entry;
      } else {
        const auto re = alpha.real() * entry.real() - alpha.imag() * entry.imag();
        const auto im = alpha.real() * entry.imag() + alpha.imag() * entry.real();
        real_t<T>* const first = packed + 2 * i * ld;
        real_t<T>* const second = first + ld;
        if (layout == Layout::row_major) {
          first[2 * j] = re;
          first[2 * j + 1] = im;
          second[2 * j] = -im;
          second[2 * j + 1] = re;
        } else {
          first[j] = re;
          second[j] = im;
        }
      }
    }
  }
}

/// B = alpha A C + beta B, C packed to `packed`. B may be A's first columns.
template <class T>
Product<real_t<T>> packed_product(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta,
                                  const Matrix<T>& b, Triangle triangle,
                                  const dispatch::TsmmConfiguration& configuration, real_t<T>* packed) {
  constexpr std::int64_t parts = real_parts<T>;
  const bool rows = b.layout == Layout::row_major;
  const bool empty = alpha == T(0) || c.rows == 0;
  if (!empty) pack(alpha, c, triangle, b.layout, configuration.packed_ld, packed);
  Product<real_t<T>> product{};
  product.a = real_view(a.data);
  product.lda = parts * a.ld;
  product.m = empty ? 0 : (rows ? parts * a.columns : a.columns);
  product.c = packed;
  product.ldc = configuration.packed_ld;
  product.n = rows ? parts * b.columns : b.columns;
  product.b = real_view(b.data);
  product.ldb = parts * b.ld;
  product.complex = parts == 2;
  product.triangle = triangle;
  product.in_place = dispatch::overlap(dispatch::operand("A", a), dispatch::operand("B", b));
  product.beta_re = real_part(beta);
  product.beta_im = imaginary_part(beta);
  product.store = dispatch::store_of(a, b, beta != T(0));
  return product;
}

/// `start` or the first page after it: threads keep to pages of their own.
template <class R>
R* first_page(R* start) {
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  return start +
         (ceil_div(static_cast<std::int64_t>(address), page_bytes) * page_bytes - static_cast<std::int64_t>(address)) /
             static_cast<std::int64_t>(sizeof(R));
}

}  // namespace blockvec::kernels::host
