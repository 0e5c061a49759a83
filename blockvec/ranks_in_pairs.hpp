#pragma once

#include <Kokkos_Macros.hpp>

/// The order in which the values of all ranks are added, wherever that happens: the result has the same bits on every
/// rank, from run to run, and on hosts and devices. Ranks from the largest power of two on are added to the first ones
/// before: then 0 + 1, 2 + 3 and so on, then pairs of pairs, each time the lower rank first.
namespace blockvec {

/// The largest power of two that is not larger than the number of ranks.
KOKKOS_INLINE_FUNCTION constexpr int paired_ranks(int ranks) {
  int paired = 1;
  while (paired <= ranks / 2) paired *= 2;
  return paired;
}

/// The sum of part(0), ..., part(ranks - 1), which is a T. Fixed, unless 0, is their number, known to the compiler.
template <class T, int Fixed = 0, class Part>
KOKKOS_INLINE_FUNCTION T sum_in_pairs(int ranks, const Part& part) {
  constexpr int levels = Fixed > 0 ? 5 : 31;  // of a tree of that many ranks
  static_assert(Fixed < 32);
  const int count = Fixed > 0 ? Fixed : ranks;
  const int paired = paired_ranks(count);
  T waiting[levels];  // sums of complete pairs, the largest first
  int depth = 0;
  for (int rank = 0; rank < paired; ++rank) {
    T sum = part(rank);
    if (rank + paired < count) sum = sum + part(rank + paired);
    for (int complete = rank; complete % 2 == 1; complete /= 2) sum = waiting[--depth] + sum;
    waiting[depth++] = sum;
  }
  return waiting[0];
}

}  // namespace blockvec
