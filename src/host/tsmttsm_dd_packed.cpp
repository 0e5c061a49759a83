#include "src/host/targets.hpp"
#include "src/host/tsmttsm_dd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/host/tsmttsm_dd_packed.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <array>
#include <blockvec/kernels/double_double.hpp>
#include <utility>

#include "src/host/simd-inl.hpp"

// Compiled with -ffp-contract=off: a sum that swallows the product before it would have another rounding error.
HWY_BEFORE_NAMESPACE();
namespace blockvec::kernels::host::HWY_NAMESPACE {
namespace {

using V = Vec<double>;

// What rounding took from a product.
HWY_INLINE V product_error(V a, V b, V product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a, b, product);
#else
  const Tag<double> d;  // halves of 26 bits each (Dekker)
  const auto high_half = [&](V x) {
    const V wide = hn::Mul(hn::Set(d, 134217729.0), x);
    return hn::Sub(wide, hn::Sub(wide, x));
  };
  const V ah = high_half(a), bh = high_half(b);
  const V al = hn::Sub(a, ah), bl = hn::Sub(b, bh);
  const V first = hn::Sub(hn::Mul(ah, bh), product);
  return hn::Add(hn::Add(hn::Add(first, hn::Mul(ah, bl)), hn::Mul(al, bh)), hn::Mul(al, bl));
#endif
}

// The compensated dot product of Ogita, Rump, Oishi 2005 in every lane, tm x tn of them side by side: the errors of
// products and sums are summed apart. `exact`: products have none, and a plain sum is enough.
template <bool exact, int tm, int tn>
void run_tile(const PackedColumns& p, std::int64_t i0, std::int64_t j0, double* sums) {
  const Tag<double> d;
  constexpr std::int64_t lanes = lanes_of<double>;
  V sum[tm][tn];
  [[maybe_unused]] V error[tm][tn];
#pragma GCC unroll 4
  for (int i = 0; i < tm; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < tn; ++j) sum[i][j] = error[i][j] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < p.length; k += lanes) {
    V a[tm];
#pragma GCC unroll 4
    for (int i = 0; i < tm; ++i) a[i] = hn::Load(d, p.a + (i0 + i) * p.ld + k);
#pragma GCC unroll 4
    for (int j = 0; j < tn; ++j) {
      const V b = hn::Load(d, p.b + (j0 + j) * p.ld + k);
#pragma GCC unroll 4
      for (int i = 0; i < tm; ++i) {
        if constexpr (exact) {
          sum[i][j] = hn::MulAdd(a[i], b, sum[i][j]);
        } else {
          const V product = hn::Mul(a[i], b);
          const V before = sum[i][j];
          const V after = hn::Add(before, product);
          const V moved = hn::Sub(after, before);
          const V lost = hn::Add(hn::Sub(before, hn::Sub(after, moved)), hn::Sub(product, moved));
          sum[i][j] = after;
          error[i][j] = hn::Add(error[i][j], hn::Add(lost, product_error(a[i], b, product)));
        }
      }
    }
  }
  for (int i = 0; i < tm; ++i) {
    for (int j = 0; j < tn; ++j) {
      alignas(64) double part[lanes];
      alignas(64) double rest[lanes];
      hn::Store(sum[i][j], d, part);
      hn::Store(error[i][j], d, rest);
      double* const out = sums + 2 * ((i0 + i) * p.n + j0 + j);
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const DoubleDouble both = two_sum(out[0], part[lane]);
        out[0] = both.high;
        out[1] += both.low + rest[lane];
      }
    }
  }
}

// Sums, errors, operands and intermediate results stay in registers.
constexpr int max_tm = 2;
constexpr int max_tn = registers == 32 ? 4 : 2;

using TileFunction = void (*)(const PackedColumns&, std::int64_t, std::int64_t, double*);
template <bool exact, int tm, int... j>
constexpr auto tiles_of(std::integer_sequence<int, j...>) {
  return std::array<TileFunction, sizeof...(j)>{run_tile<exact, tm, j + 1>...};
}
template <bool exact, int... i>
constexpr auto all_tiles(std::integer_sequence<int, i...>) {
  return std::array{tiles_of<exact, i + 1>(std::make_integer_sequence<int, max_tn>())...};
}
template <bool exact>
constexpr auto tile_table = all_tiles<exact>(std::make_integer_sequence<int, max_tm>());

void add_products(const PackedColumns& p, double* sums) {
  const std::int64_t high = ceil_div(p.m, max_tm);
  const std::int64_t wide = ceil_div(p.n, max_tn);
  for (std::int64_t y = 0; y < wide; ++y) {
    const std::int64_t left = piece(p.n, wide, y), right = piece(p.n, wide, y + 1);
    for (std::int64_t x = 0; x < high; ++x) {
      const std::int64_t top = piece(p.m, high, x), bottom = piece(p.m, high, x + 1);
      if (p.symmetric && right <= top) continue;
      const auto tm = static_cast<std::size_t>(bottom - top - 1), tn = static_cast<std::size_t>(right - left - 1);
      (p.exact ? tile_table<true>[tm][tn] : tile_table<false>[tm][tn])(p, top, left, sums);
    }
  }
}

}  // namespace
}  // namespace blockvec::kernels::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace blockvec::kernels::host {

HWY_EXPORT(add_products);

void add_packed_products(const PackedColumns& columns, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_products)(columns, sums);
}

}  // namespace blockvec::kernels::host
#endif
