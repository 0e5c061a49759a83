#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/block_vector.hpp>
#include <blockvec/double_double_matrix.hpp>
#include <cstdint>

#include "blockvec/entries.hpp"

/// V^H W in double-double by plain loops, for memory spaces that have no kernel of their own for it.
namespace blockvec::detail {

/// A compensated sum: `low` gathers what rounding takes from `high`.
struct CompensatedSum {
  double high = 0, low = 0;
  KOKKOS_INLINE_FUNCTION void add_product(double a, double b) {
    const DoubleDouble product = two_product(a, b), sum = two_sum(high, product.high);
    high = sum.high;
    low += sum.low + product.low;
  }
  KOKKOS_INLINE_FUNCTION void add(const CompensatedSum& other) {
    const DoubleDouble sum = two_sum(high, other.high);
    high = sum.high;
    low += sum.low + other.low;
  }
};

template <class Scalar>
struct CompensatedEntry {
  CompensatedSum re, im;
  KOKKOS_INLINE_FUNCTION void add_product(const Scalar& a, const Scalar& b) {  // conj(a) b
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      re.add_product(a.real(), b.real());
      re.add_product(a.imag(), b.imag());
      im.add_product(a.real(), b.imag());
      im.add_product(-a.imag(), b.real());
    } else {
      re.add_product(a, b);
    }
  }
  KOKKOS_INLINE_FUNCTION void add(const CompensatedEntry& other) {
    re.add(other.re);
    im.add(other.im);
  }
};

/// One entry's sum over one chunk of rows.
template <class View>
struct ChunkOfProduct {
  using Scalar = typename View::non_const_value_type;
  View v, w;
  CompensatedEntry<Scalar>* sums;
  std::int64_t chunk_rows, entries;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const auto rows = static_cast<std::int64_t>(v.extent(0)), columns = static_cast<std::int64_t>(w.extent(1));
    const std::int64_t begin = index / entries * chunk_rows;
    const std::int64_t end = begin + chunk_rows < rows ? begin + chunk_rows : rows;
    const std::int64_t i = index % entries / columns, j = index % entries % columns;
    CompensatedEntry<Scalar> sum;
    for (std::int64_t k = begin; k < end; ++k) sum.add_product(v(k, i), w(k, j));
    sums[index] = sum;
  }
};

/// One entry from its chunks.
template <class Scalar>
struct SumOfChunks {
  using Real = RealOf<Scalar>;
  const CompensatedEntry<Scalar>* sums;
  std::int64_t chunks, entries, columns;
  Scalar* high;
  std::int64_t high_ld;
  Scalar* low;
  std::int64_t low_ld;
  KOKKOS_FUNCTION static void split_sum(const CompensatedSum& sum, Real& high_part, Real& low_part) {
    if constexpr (std::is_same_v<Real, float>) {
      split(sum.high + sum.low, high_part, low_part);
    } else {
      split(DoubleDouble{sum.high, sum.low}, high_part, low_part);
    }
  }
  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    CompensatedEntry<Scalar> sum;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum.add(sums[chunk * entries + index]);
    Scalar& to_high = high[index / columns + index % columns * high_ld];
    Scalar& to_low = low[index / columns + index % columns * low_ld];
    if constexpr (ScalarTraits<Scalar>::is_complex) {
      split_sum(sum.re, to_high.real(), to_low.real());
      split_sum(sum.im, to_high.imag(), to_low.imag());
    } else {
      split_sum(sum.re, to_high, to_low);
    }
  }
};

/// C = V^H W for this rank's rows, by fixed chunks.
template <class Scalar, class Layout, class Space>
void plain_inner_product_dd(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                            const DoubleDoubleMatrix<Scalar, Space>& c) {
  using View = typename BlockVector<Scalar, Layout, Space>::View;
  const std::int64_t rows = v.local_rows(), entries = v.width() * w.width();
  if (entries == 0) return;
  constexpr std::int64_t least_rows = 1024, most_chunks = 512;
  const std::int64_t chunk_rows = std::max(least_rows, (rows + most_chunks - 1) / most_chunks);
  const std::int64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
  WorkspaceScope<Space> scope(v.context());
  auto* const sums = scope.template take<CompensatedEntry<Scalar>>(static_cast<std::size_t>(chunks * entries));
  if (chunks > 0) {
    launch<Space>(v.context(), chunks * entries, ChunkOfProduct<View>{v.view(), w.view(), sums, chunk_rows, entries});
  }
  launch<Space>(
      v.context(), entries,
      SumOfChunks<Scalar>{sums, chunks, entries, w.width(), c.high.data(), c.high.ld(), c.low.data(), c.low.ld()});
}

}  // namespace blockvec::detail
