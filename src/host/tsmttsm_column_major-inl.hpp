// Included by tsmttsm_simd.cpp, once per target.
#include <algorithm>
#include <array>
#include <utility>

#include "src/host/products.hpp"
#include "src/host/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {
namespace by_columns {

// Lanes run down the columns: a register tile holds tm x tn dot products, each in one vector of partial sums.
//
// A column of complex numbers is re, im, re, im, ...; its two dot products are real ones with b = (br, bi, ...):
//   conj(a) b:  re = a . ( br, bi),  im = a . (bi, -br)
//        a  b:  re = a . ( br,-bi),  im = a . (bi,  br)
// so that b, its swap and the right signs are all that complex arithmetic takes.

template <class T>
struct Tile {
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  std::int64_t length;
  T* out;
  std::int64_t ldo;
  bool add;
  bool conjugate;
  Fetch* fetch_a;
  Fetch* fetch_b;
};

template <class T, int tm, int tn, bool complex>
struct Accumulators {
  static constexpr int terms = complex ? 2 : 1;
  Vec<T> sum[tm][tn][terms];
};

template <class T, int tm, int tn, bool complex>
HWY_INLINE void step(const Vec<T> (&a)[tm], const Vec<T> (&b)[tn], [[maybe_unused]] Vec<T> flip_re,
                     [[maybe_unused]] Vec<T> flip_im, Accumulators<T, tm, tn, complex>& acc) {
#pragma GCC unroll 8
  for (int j = 0; j < tn; ++j) {
    if constexpr (complex) {
      const Vec<T> for_re = hn::Xor(b[j], flip_re);
      const Vec<T> for_im = hn::Xor(hn::Reverse2(Tag<T>(), b[j]), flip_im);
#pragma GCC unroll 4
      for (int i = 0; i < tm; ++i) {
        acc.sum[i][j][0] = hn::MulAdd(a[i], for_re, acc.sum[i][j][0]);
        acc.sum[i][j][1] = hn::MulAdd(a[i], for_im, acc.sum[i][j][1]);
      }
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < tm; ++i) acc.sum[i][j][0] = hn::MulAdd(a[i], b[j], acc.sum[i][j][0]);
    }
  }
}

template <class T, int tm, int tn, bool complex>
void run_tile(const Tile<T>& t) {
  const Tag<T> d;
  constexpr std::int64_t lanes = lanes_of<T>;
  Accumulators<T, tm, tn, complex> acc;
#pragma GCC unroll 4
  for (int i = 0; i < tm; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < tn; ++j) {
#pragma GCC unroll 2
      for (int c = 0; c < acc.terms; ++c) acc.sum[i][j][c] = hn::Zero(d);
    }
  }
  Vec<T> flip_re = hn::Zero(d);
  Vec<T> flip_im = hn::Zero(d);
  if constexpr (complex) {
    const Vec<T> odd = hn::OddEven(hn::Set(d, T(-0.0)), hn::Zero(d));
    (t.conjugate ? flip_im : flip_re) = odd;
  }
  Fetch fetch_a = *t.fetch_a;
  Fetch fetch_b = *t.fetch_b;
  const T* pa = t.a;
  const T* pb = t.b;
  const T* const end = t.a + t.length / lanes * lanes;
  while (pa != end) {
    fetch_a.step();
    fetch_b.step();
    const T* const stop = pa + std::min(end - pa, fetch_steps * lanes);
    for (; pa != stop; pa += lanes, pb += lanes) {
      Vec<T> a[tm];
      Vec<T> b[tn];
#pragma GCC unroll 4
      for (int i = 0; i < tm; ++i) a[i] = hn::LoadU(d, pa + i * t.lda);
#pragma GCC unroll 8
      for (int j = 0; j < tn; ++j) b[j] = hn::LoadU(d, pb + j * t.ldb);
      step<T, tm, tn, complex>(a, b, flip_re, flip_im, acc);
    }
  }
  *t.fetch_a = fetch_a;
  *t.fetch_b = fetch_b;
  if (const std::int64_t left = t.length % lanes; left != 0) {
    const Mask<T> mask = hn::FirstN(d, static_cast<std::size_t>(left));
    Vec<T> a[tm];
    Vec<T> b[tn];
#pragma GCC unroll 4
    for (int i = 0; i < tm; ++i) a[i] = load_first(pa + i * t.lda, mask, left);
#pragma GCC unroll 8
    for (int j = 0; j < tn; ++j) b[j] = load_first(pb + j * t.ldb, mask, left);
    step<T, tm, tn, complex>(a, b, flip_re, flip_im, acc);
  }
#pragma GCC unroll 4
  for (int i = 0; i < tm; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < tn; ++j) {
#pragma GCC unroll 2
      for (int c = 0; c < acc.terms; ++c) {
        T& out = t.out[i * t.ldo + j * acc.terms + c];
        const T sum = hn::GetLane(hn::SumOfLanes(d, acc.sum[i][j][c]));
        out = t.add ? out + sum : sum;
      }
    }
  }
}

// Tallest and widest tile.
constexpr int max_tm = registers == 32 ? 4 : 2;
template <bool complex>
constexpr int max_tn = (complex ? 1 : 2) * (registers == 32 ? 3 : 2);

