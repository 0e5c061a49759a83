#include "src/host/products.hpp"
#include "src/host/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/host/tsmm_row_major.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>

#include "src/host/emit-inl.hpp"
#include "src/host/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {

// Lanes run along a row of C, the entries of A's rows are broadcast: a register tile holds tr rows of tv vectors of B.
// Results go to a buffer of a few lines first, so that they reach memory in whole lines, whatever the width.

template <class T>
struct Tile {
  const T* a;
  std::int64_t lda;
  const T* c;
  std::int64_t ldc;
  std::int64_t terms;
  std::int64_t last;  // lanes that count in the last vector
  T* out;
  std::int64_t ldo;
};

template <class T, int tr, int tv>
void run_tile(const Tile<T>& t) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  Vec<T> acc[tr][tv];
#pragma GCC unroll 8
  for (int r = 0; r < tr; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) acc[r][v] = hn::Zero(d);
  }
  const T* a = t.a;
  const T* c = t.c;
  const std::int64_t lda = t.lda;
  for (std::int64_t i = 0; i < t.terms; ++i, ++a, c += t.ldc) {
    Vec<T> cv[tv];
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) cv[v] = hn::Load(d, c + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < tr; ++r) {
      const Vec<T> ar = hn::Set(d, a[r * lda]);
#pragma GCC unroll 4
      for (int v = 0; v < tv; ++v) acc[r][v] = hn::MulAdd(ar, cv[v], acc[r][v]);
    }
  }
  const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(t.last));
#pragma GCC unroll 8
  for (int r = 0; r < tr; ++r) {
    T* const out = t.out + r * t.ldo;
#pragma GCC unroll 4
    for (int v = 0; v + 1 < tv; ++v) hn::StoreU(acc[r][v], d, out + v * lanes);
    store_first(acc[r][tv - 1], out + (tv - 1) * lanes, mask, t.last);
  }
}

constexpr int max_tv = registers == 32 ? 4 : 3;
constexpr std::array<int, 5> tallest = registers == 32 ? std::array{0, 8, 8, 8, 4} : std::array{0, 8, 4, 4, 4};

template <class T>
using TileFunction = void (*)(const Tile<T>&);

// Heights divide a block's rows. Full height, and single rows for what is left.
template <class T>
constexpr std::array<TileFunction<T>, 5> tall_tiles = {nullptr, run_tile<T, tallest[1], 1>, run_tile<T, tallest[2], 2>,
                                                       run_tile<T, tallest[3], 3>, run_tile<T, tallest[4], 4>};
template <class T>
constexpr std::array<TileFunction<T>, 5> row_tiles = {nullptr, run_tile<T, 1, 1>, run_tile<T, 1, 2>, run_tile<T, 1, 3>,
                                                      run_tile<T, 1, 4>};

// How a row of B is cut: strips of near-equal numbers of vectors. Worked out once, as blocks are too short for it.
template <class T>
struct Strips {
  explicit Strips(std::int64_t n) {
    const std::int64_t vectors = ceil_div(n, lanes_of<T>);
    count = ceil_div(vectors, max_tv);
    least = vectors / count;
    wider = vectors % count;
  }
  std::int64_t count;
  std::int64_t least;  // vectors in a strip
  std::int64_t wider;  // so many strips have one more
};

// Rows of A times C, to out without gaps.
template <class T>
void multiply_rows(const Product<T>& p, const Strips<T>& strips, const T* a, std::int64_t rows, T* out) {
  constexpr std::int64_t lanes = lanes_of<T>;
  std::int64_t first = 0;
  for (std::int64_t strip = 0; strip < strips.count; ++strip) {
    const std::int64_t vectors = strips.least + (strip < strips.wider ? 1 : 0);
    const std::int64_t end = std::min(p.n, first + vectors * lanes);
    const auto tv = static_cast<std::size_t>(vectors);
    // Terms that a triangle leaves out; an entry of complex C is a block of two rows.
    const std::int64_t odd = p.complex ? 1 : 0;
    const std::int64_t skip = p.triangle == Triangle::lower ? std::min(p.m, first & ~odd) : 0;
    const std::int64_t stop = p.triangle == Triangle::upper ? std::min(p.m, (end + odd) & ~odd) : p.m;
    Tile<T> tile{a + skip, p.lda, p.c + skip * p.ldc + first, p.ldc, stop - skip, 0, out + first, p.n};
    tile.last = end - first - (vectors - 1) * lanes;
    std::int64_t row = 0;
    for (; row + tallest[tv] <= rows; row += tallest[tv]) {
      tall_tiles<T>[tv](tile);
      tile.a += tallest[tv] * p.lda;
      tile.out += tallest[tv] * p.n;
    }
    for (; row < rows; ++row) {
      row_tiles<T>[tv](tile);
      tile.a += p.lda;
      tile.out += p.n;
    }
    first = end;
  }
}

template <class T>
void all_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  const std::int64_t block = row_major_block_rows<T>(p.n);
  const std::int64_t ahead = ceil_div(stream_distance_bytes, bytes_of<T>(p.m));
  const Strips<T> strips(p.n);
  Fetch fetch(p.a + (first + ahead) * p.lda, bytes_of<T>(p.m), bytes_of<T>(p.lda), rows, 0, 1, ceil_div(rows, block));
  const bool flat = p.ldb == p.n;
  T* out = p.b + first * p.ldb;
  // Numbers in the buffer before the next block: those of a line that is not yet whole.
  std::int64_t held = 0;
  T* start = buffer + (flat ? phase_of(out) : 0);
  for (std::int64_t row = 0; row < rows; row += block) {
    const std::int64_t here = std::min(block, rows - row);
    const T* const a = p.a + (first + row) * p.lda;
    fetch.step();
    multiply_rows(p, strips, a, here, start + held);
    if (!flat) {
      for (std::int64_t r = 0; r < here; ++r, out += p.ldb) emit_run(start + r * p.n, out, p.n, p);
      continue;
    }
    // Lines that are whole leave; at the end everything does.
    const std::int64_t count = held + here * p.n;
    const std::int64_t tail = p.store == Store::stream && row + here < rows ? phase_of(out + count) : 0;
    if (count < tail) {
      held = count;
      continue;
    }
    const std::int64_t leaving = count - tail;
    emit_run(start, out, leaving, p);
    if (leaving > 0) copy_run(start + leaving, buffer, tail);
    if (leaving > 0) start = buffer;
    out += leaving;
    held = tail;
  }
}

void rows_float(const Product<float>& p, std::int64_t first, std::int64_t rows, float* buffer) {
  all_rows(p, first, rows, buffer);
}
void rows_double(const Product<double>& p, std::int64_t first, std::int64_t rows, double* buffer) {
  all_rows(p, first, rows, buffer);
}

}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blockvec::kernels::host {

HWY_EXPORT(rows_float);
HWY_EXPORT(rows_double);

void row_major_rows(const Product<float>& product, std::int64_t first, std::int64_t rows, float* buffer) {
  HWY_DYNAMIC_DISPATCH(rows_float)(product, first, rows, buffer);
  if (product.store == Store::stream) hwy::FlushStream();
}
void row_major_rows(const Product<double>& product, std::int64_t first, std::int64_t rows, double* buffer) {
  HWY_DYNAMIC_DISPATCH(rows_double)(product, first, rows, buffer);
  if (product.store == Store::stream) hwy::FlushStream();
}

}  // namespace blockvec::kernels::host
#endif
