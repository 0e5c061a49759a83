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
namespace by_rows {

// Lanes run along a row of C, the entries of A's rows are broadcast: a register tile holds tr rows of tv vectors of B.
// While it is computed the rows ahead come in. What is to be streamed leaves from the registers, in whole vectors as
// they stand in memory, whatever the width: each vector of results is turned in its lanes to where the one before
// ended.

// Results on their way to memory, without gaps.
template <class T>
struct Stream {
  // From `out` on.
  explicit Stream(T* out) : begin(vector_phase(out)), held(begin), to(out - begin) {}

  // The first `count` lanes. What does not fill a vector waits.
  HWY_INLINE void append(Vec<T> v, std::int64_t count) {
    const Tag<T> d;
    constexpr std::int64_t lanes = lanes_of<T>;
    const Vec<T> turned = hn::TableLookupLanes(v, hn::SetTableIndices(d, turns<T>.index[held]));
    const Vec<T> line = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(held)), hn::Load(d, waiting), turned);
    held += count;
    if (held < lanes) return hn::Store(line, d, waiting);
    hn::Store(turned, d, waiting);
    held -= lanes;
    if (begin == 0) {
      hn::Stream(line, d, to);
    } else {
      alignas(64) T first[lanes];
      hn::Store(line, d, first);
      std::copy(first + begin, first + lanes, to + begin);
      begin = 0;
    }
    to += lanes;
  }
  void finish() { std::copy(waiting + begin, waiting + std::max(begin, held), to + begin); }

  alignas(64) T waiting[lanes_of<T>];
  std::int64_t begin;  // lanes of the first vector that are not ours
  std::int64_t held;   // lanes of the next vector that are known
  T* to;
};

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
  Store store;
  T beta;
  const char* ahead;        // what comes in meanwhile
  std::int64_t ahead_step;  // a line, or nothing
};

constexpr std::int64_t group = 4;  // terms that are unrolled

template <class T, int tr, int tv>
HWY_INLINE void add_term(const T* a, std::int64_t lda, const T* c, Vec<T> (&acc)[tr][tv]) {
  const Tag<T> d;
  Vec<T> cv[tv];
#pragma GCC unroll 4
  for (int v = 0; v < tv; ++v) cv[v] = hn::Load(d, c + v * lanes_of<T>);
  // Two bases need fewer registers than eight rows.
  const T* const lower = a + 4 * lda;
#pragma GCC unroll 8
  for (int r = 0; r < tr; ++r) {
    const T* const row = r < 4 ? a + r * lda : lower + (r - 4) * lda;
    const Vec<T> ar = hn::Set(d, *row);
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) acc[r][v] = hn::MulAdd(ar, cv[v], acc[r][v]);
  }
}

template <class T, int tr, int tv>
void run_tile(const Tile<T>& t, Stream<T>& stream) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  // A term of tr contiguous rows is tr numbers: a line comes in every so many terms.
  constexpr std::int64_t every = std::clamp<std::int64_t>(line_entries<T> / tr, 1, group);
  Vec<T> acc[tr][tv];
#pragma GCC unroll 8
  for (int r = 0; r < tr; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < tv; ++v) acc[r][v] = hn::Zero(d);
  }
  const T* a = t.a;
  const T* c = t.c;
  const std::int64_t lda = t.lda;
  const std::int64_t ldc = t.ldc;
  const char* ahead = t.ahead;
  const std::int64_t ahead_step = t.ahead_step;
  std::int64_t terms = t.terms;
  for (; terms >= group; terms -= group) {
#pragma GCC unroll 4
    for (int i = 0; i < group; ++i, ++a, c += ldc) {
      if (i % every == 0) {
        prefetch_near(ahead);
        ahead += ahead_step;
      }
      add_term<T, tr, tv>(a, lda, c, acc);
    }
  }
  for (; terms > 0; --terms, ++a, c += ldc, ahead += ahead_step) {
    prefetch_near(ahead);
    add_term<T, tr, tv>(a, lda, c, acc);
  }
  const std::int64_t last = t.last;
  if (t.store == Store::stream) {
#pragma GCC unroll 8
    for (int r = 0; r < tr; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < tv; ++v) stream.append(acc[r][v], v + 1 < tv ? lanes : last);
    }
    return;
  }
  const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(last));
  const Vec<T> beta = hn::Set(d, t.beta);
  const bool add = t.store == Store::add;
  T* out = t.out;