template <class T>
using TileFunction = void (*)(const Tile<T>&);

template <class T, bool complex, int tm, int... j>
constexpr auto tiles_of(std::integer_sequence<int, j...>) {
  return std::array<TileFunction<T>, sizeof...(j)>{run_tile<T, tm, j + 1, complex>...};
}
template <class T, bool complex, int... i>
constexpr auto all_tiles(std::integer_sequence<int, i...>) {
  return std::array{tiles_of<T, complex, i + 1>(std::make_integer_sequence<int, max_tn<complex>>())...};
}
template <class T, bool complex>
constexpr auto tile_table = all_tiles<T, complex>(std::make_integer_sequence<int, max_tm>());

// P from `length` numbers of each column from a and b on; `ahead` numbers on lies what comes next.
template <bool complex, class T>
void multiply_chunk(const ColumnMajorPair<T>& p, const T* a, const T* b, std::int64_t length, std::int64_t ahead,
                    T* out, bool add) {
  constexpr std::int64_t terms = complex ? 2 : 1;
  const std::int64_t high = ceil_div(p.m, max_tm);
  const std::int64_t wide = ceil_div(p.n, max_tn<complex>);
  // Meanwhile what lies ahead comes into cache, some columns in each pass.
  const std::int64_t steps = high * wide * ceil_div(length, fetch_steps * lanes_of<T>);
  Fetch fetch_a(bytes_of<T>(length), bytes_of<T>(p.lda), p.m, steps);
  Fetch fetch_b;
  if (!p.symmetric) fetch_b = Fetch(bytes_of<T>(length), bytes_of<T>(p.ldb), p.n, steps);
  fetch_a.start(a + ahead);
  fetch_b.start(b + ahead);
  for (std::int64_t y = 0; y < wide; ++y) {
    const std::int64_t left = piece(p.n, wide, y);
    const std::int64_t right = piece(p.n, wide, y + 1);
    for (std::int64_t x = 0; x < high; ++x) {
      const std::int64_t top = piece(p.m, high, x);
      const std::int64_t bottom = piece(p.m, high, x + 1);
      if (p.symmetric && right <= top) continue;  // the lower half is left out
      tile_table<T, complex>[static_cast<std::size_t>(bottom - top - 1)][static_cast<std::size_t>(right - left - 1)](
          {a + top * p.lda, p.lda, b + left * p.ldb, p.ldb, length, out + (top * p.n + left) * terms, p.n * terms, add,
           p.conjugate, &fetch_a, &fetch_b});
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
// One lane knows no pairs: complex numbers take plain loops.
template <class T>
void multiply_complex(const ColumnMajorPair<T>& p, const T* a, const T* b, std::int64_t length, T* out, bool add) {
  const T sign = p.conjugate ? T(1) : T(-1);
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = p.symmetric ? i : 0; j < p.n; ++j) {
      const T* const x = a + i * p.lda;
      const T* const y = b + j * p.ldb;
      T re = 0;
      T im = 0;
      for (std::int64_t k = 0; k < length; k += 2) {
        re += x[k] * y[k] + sign * x[k + 1] * y[k + 1];
        im += x[k] * y[k + 1] - sign * x[k + 1] * y[k];
      }
      T* const to = out + (i * p.n + j) * 2;
      to[0] = add ? to[0] + re : re;
      to[1] = add ? to[1] + im : im;
    }
  }
}
#endif

template <bool complex, class T>
void part(const ColumnMajorPair<T>& p, const SumPlan& plan, std::int64_t index, T* levels, T* out) {
  constexpr std::int64_t terms = complex ? 2 : 1;
  const bool single = p.m <= max_tm && p.n <= max_tn<complex>;
  sum_part(plan, index, p.m * p.n * terms, levels, [&](std::int64_t chunk, T* sum, bool add) {
    const std::int64_t first = chunk * plan.chunk_rows * terms;
    const std::int64_t length = std::min(plan.chunk_rows, plan.rows - chunk * plan.chunk_rows) * terms;
    const std::int64_t near = stream_distance_bytes / ((p.m + p.n) * static_cast<std::int64_t>(sizeof(T)));
#if HWY_TARGET == HWY_SCALAR
    if constexpr (complex) {
      multiply_complex(p, p.a + first, p.b + first, length, sum, add);
    } else
#endif
    {
      multiply_chunk<complex>(p, p.a + first, p.b + first, length, single ? near : length, sum, add);
    }
  });
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n * terms; ++j) {
      const bool mirrored = p.symmetric && j / terms < i;
      const T sign = mirrored && p.conjugate && j % terms == 1 ? T(-1) : T(1);
      const std::int64_t from = mirrored ? (j / terms * p.n + i) * terms + j % terms : i * p.n * terms + j;
      out[i * p.n * terms + j] = sign * levels[from];
    }
  }
}

template <class T>
void any_part(const ColumnMajorPair<T>& p, const SumPlan& plan, std::int64_t index, T* levels, T* out) {
  p.complex ? part<true>(p, plan, index, levels, out) : part<false>(p, plan, index, levels, out);
}

}  // namespace by_columns
}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
