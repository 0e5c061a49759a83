// Included by tsmttsm_simd.cpp, once per target.
#include <algorithm>
#include <array>
#include <utility>

#include "src/host/products.hpp"
#include "src/host/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {
namespace by_rows {

// Lanes run along a row of B, the entries of A's row are broadcast: a register tile holds tm x (tv vectors) of P.
//
//             tv vectors                  One pass of a tile over a chunk of rows reads tm columns of A and
//        tm [ acc acc acc ]               tv vectors of B; several passes find the chunk in cache.
//
// Narrow rows fill a vector by folding: f rows of a contiguous k x n matrix are one row of a k/f x fn matrix, and the
// diagonal blocks of the wide product sum to P. The rest of the wide product is what idle lanes would have held.

template <class T>
struct Tile {
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  std::int64_t rows;
  std::int64_t last;  // lanes that count in the last vector
  T* out;
  std::int64_t ldo;
  bool add;
  Fetch* fetch_a;
  Fetch* fetch_b;
};

template <class T, int tm, int tv>
void run_tile(const Tile<T>& t) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(t.last));
  Vec<T> acc[tm][tv];
#pragma GCC unroll 16
  for (int i = 0; i < tm; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) acc[i][v] = hn::Zero(d);
  }
  const T* a = t.a;
  const T* b = t.b;
  Fetch fetch_a = *t.fetch_a;
  Fetch fetch_b = *t.fetch_b;
  for (std::int64_t row = 0; row < t.rows;) {
    fetch_a.step();
    fetch_b.step();
    const std::int64_t stop = std::min(t.rows, row + fetch_steps);
    for (; row < stop; ++row, a += t.lda, b += t.ldb) {
      Vec<T> bv[tv];
#pragma GCC unroll 4
      for (int v = 0; v + 1 < tv; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
      bv[tv - 1] = load_first(b + (tv - 1) * lanes, mask, t.last);
#pragma GCC unroll 16
      for (int i = 0; i < tm; ++i) {
        const Vec<T> ai = hn::Set(d, a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < tv; ++v) acc[i][v] = hn::MulAdd(ai, bv[v], acc[i][v]);
      }
    }
  }
  *t.fetch_a = fetch_a;
  *t.fetch_b = fetch_b;
#pragma GCC unroll 16
  for (int i = 0; i < tm; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) {
      T* const out = t.out + i * t.ldo + v * lanes;
      hn::StoreU(t.add ? hn::Add(hn::LoadU(d, out), acc[i][v]) : acc[i][v], d, out);
    }
  }
}

// The tallest tile of tv vectors that the registers hold beside tv vectors of B and one of A.
constexpr int max_tv = registers == 32 ? 4 : 3;
constexpr std::array<int, 5> tallest = registers == 32 ? std::array{0, 16, 12, 8, 6} : std::array{0, 8, 6, 4, 0};

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, int tv, int... i>
constexpr auto tiles_of(std::integer_sequence<int, i...>) {
  return std::array<TileFunction<T>, 17>{nullptr, run_tile<T, i + 1, tv>...};
}
template <class T, int... v>
constexpr auto all_tiles(std::integer_sequence<int, v...>) {
  return std::array{tiles_of<T, v + 1>(std::make_integer_sequence<int, tallest[v + 1]>())...};
}
template <class T>
constexpr auto tile_table = all_tiles<T>(std::make_integer_sequence<int, max_tv>());

// How P is cut into tiles: strips of up to max_tv vectors, each into tiles of near-equal height.
template <class T>
struct Tiling {
  static constexpr std::int64_t lanes = lanes_of<T>;
  explicit Tiling(const RowMajorPair<T>& p)
      : pair(p), vectors(ceil_div(p.n, lanes)), strips(ceil_div(vectors, max_tv)) {
    for (std::int64_t s = 0; s < strips; ++s) passes += tiles(s);
  }
  std::int64_t begin(std::int64_t strip) const { return piece(vectors, strips, strip) * lanes; }
  std::int64_t end(std::int64_t strip) const { return std::min(pair.n, begin(strip + 1)); }
  std::size_t width(std::int64_t strip) const {
    return static_cast<std::size_t>(ceil_div(end(strip) - begin(strip), lanes));
  }
  // The lower half of a symmetric P is left out.
  std::int64_t height(std::int64_t strip) const { return pair.symmetric ? std::min(pair.m, end(strip)) : pair.m; }
  std::int64_t tiles(std::int64_t strip) const { return ceil_div(height(strip), tallest[width(strip)]); }

