#include "src/host/products.hpp"
#include "src/host/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/host/tsmm_column_major.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/host/emit-inl.hpp"
#include "src/host/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {

// Lanes run down the columns, the entries of C are broadcast: a register tile holds tv vectors of tn columns of B.
// Complex: with c = x + iy, b = x a + y (i a), and i a is a swap and a sign.

template <class T>
struct Tile {
  const T* a;
  std::int64_t lda;
  const T* c;
  std::int64_t ldc;
  std::int64_t terms;
  std::int64_t last;  // numbers that count in the last vector of a column
  T* const* out;
};

template <class T, int tv, int tn, bool complex>
void run_tile(const Tile<T>& t) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(t.last));
  Vec<T> acc[tv][tn];
#pragma GCC unroll 4
  for (int v = 0; v < tv; ++v) {
#pragma GCC unroll 8
    for (int j = 0; j < tn; ++j) acc[v][j] = hn::Zero(d);
  }
  const T* a = t.a;
  const T* c = t.c;
  for (std::int64_t i = 0; i < t.terms; ++i, a += t.lda, c += (complex ? 2 : 1) * t.ldc) {
    Vec<T> av[tv];
#pragma GCC unroll 4
    for (int v = 0; v + 1 < tv; ++v) av[v] = hn::LoadU(d, a + v * lanes);
    av[tv - 1] = load_first(a + (tv - 1) * lanes, mask, t.last);
#pragma GCC unroll 8
    for (int j = 0; j < tn; ++j) {
      const Vec<T> re = hn::Set(d, c[j]);
#pragma GCC unroll 4
      for (int v = 0; v < tv; ++v) acc[v][j] = hn::MulAdd(av[v], re, acc[v][j]);
    }
    if constexpr (complex) {
      const Vec<T> even = hn::OddEven(hn::Zero(d), hn::Set(d, T(-0.0)));
#pragma GCC unroll 4
      for (int v = 0; v < tv; ++v) av[v] = hn::Xor(hn::Reverse2(d, av[v]), even);
#pragma GCC unroll 8
      for (int j = 0; j < tn; ++j) {
        const Vec<T> im = hn::Set(d, c[t.ldc + j]);
#pragma GCC unroll 4
        for (int v = 0; v < tv; ++v) acc[v][j] = hn::MulAdd(av[v], im, acc[v][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < tn; ++j) {
#pragma GCC unroll 4
    for (int v = 0; v + 1 < tv; ++v) hn::StoreU(acc[v][j], d, t.out[j] + v * lanes);
    store_first(acc[tv - 1][j], t.out[j] + (tv - 1) * lanes, mask, t.last);
  }
}

constexpr int tall = registers == 32 ? 4 : 2;
constexpr int max_tn = registers == 32 ? 5 : 4;

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, int tv, bool complex, int... j>
constexpr auto tiles_of(std::integer_sequence<int, j...>) {
  return std::array<TileFunction<T>, sizeof...(j)>{run_tile<T, tv, j + 1, complex>...};
}
template <class T, int tv, bool complex>
constexpr auto tile_table = tiles_of<T, tv, complex>(std::make_integer_sequence<int, max_tn>());

std::int64_t piece(std::int64_t total, std::int64_t parts, std::int64_t i) {
  return total / parts * i + std::min(i, total % parts);
}

// `length` numbers of each column of A, from `a` on, times columns [left, right) of C.
template <bool complex, class T>
void multiply_columns(const Product<T>& p, const T* a, std::int64_t length, std::int64_t left, std::int64_t right,
                      T* const* results) {
  constexpr std::int64_t lanes = lanes_of<T>;
  const auto tn = static_cast<std::size_t>(right - left - 1);
  const std::int64_t skip = p.triangle == Triangle::lower ? std::min(left, p.m) : 0;
  const std::int64_t stop = p.triangle == Triangle::upper ? std::min(right, p.m) : p.m;
  T* out[max_tn];
  std::copy(results, results + (right - left), out);
  Tile<T> tile{a + skip * p.lda, p.lda, p.c + skip * (complex ? 2 : 1) * p.ldc + left, p.ldc, stop - skip, lanes, out};
  std::int64_t i = 0;
  auto advance = [&](std::int64_t vectors) {
    i += vectors * lanes;
    tile.a += vectors * lanes;
    for (std::int64_t j = 0; j < right - left; ++j) out[j] += vectors * lanes;
  };
  for (; i + tall * lanes <= length; advance(tall)) tile_table<T, tall, complex>[tn](tile);
  for (; i < length; advance(1)) {
    tile.last = std::min(lanes, length - i);
    tile_table<T, 1, complex>[tn](tile);
  }
}

#if HWY_TARGET == HWY_SCALAR
// One lane knows no pairs: complex numbers take plain loops.
template <class T>
void multiply_complex(const Product<T>& p, const T* a, std::int64_t length, std::int64_t left, std::int64_t right,
                      T* const* results) {
  for (std::int64_t j = left; j < right; ++j) {
    T* const out = results[j - left];
    std::fill(out, out + length, T(0));
    const std::int64_t skip = p.triangle == Triangle::lower ? std::min(j, p.m) : 0;
    const std::int64_t stop = p.triangle == Triangle::upper ? std::min(j + 1, p.m) : p.m;
    for (std::int64_t i = skip; i < stop; ++i) {
      const T re = p.c[2 * i * p.ldc + j];
      const T im = p.c[(2 * i + 1) * p.ldc + j];
      const T* const column = a + i * p.lda;
      for (std::int64_t k = 0; k < length; k += 2) {
        out[k] += column[k] * re - column[k + 1] * im;
        out[k + 1] += column[k] * im + column[k + 1] * re;
      }
    }
  }
}
template <bool complex, class T>
void multiply(const Product<T>& p, const T* a, std::int64_t length, std::int64_t left, std::int64_t right,
              T* const* results) {
  if constexpr (complex) {
    multiply_complex(p, a, length, left, right, results);
  } else {
    multiply_columns<false>(p, a, length, left, right, results);
  }
}
#else
template <bool complex, class T>
void multiply(const Product<T>& p, const T* a, std::int64_t length, std::int64_t left, std::int64_t right,
              T* const* results) {
  multiply_columns<complex>(p, a, length, left, right, results);
}
#endif

template <bool complex, class T>
void all_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  constexpr std::int64_t terms = complex ? 2 : 1;
  const std::int64_t block = column_major_block_rows<T>(p.m, complex) * terms;
  const std::int64_t stride = column_major_buffer_stride<T>(p.m, complex);
  const std::int64_t tiles = ceil_div(p.n, max_tn);
  // In place every column is held back until all of A's block has been read, else those of one tile.
  const bool in_place = p.b == p.a;
  const std::int64_t end = (first + rows) * terms;
  for (std::int64_t row = first * terms; row < end; row += block) {
    const std::int64_t here = std::min(block, end - row);
    for (std::int64_t y = 0; y < tiles; ++y) {
      const std::int64_t left = piece(p.n, tiles, y);
      const std::int64_t right = piece(p.n, tiles, y + 1);
      // The next block comes into cache meanwhile.
      const std::int64_t next_end = std::min(here, end - row - here);
      for (std::int64_t i = p.m * y / tiles; i < p.m * (y + 1) / tiles; ++i) {
        const T* const next = p.a + i * p.lda + row + here;
        for (std::int64_t r = 0; r < next_end; r += line_entries<T>) prefetch(reinterpret_cast<const char*>(next + r));
      }
      T* results[max_tn];
      for (std::int64_t j = left; j < right; ++j) {
        results[j - left] = buffer + (in_place ? j : j - left) * stride + phase_of(p.b + j * p.ldb + row);
      }
      multiply<complex>(p, p.a + row, here, left, right, results);
      for (std::int64_t j = left; j < right && !in_place; ++j) {
        emit_run(results[j - left], p.b + j * p.ldb + row, here, p);
      }
    }
    if (in_place) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T* const out = p.b + j * p.ldb + row;
        emit_run(buffer + j * stride + phase_of(out), out, here, p);
      }
    }
  }
}

template <class T>
void any_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  p.complex ? all_rows<true>(p, first, rows, buffer) : all_rows<false>(p, first, rows, buffer);
}

void rows_float(const Product<float>& p, std::int64_t first, std::int64_t rows, float* buffer) {
  any_rows(p, first, rows, buffer);
}
void rows_double(const Product<double>& p, std::int64_t first, std::int64_t rows, double* buffer) {
  any_rows(p, first, rows, buffer);
}

}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blockvec::kernels::host {

HWY_EXPORT(rows_float);
HWY_EXPORT(rows_double);

void column_major_rows(const Product<float>& product, std::int64_t first, std::int64_t rows, float* buffer) {
  HWY_DYNAMIC_DISPATCH(rows_float)(product, first, rows, buffer);
  if (product.store == Store::stream) hwy::FlushStream();
}
void column_major_rows(const Product<double>& product, std::int64_t first, std::int64_t rows, double* buffer) {
  HWY_DYNAMIC_DISPATCH(rows_double)(product, first, rows, buffer);
  if (product.store == Store::stream) hwy::FlushStream();
}

}  // namespace blockvec::kernels::host
#endif