#pragma GCC unroll 8
  for (int r = 0; r < tr; ++r, out += t.ldo) {
    T* const tail = out + (tv - 1) * lanes;
    if (add) {
#pragma GCC unroll 4
      for (int v = 0; v + 1 < tv; ++v) acc[r][v] = hn::MulAdd(beta, hn::LoadU(d, out + v * lanes), acc[r][v]);
      acc[r][tv - 1] = hn::MulAdd(beta, load_first(tail, mask, last), acc[r][tv - 1]);
    }
#pragma GCC unroll 4
    for (int v = 0; v + 1 < tv; ++v) hn::StoreU(acc[r][v], d, out + v * lanes);
    store_first(acc[r][tv - 1], tail, mask, last);
  }
}

constexpr int max_tv = registers == 32 ? 4 : 3;
constexpr std::array<int, 5> tallest = registers == 32 ? std::array{0, 8, 8, 4, 4} : std::array{0, 8, 4, 4, 4};

template <class T>
using TileFunction = void (*)(const Tile<T>&, Stream<T>&);

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

// Where rows of results go, and how.
template <class T>
struct Target {
  T* out;
  std::int64_t ldo;
  Store store;
  T beta;
};

// Rows of A times rows [top, bottom) of C.
template <class T>
void multiply_rows(const Product<T>& p, const Strips<T>& strips, const T* a, std::int64_t rows, std::int64_t top,
                   std::int64_t bottom, const T* ahead, const Target<T>& target, Stream<T>& stream) {
  constexpr std::int64_t lanes = lanes_of<T>;
  // Rows with gaps of lines between them are left to the processor's own prefetching.
  const bool fetch = (p.lda - p.m) * static_cast<std::int64_t>(sizeof(T)) < line_bytes && top == 0;
  std::int64_t first = 0;
  for (std::int64_t strip = 0; strip < strips.count; ++strip) {
    const std::int64_t vectors = strips.least + (strip < strips.wider ? 1 : 0);
    const std::int64_t end = std::min(p.n, first + vectors * lanes);
    const auto tv = static_cast<std::size_t>(vectors);
    // Terms that a triangle leaves out; an entry of complex C is a block of two rows.
    const std::int64_t odd = p.complex ? 1 : 0;
    const std::int64_t skip = std::clamp(p.triangle == Triangle::lower ? first & ~odd : 0, top, bottom);
    const std::int64_t stop = p.triangle == Triangle::upper ? std::clamp((end + odd) & ~odd, skip, bottom) : bottom;
    Tile<T> tile{};
    tile.a = a + skip;
    tile.lda = p.lda;
    tile.c = p.c + skip * p.ldc + first;
    tile.ldc = p.ldc;
    tile.terms = stop - skip;
    tile.last = end - first - (vectors - 1) * lanes;
    tile.out = target.out + first;
    tile.ldo = target.ldo;
    tile.store = target.store;
    tile.beta = target.beta;
    tile.ahead = reinterpret_cast<const char*>(ahead);
    tile.ahead_step = fetch && strip == 0 ? line_bytes : 0;
    const auto run = [&](TileFunction<T> function, std::int64_t height) {
      function(tile, stream);
      tile.a += height * p.lda;
      tile.out += height * target.ldo;
      if (tile.ahead_step != 0) tile.ahead += height * bytes_of<T>(p.lda);
    };
    std::int64_t row = 0;
    for (; row + tallest[tv] <= rows; row += tallest[tv]) run(tall_tiles<T>[tv], tallest[tv]);
    for (; row < rows; ++row) run(row_tiles<T>[tv], 1);
    first = end;
  }
}

template <class T>
void all_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  const RowMajorBlocks blocks = row_major_blocks<T>(p.m, p.n);
  const Strips<T> strips(p.n);
  const std::int64_t ahead = std::max<std::int64_t>(8, ceil_div(stream_distance_bytes, bytes_of<T>(p.m)));
  const bool flat = p.ldb == p.n;
  // Blocks of results are held in the buffer, and leave from there, where A is still needed, where terms are added
  // panel by panel, where beta is complex, and where more than one strip is to be streamed.
  const bool several = strips.count > 1;
  const bool hold = blocks.terms < p.m || (p.store == Store::add && p.beta_im != T(0)) ||
                    (several && (p.in_place || p.store == Store::stream));
  Stream<T> stream(p.b + first * p.ldb);
  // Several strips share a block's rows of A while these are in cache.
  const std::int64_t block = hold || several ? blocks.rows : rows;
  for (std::int64_t row = 0; row < rows; row += block) {
    const std::int64_t here = std::min(block, rows - row);
    const T* const a = p.a + (first + row) * p.lda;
    T* const out = p.b + (first + row) * p.ldb;
    const T* const next = a + ahead * p.lda;
    if (!hold) {
      multiply_rows(p, strips, a, here, 0, p.m, next, {out, p.ldb, p.store, p.beta_re}, stream);
      continue;
    }
    T* const held = buffer + phase_of(out);  // as it stands in its line of memory
    std::int64_t top = 0;
    do {
      const std::int64_t bottom = std::min(p.m, top + blocks.terms);
      const Store store = top == 0 ? Store::plain : Store::add;
      multiply_rows(p, strips, a, here, top, bottom, next, {held, p.n, store, T(1)}, stream);
      top = bottom;
    } while (top < p.m);
    if (flat) emit_run(held, out, here * p.n, p);
    for (std::int64_t r = 0; r < here && !flat; ++r) emit_run(held + r * p.n, out + r * p.ldb, p.n, p);
  }
  if (!hold && p.store == Store::stream) stream.finish();
}