  RowMajorPair<T> pair;
  std::int64_t vectors;
  std::int64_t strips;
  std::int64_t passes = 0;
};

// The rows ahead come into cache meanwhile, a share of them in each pass.
template <class T>
struct Ahead {
  Ahead(const Tiling<T>& tiling, const RowMajorPair<T>& source, std::int64_t rows) {
    const RowMajorPair<T>& p = tiling.pair;
    // A single pass is a stream: a short distance serves it best. More passes need the whole next chunk.
    const std::int64_t row_bytes = (p.m + p.n) * static_cast<std::int64_t>(sizeof(T));
    distance = tiling.passes == 1 ? ceil_div(stream_distance_bytes, row_bytes) : rows;
    const std::int64_t steps = ceil_div(rows, fetch_steps) * tiling.passes;
    const bool packed = source.packed != nullptr;
    const auto fetch = [&](std::int64_t width, std::int64_t ld, std::int64_t source_ld) {
      return packed ? Fetch(bytes_of<T>(rows), bytes_of<T>(source_ld), width, steps)
                    : Fetch(bytes_of<T>(width), bytes_of<T>(ld), rows, steps);
    };
    a = fetch(p.m, p.lda, source.lda);
    if (!p.symmetric) b = fetch(p.n, p.ldb, source.ldb);
  }
  std::int64_t distance;  // in rows
  Fetch a;
  Fetch b;
};

// P (m x n at row stride ldo) from the rows of a chunk at a and b.
template <class T>
void multiply_chunk(const Tiling<T>& tiling, const T* a, const T* b, std::int64_t rows, T* out, std::int64_t ldo,
                    bool add, Ahead<T>& ahead) {
  const RowMajorPair<T>& p = tiling.pair;
  for (std::int64_t strip = 0; strip < tiling.strips; ++strip) {
    const std::int64_t first = tiling.begin(strip);
    const std::size_t tv = tiling.width(strip);
    const std::int64_t last = tiling.end(strip) - first - (static_cast<std::int64_t>(tv) - 1) * Tiling<T>::lanes;
    const std::int64_t tiles = tiling.tiles(strip);
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t top = piece(tiling.height(strip), tiles, i);
      const auto tm = static_cast<std::size_t>(piece(tiling.height(strip), tiles, i + 1) - top);
      tile_table<T>[tv - 1][tm](
          {a + top, p.lda, b + first, p.ldb, rows, last, out + top * ldo + first, ldo, add, &ahead.a, &ahead.b});
    }
  }
}

// Rows of a narrow matrix without gaps, filled up with zeros to a multiple of `fold` rows.
template <class T>
void pack(const T* source, std::int64_t ld, std::int64_t width, std::int64_t rows, std::int64_t fold, T* dense) {
  const Tag<T> d;
  const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(width));
  // A whole vector is stored: what is too much in it is overwritten by the next row.
  for (std::int64_t row = 0; row < rows; ++row) {
    hn::StoreU(load_first(source + row * ld, mask, width), d, dense + row * width);
  }
  std::fill(dense + rows * width, dense + ceil_div(rows, fold) * fold * width, T(0));
}

