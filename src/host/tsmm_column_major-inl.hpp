// Included by tsmm_simd.cpp, once per target.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/host/emit-inl.hpp"
#include "src/host/products.hpp"
#include "src/host/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {
namespace by_columns {

// Lanes run down the columns, the entries of C are broadcast: a register tile holds tv vectors of tn columns of B.
// Complex: with c = x + iy, b = x a + y (i a), and i a is a swap and a sign.
// Tile after tile goes down the rows. What a tile reads of A stays in the first-level cache for all columns of B, and
// the rows ahead come in meanwhile. To be streamed, results are turned in their vectors until these stand as memory
// wants them: a column's last ones wait in a register's worth of memory, its carry, for the next tile.

template <class T>
struct Tile {
  const T* a;
  std::int64_t lda;
  const T* c;
  std::int64_t ldc;
  std::int64_t terms;
  std::int64_t last;  // numbers that count in the last vector of a column
  T* const* out;
  Store store;
  T beta;
  bool first;            // no carry yet
  T* carry;              // of each column, a vector
  const T* ahead;        // rows of A that come in meanwhile, from the same columns:
  std::int64_t fetched;  // so many vectors of each
};

template <class T, int tv>
HWY_INLINE void stream_column(const Vec<T> (&column)[tv], T* out, T* carry, bool first) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  const std::int64_t phase = vector_phase(out);
  if (phase == 0) {
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) hn::Stream(column[v], d, out + v * lanes);
    return;
  }
  const auto turn = hn::SetTableIndices(d, turns<T>.index[phase]);
  const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(phase));
  T* const aligned = out - phase;
  Vec<T> before = hn::Load(d, carry);
#pragma GCC unroll 4
  for (int v = 0; v < tv; ++v) {
    const Vec<T> turned = hn::TableLookupLanes(column[v], turn);
    if (v == 0 && first) {
      store_first(column[0], out, hn::FirstN(d, static_cast<std::size_t>(lanes - phase)), lanes - phase);
    } else {
      hn::Stream(hn::IfThenElse(mask, before, turned), d, aligned + v * lanes);
    }
    before = turned;
  }
  hn::Store(before, d, carry);
}

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
  const T* ahead = t.ahead;
  for (std::int64_t i = 0; i < t.terms; ++i, a += t.lda, ahead += t.lda, c += (complex ? 2 : 1) * t.ldc) {
    for (std::int64_t v = 0; v < t.fetched; ++v) prefetch_near(reinterpret_cast<const char*>(ahead + v * lanes));
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
    T* const out = t.out[j];
    Vec<T> column[tv];
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) column[v] = acc[v][j];
    if (t.store == Store::stream) {
      stream_column<T, tv>(column, out, t.carry + j * lanes, t.first);
      continue;
    }
    T* const tail = out + (tv - 1) * lanes;
    if (t.store == Store::add) {
      const Vec<T> beta = hn::Set(d, t.beta);
#pragma GCC unroll 4
      for (int v = 0; v + 1 < tv; ++v) column[v] = hn::MulAdd(beta, hn::LoadU(d, out + v * lanes), column[v]);
      column[tv - 1] = hn::MulAdd(beta, load_first(tail, mask, t.last), column[tv - 1]);
    }
#pragma GCC unroll 4
    for (int v = 0; v + 1 < tv; ++v) hn::StoreU(column[v], d, out + v * lanes);
    store_first(column[tv - 1], tail, mask, t.last);
  }
}

constexpr int tall = registers == 32 ? 4 : 2;
constexpr int max_tn = registers == 32 ? 6 : 4;

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, int tv, bool complex, int... j>
constexpr auto tiles_of(std::integer_sequence<int, j...>) {
  return std::array<TileFunction<T>, sizeof...(j)>{run_tile<T, tv, j + 1, complex>...};
}
template <class T, int tv, bool complex>
constexpr auto tile_table = tiles_of<T, tv, complex>(std::make_integer_sequence<int, max_tn>());

// Columns [left, right) of the product of tv vectors of rows of A (of less in the last, where `last` says so).
template <int tv, bool complex, class T>
void multiply_columns(const Product<T>& p, Tile<T> tile, std::int64_t left, std::int64_t right) {
  constexpr std::int64_t parts = complex ? 2 : 1;
  const std::int64_t skip = p.triangle == Triangle::lower ? std::min(left, p.m) : 0;
  const std::int64_t stop = p.triangle == Triangle::upper ? std::min(right, p.m) : p.m;
  tile.a += skip * p.lda;
  tile.ahead += skip * p.lda;
  tile.c = p.c + skip * parts * p.ldc + left;
  tile.terms = stop - skip;
  tile_table<T, tv, complex>[static_cast<std::size_t>(right - left - 1)](tile);
}