// Rows so narrow that a vector of A, and of B, holds two or more: each term is a permutation of the lanes.
template <int n, Store store, class T>
void narrow_rows(const Product<T>& p, std::int64_t first, std::int64_t rows) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  constexpr std::int64_t used = lanes / n * n;
  using Index = hn::TFromD<hn::RebindToSigned<Tag<T>>>;
  decltype(hn::SetTableIndices(d, static_cast<const Index*>(nullptr))) from[n];
  Vec<T> c[n];
  for (std::int64_t i = 0; i < n; ++i) {
    alignas(64) Index index[lanes];
    alignas(64) T row[lanes];
    for (std::int64_t l = 0; l < lanes; ++l) {
      index[l] = static_cast<Index>(std::min(l, used - 1) / n * n + i);
      row[l] = p.c[i * p.ldc + l % n];
    }
    from[i] = hn::SetTableIndices(d, index);
    c[i] = hn::Load(d, row);
  }
  const T* const a = p.a + first * n;
  T* const b = p.b + first * n;
  const Vec<T> beta = hn::Set(d, p.beta_re);
  Stream<T> stream(b);
  const auto multiply = [&](Vec<T> x, std::int64_t at, std::int64_t count, Mask<T> mask) {
    Vec<T> sum = hn::Mul(hn::TableLookupLanes(x, from[0]), c[0]);
#pragma GCC unroll 8
    for (int i = 1; i < n; ++i) sum = hn::MulAdd(hn::TableLookupLanes(x, from[i]), c[i], sum);
    if constexpr (store == Store::stream) return stream.append(sum, count);
    if constexpr (store == Store::add) sum = hn::MulAdd(beta, load_first(b + at, mask, count), sum);
    store_first(sum, b + at, mask, count);
  };
  const std::int64_t end = rows * n;
  const Mask<T> all = hn::FirstN(d, static_cast<std::size_t>(used));
  std::int64_t i = 0;
  for (; i + lanes <= end; i += used) {
    prefetch_near(reinterpret_cast<const char*>(a + i) + stream_distance_bytes);
    multiply(hn::LoadU(d, a + i), i, used, all);
  }
  for (; i < end; i += used) {
    const std::int64_t left = std::min(used, end - i);
    const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(left));
    multiply(load_first(a + i, mask, left), i, left, mask);
  }
  if constexpr (store == Store::stream) stream.finish();
}

template <class T>
using RowsFunction = void (*)(const Product<T>&, std::int64_t, std::int64_t);
template <class T, Store store, int... n>
constexpr auto narrow_of(std::integer_sequence<int, n...>) {
  return std::array<RowsFunction<T>, sizeof...(n) + 1>{nullptr, narrow_rows<n + 1, store, T>...};
}
template <class T, Store store>
constexpr auto narrow_table = narrow_of<T, store>(std::make_integer_sequence<int, static_cast<int>(lanes_of<T> / 2)>());

template <class T>
void any_rows(const Product<T>& p, std::int64_t first, std::int64_t rows, T* buffer) {
  const bool contiguous = p.m == p.n && p.lda == p.m && p.ldb == p.n && (p.store != Store::add || p.beta_im == T(0));
  if (!contiguous || 2 * p.n > lanes_of<T>) return all_rows(p, first, rows, buffer);
  const auto n = static_cast<std::size_t>(p.n);
  switch (p.store) {
    case Store::plain:
      return narrow_table<T, Store::plain>[n](p, first, rows);
    case Store::stream:
      return narrow_table<T, Store::stream>[n](p, first, rows);
    case Store::add:
      return narrow_table<T, Store::add>[n](p, first, rows);
  }
}

}  // namespace by_rows
}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