// Columns as rows without gaps, a line of each row at a time.
template <class T>
void pack_columns(const T* columns, std::int64_t ld, std::int64_t width, std::int64_t rows, T* dense) {
  constexpr std::int64_t together = 8;
  for (std::int64_t j = 0; j < width; j += together) {
    const std::int64_t here = std::min(together, width - j);
    const T* column[together];
    for (std::int64_t c = 0; c < here; ++c) column[c] = columns + (j + c) * ld;
    T* to = dense + j;
    for (std::int64_t row = 0; row < rows; ++row, to += width) {
      if (here == together) {
#pragma GCC unroll 8
        for (std::int64_t c = 0; c < together; ++c) to[c] = column[c][row];
      } else {
        for (std::int64_t c = 0; c < here; ++c) to[c] = column[c][row];
      }
    }
  }
}

// Room for the narrow rows of a chunk, a fold of zeros and a vector's overhang.
template <class T>
constexpr std::int64_t dense_size = (max_chunk_rows + lanes_of<T>)*(lanes_of<T> / 2) + lanes_of<T>;

template <class T>
void part(RowMajorPair<T> p, const SumPlan& plan, std::int64_t index, T* levels, T* out) {
  constexpr std::int64_t lanes = lanes_of<T>;
  // The side that wastes fewer lanes goes along them.
  const bool swap = !p.symmetric && p.n * ceil_div(p.m, lanes) < p.m * ceil_div(p.n, lanes);
  if (swap) {
    std::swap(p.a, p.b);
    std::swap(p.lda, p.ldb);
    std::swap(p.m, p.n);
  }
  const std::int64_t fold = std::max<std::int64_t>(1, lanes / std::max(p.m, p.n));
  RowMajorPair<T> wide = p;
  if (fold > 1) {
    wide = {p.a, p.m * fold, p.m * fold, p.b, p.n * fold, p.n * fold, false, nullptr};
  } else if (p.packed != nullptr) {
    wide.lda = p.m;
    wide.ldb = p.n;
  }
  const std::int64_t ldo = ceil_div(wide.n, lanes) * lanes;
  const Tiling<T> tiling(wide);
  Ahead<T> ahead(tiling, p, ceil_div(plan.chunk_rows, fold));
  const std::int64_t row_step_a = p.packed != nullptr ? 1 : p.lda;
  const std::int64_t row_step_b = p.packed != nullptr ? 1 : p.ldb;
  alignas(64) T dense_a[dense_size<T>];
  alignas(64) T dense_b[dense_size<T>];
  sum_part(plan, index, wide.m * ldo, levels, [&](std::int64_t chunk, T* sum, bool add) {
    const std::int64_t first = chunk * plan.chunk_rows;
    const std::int64_t rows = std::min(plan.chunk_rows, plan.rows - first);
    const T* a = p.a + first * row_step_a;
    const T* b = p.b + first * row_step_b;
    ahead.a.start(a + ahead.distance * fold * row_step_a);
    ahead.b.start(b + ahead.distance * fold * row_step_b);
    if (p.packed != nullptr) {
      pack_columns(a, p.lda, p.m, rows, p.packed);
      if (!p.symmetric) pack_columns(b, p.ldb, p.n, rows, p.packed + rows * p.m);
      a = p.packed;
      b = p.symmetric ? a : a + rows * p.m;
    } else if (fold > 1 && (p.lda != p.m || p.ldb != p.n || rows % fold != 0)) {
      // Folding wants contiguous rows, as many as fill whole folded ones.
      pack(a, p.lda, p.m, rows, fold, dense_a);
      pack(b, p.ldb, p.n, rows, fold, dense_b);
      a = dense_a;
      b = dense_b;
    }
    multiply_chunk(tiling, a, b, ceil_div(rows, fold), sum, ldo, add, ahead);
  });
  // Unfold, unswap, mirror.
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      T value = 0;
      if (p.symmetric && fold == 1 && j < i) {
        value = levels[j * ldo + i];
      } else {
        for (std::int64_t f = 0; f < fold; ++f) value += levels[(f * p.m + i) * ldo + f * p.n + j];
      }
      out[swap ? j * p.m + i : i * p.n + j] = value;
    }
  }
}

}  // namespace by_rows
}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
