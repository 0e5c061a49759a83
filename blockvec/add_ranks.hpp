#pragma once

#include <blockvec/double_double_matrix.hpp>
#include <cstdint>

#include "blockvec/entries.hpp"
#include "blockvec/ranks_in_pairs.hpp"

/// What follows an all-gather: the sum of all ranks' numbers, in the order of ranks_in_pairs.hpp.
namespace blockvec::detail {

/// Number i of a rank, whose numbers begin `stride` numbers after those of the rank before.
template <class Real>
struct GatheredNumber {
  const Real* parts;
  std::int64_t stride, i;
  KOKKOS_FUNCTION Real operator()(int rank) const { return parts[rank * stride + i]; }
};

/// As high and low part: the low parts follow all high parts of a rank.
template <class Real>
struct GatheredPair {
  const Real* parts;
  std::int64_t stride, i;
  KOKKOS_FUNCTION Extended<Real> operator()(int rank) const {
    const Real* const high = parts + rank * stride + i;
    return extend(*high, high[stride / 2]);
  }
};

template <class Real, int Fixed, bool double_double>
struct AddRanks {
  const Real* parts;
  std::int64_t count;
  int ranks;
  Real* to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if constexpr (double_double) {
      split(sum_in_pairs<Extended<Real>, Fixed>(ranks, GatheredPair<Real>{parts, 2 * count, i}), to[i], to[count + i]);
    } else {
      to[i] = sum_in_pairs<Real, Fixed>(ranks, GatheredNumber<Real>{parts, count, i});
    }
  }
};

/// to[i], i < count: the sum over ranks of parts[rank * count + i]. In double-double parts and sums have `count` high
/// parts and then as many low ones. One kernel on the context's instance for Space.
template <class Space, class Real>
void add_ranks(const Context& context, const Real* parts, int ranks, std::int64_t count, bool double_double, Real* to) {
  const auto add = [&]<int Fixed>(std::integral_constant<int, Fixed>) {
    if (double_double) {
      launch<Space>(context, count, AddRanks<Real, Fixed, true>{parts, count, ranks, to});
    } else {
      launch<Space>(context, count, AddRanks<Real, Fixed, false>{parts, count, ranks, to});
    }
  };
  switch (ranks) {  // the loads of a few ranks are all under way at once
    case 2:
      return add(std::integral_constant<int, 2>());
    case 4:
      return add(std::integral_constant<int, 4>());
    case 8:
      return add(std::integral_constant<int, 8>());
    default:
      return add(std::integral_constant<int, 0>());
  }
}

}  // namespace blockvec::detail
