#include "src/host/tsmm.hpp"

#include <algorithm>
#include <blockvec/kernels/parallel.hpp>
#include <complex>
#include <memory>

#include "src/host/products.hpp"

namespace blockvec::kernels::host {
namespace {

// alpha C as the kernels want it (products.hpp), zeros where the triangle has none.
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

}  // namespace

template <class T>
void tsmm(T alpha, const Matrix<const T>& a, const Matrix<const T>& c, T beta, const Matrix<T>& b, Triangle triangle,
          const dispatch::TsmmConfiguration& configuration, real_t<T>* scratch) {
  using R = real_t<T>;
  constexpr std::int64_t parts = real_parts<T>;
  const bool rows = b.layout == Layout::row_major;
  const bool empty = alpha == T(0) || c.rows == 0;
  if (!empty) pack(alpha, c, triangle, b.layout, configuration.packed_ld, scratch);
  Product<R> product{};
  product.a = real_view(a.data);
  product.lda = parts * a.ld;
  product.m = empty ? 0 : (rows ? parts * a.columns : a.columns);
  product.c = scratch;
  product.ldc = configuration.packed_ld;
  product.n = rows ? parts * b.columns : b.columns;
  product.b = real_view(b.data);
  product.ldb = parts * b.ld;
  product.complex = parts == 2;
  product.triangle = triangle;
  product.beta_re = real_part(beta);
  product.beta_im = imaginary_part(beta);
  product.store = dispatch::store_of(a, b, beta != T(0));
  void* start = scratch + configuration.packed_entries;
  std::size_t space =
      static_cast<std::size_t>(page_bytes + configuration.threads * bytes_of<R>(configuration.buffer_entries));
  R* const buffers = static_cast<R*>(std::align(page_bytes, space - page_bytes, start, space));
  parallel_for(static_cast<int>(configuration.threads), configuration.items, [&](std::int64_t item, int thread) {
    const std::int64_t first = item * configuration.item_rows;
    const std::int64_t count = std::min(configuration.item_rows, b.rows - first);
    R* const buffer = buffers + thread * configuration.buffer_entries;
    rows ? row_major_rows(product, first, count, buffer) : column_major_rows(product, first, count, buffer);
  });
}

template void tsmm(float, const Matrix<const float>&, const Matrix<const float>&, float, const Matrix<float>&, Triangle,
                   const dispatch::TsmmConfiguration&, float*);
template void tsmm(double, const Matrix<const double>&, const Matrix<const double>&, double, const Matrix<double>&,
                   Triangle, const dispatch::TsmmConfiguration&, double*);
template void tsmm(std::complex<float>, const Matrix<const std::complex<float>>&,
                   const Matrix<const std::complex<float>>&, std::complex<float>, const Matrix<std::complex<float>>&,
                   Triangle, const dispatch::TsmmConfiguration&, float*);
template void tsmm(std::complex<double>, const Matrix<const std::complex<double>>&,
                   const Matrix<const std::complex<double>>&, std::complex<double>, const Matrix<std::complex<double>>&,
                   Triangle, const dispatch::TsmmConfiguration&, double*);

}  // namespace blockvec::kernels::host