// So many tiles of tv vectors down the rows of B, from number `row` of each column on; the last tile's last vector of
// each column counts `last` numbers.
template <int tv, bool complex, class T>
void multiply(const Product<T>& p, std::int64_t row, std::int64_t tiles, std::int64_t last, bool hold, bool first,
              std::int64_t ahead, T* carries, T* held) {
  constexpr std::int64_t lanes = lanes_of<T>;
  constexpr std::int64_t step = tv * lanes;
  const std::int64_t strips = ceil_div(p.n, max_tn);
  Tile<T> tile{};
  tile.lda = p.lda;
  tile.ldc = p.ldc;
  tile.last = last;
  tile.store = hold || (tv == 1 && p.store == Store::stream) ? Store::plain : p.store;
  tile.beta = p.beta_re;
  for (std::int64_t y = 0; y < strips; ++y) {
    const std::int64_t left = piece(p.n, strips, y);
    const std::int64_t right = piece(p.n, strips, y + 1);
    tile.carry = carries + left * lanes;
    tile.fetched = tv * (y + 1) / strips - tv * y / strips;
    for (std::int64_t i = 0; i < tiles; ++i) {
      T* out[max_tn];
      for (std::int64_t j = left; j < right; ++j) {
        out[j - left] = hold ? held + j * step : p.b + j * p.ldb + row + i * step;
      }
      tile.out = out;
      tile.first = first && i == 0;
      tile.a = p.a + row + i * step;
      tile.ahead = tile.a + ahead + tv * y / strips * lanes;
      multiply_columns<tv, complex>(p, tile, left, right);
    }
  }
  const std::int64_t count = step - lanes + last;
  for (std::int64_t j = 0; j < p.n && hold; ++j) emit_run(held + j * step, p.b + j * p.ldb + row, count, p);
}

template <bool complex, class T>
void all_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  constexpr std::int64_t lanes = lanes_of<T>;
  constexpr std::int64_t parts = complex ? 2 : 1;
  constexpr std::int64_t step = tall * lanes;
  T* const carries = buffer;
  T* const held = buffer + p.n * lanes;
  // Results that cannot leave yet: in place all of A's rows are read first; a complex beta takes a loop of its own.
  const bool hold = p.in_place || (p.store == Store::add && p.beta_im != T(0));
  // A large C is worth more tiles at a time, so that it need not come again for each from the second-level cache.
  const std::int64_t several = !hold && bytes_of<T>(parts * p.m * p.n) > 16384 ? 4 : 1;
  const std::int64_t ahead = std::max(several, ceil_div(stream_distance_bytes, bytes_of<T>(p.m * step))) * step;
  const std::int64_t begin = first * parts;
  const std::int64_t end = (first + rows) * parts;
  std::int64_t row = begin;
  while (row + step <= end) {
    const std::int64_t tiles = std::min(several, (end - row) / step);
    multiply<tall, complex>(p, row, tiles, lanes, hold, row == begin, ahead, carries, held);
    row += tiles * step;
  }
  if (p.store == Store::stream && row > begin) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      T* const out = p.b + j * p.ldb + row;
      const std::int64_t phase = vector_phase(out);
      if (phase > 0) copy_run(carries + j * lanes, out - phase, phase);
    }
  }
  for (; row < end; row += lanes) {
    multiply<1, complex>(p, row, 1, std::min(lanes, end - row), hold, true, 0, carries, held);
  }
}

#if HWY_TARGET == HWY_SCALAR
// One lane knows no pairs: complex numbers take plain loops.
template <class T>
void complex_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  for (std::int64_t k = 2 * first; k < 2 * (first + rows); k += 2) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::int64_t skip = p.triangle == Triangle::lower ? std::min(j, p.m) : 0;
      const std::int64_t stop = p.triangle == Triangle::upper ? std::min(j + 1, p.m) : p.m;
      T* const out = buffer + 2 * j;
      out[0] = out[1] = 0;
      for (std::int64_t i = skip; i < stop; ++i) {
        const T re = p.c[2 * i * p.ldc + j];
        const T im = p.c[(2 * i + 1) * p.ldc + j];
        const T* const a = p.a + i * p.lda + k;
        out[0] += a[0] * re - a[1] * im;
        out[1] += a[0] * im + a[1] * re;
      }
    }
    for (std::int64_t j = 0; j < p.n; ++j) emit_run(buffer + 2 * j, p.b + j * p.ldb + k, 2, p);
  }
}
#endif

template <class T>
void any_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
#if HWY_TARGET == HWY_SCALAR
  if (p.complex) return complex_rows(p, first, rows, buffer);
  all_rows<false>(p, first, rows, buffer);
#else
  p.complex ? all_rows<true>(p, first, rows, buffer) : all_rows<false>(p, first, rows, buffer);
#endif
}

}  // namespace by_columns
}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
