#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/kernels/matrix.hpp>
#include <blockvec/scalar.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "blockvec/double_double_products.hpp"
#include "blockvec/limbs.hpp"

/// A reproducible product on a device: the sums over shares of the rows (SumsOfShare), each made by one team in one
/// order, and their exact sum as whole numbers, in which no order counts.
namespace blockvec::detail {

/// Where the sums over shares stand for each entry of C, column by column.
template <class Scalar, class Part>
struct EntriesOfShares {
  using Sum = EntrySum<Scalar, Part>;
  static constexpr int parts = parts_of<Scalar>;

  Sum* sums;
  int shares, rows, columns;  // of C
  bool gram;                  // entries below the diagonal are not there
  bool diagonal;              // C's diagonal is all that is asked for

  KOKKOS_FUNCTION int entries() const { return diagonal ? columns : rows * columns; }
  /// The sums of an entry, and the sign of its imaginary part there: 0 on the diagonal of a Gram matrix, which is real.
  KOKKOS_FUNCTION const Sum* of_entry(int index, double& sign) const {
    int row = diagonal ? index : index % rows, column = diagonal ? index : index / rows;
    sign = gram && row == column ? 0 : 1;
    if (gram && row > column) {
      const int other = row;
      row = column;
      column = other;
      sign = -1;
    }
    return sums + (static_cast<std::int64_t>(row) * columns + column) * shares;
  }
};

/// The largest magnitude of an entry's parts over its shares, as bits, and the limbs of those parts relative to it,
/// added over the shares.
template <class Entries, std::size_t count>
struct LimbsOfShares {
  static constexpr int parts = Entries::parts;
  static constexpr int scratch_bytes = product_threads * static_cast<int>(count * sizeof(std::int64_t));
  static constexpr int resident_teams = 3;

  Entries from;
  std::int64_t* largest;  // those of one entry are adjacent
  std::int64_t* limbs;    // `count` for each number in `largest`

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, int index, std::byte* scratch) const {
    const int thread = team.team_rank(), threads = team.team_size();
    auto* const places = reinterpret_cast<std::int64_t*>(scratch);
    double sign = 1;
    const auto* const sums = from.of_entry(index, sign);
    for (int part = 0; part < parts; ++part) {
      std::int64_t most[1] = {};
      for (int share = thread; share < from.shares; share += threads) {
        const std::int64_t bits = magnitude_bits(sums[share].part[part].sum().high);
        if (bits > most[0]) most[0] = bits;
      }
      join(team, places, most, [](std::int64_t& a, std::int64_t b) { a = b > a ? b : a; });
      const Limbs cutter(most[0]);
      const double factor = part == 0 ? 1 : sign;
      std::int64_t own[count] = {};
      for (int share = thread; share < from.shares; share += threads) {
        const DoubleDouble sum = sums[share].part[part].sum();
        cutter.add(factor * sum.high, own);
        if constexpr (count == Limbs::extended) cutter.add(factor * sum.low, own);
      }
      join(team, places, own, [](std::int64_t& a, std::int64_t b) { a += b; });
      if (thread != 0) continue;
      const int number = index * parts + part;
      largest[number] = most[0];
      for (std::size_t i = 0; i < count; ++i) limbs[number * static_cast<int>(count) + i] = own[i];
    }
  }

 private:
  /// Gives all threads of the team what join(a, b) makes of the numbers of all.
  template <class Team, std::size_t numbers, class Join>
  KOKKOS_FUNCTION static void join(const Team& team, std::int64_t* places, std::int64_t (&own)[numbers],
                                   const Join& join_two) {
    const int thread = team.team_rank(), threads = team.team_size();
    for (std::size_t i = 0; i < numbers; ++i) places[thread + i * threads] = own[i];
    for (int half = threads / 2; half > 0; half /= 2) {
      team.team_barrier();
      for (std::size_t i = 0; i < numbers && thread < half; ++i) {
        join_two(places[thread + i * threads], places[thread + half + i * threads]);
      }
    }
    team.team_barrier();
    for (std::size_t i = 0; i < numbers; ++i) own[i] = places[i * threads];
    team.team_barrier();
  }
};

/// The sums of all ranks from the largest numbers that each has met and limbs relative to those: to[i], or in
/// double-double to[i] + to[i + low].
template <class Real, std::size_t count>
struct SumOfRanks {
  const std::int64_t* largest;  // number i of rank r: at r * stride + i
  const std::int64_t* limbs;    // its limbs: at r * stride + i * count
  std::int64_t stride;
  int ranks;
  Real* to;
  std::int64_t low;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t bits = largest[rank * stride + i];
      if (bits > most) most = bits;
    }
    const Limbs cutter(most);
    std::int64_t sum[count] = {};
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t first = rank * stride;
      cutter.add(Limbs(largest[first + i]), limbs + first + i * static_cast<std::int64_t>(count), sum);
    }
    if constexpr (count == Limbs::extended) {
      cutter.value(sum, to[i], to[i + low]);
    } else {
      to[i] = cutter.template value<Real>(sum);
    }
  }
};

/// Sums over shares of `share_rows` rows each: those of C = V^H W, from number `first_share` on; `of` says more. run as
/// in inner_product_dd_in_teams.
template <class Scalar, class Part, class Kernel, class Run>
void sum_shares(const kernels::Matrix<Kernel>& v, const kernels::Matrix<Kernel>& w, Factors of, std::int64_t share_rows,
                int first_share, int shares, EntrySum<Scalar, Part>* sums, const Run& run) {
  if (v.columns == 0 && of == Factors::two_and_gram)
    return sum_shares(w, w, Factors::one, share_rows, first_share, shares, sums, run);
  const std::int64_t rows = v.rows;
  const auto own_shares = static_cast<int>((rows + share_rows - 1) / share_rows);
  const auto m = static_cast<int>(v.columns), b = static_cast<int>(w.columns);
  if (own_shares == 0 || m == 0 || b == 0) return;
  const bool by_rows = v.layout == kernels::Layout::row_major;
  const auto operand = [&](const kernels::Matrix<Kernel>& a) {
    return TallOperand<Scalar>{reinterpret_cast<const Scalar*>(a.data), by_rows ? a.ld : 1, by_rows ? 1 : a.ld,
                               static_cast<int>(a.columns)};
  };
  const auto run_tiles = [&](auto tile, auto panel_rows, auto in_blocks) {
    const SumsOfShare<Scalar, decltype(tile)::value, Part, decltype(panel_rows)::value, decltype(in_blocks)::value>
        body{operand(v), operand(w), of, by_rows, sums, rows, share_rows, shares, first_share};
    run(own_shares * body.panels(), body);
  };
  using Narrow = std::integral_constant<int, 8>;
  constexpr bool is_extended = std::is_same_v<Part, CompensatedSum>;
  constexpr int widest = is_extended && parts_of<Scalar> == 2 ? 2 : 4;  // by the registers that sums take
  using Widest = std::integral_constant<int, widest>;
  if (m == 1 && b == 1) {
    run_tiles(std::integral_constant<int, 1>{}, Narrow{}, std::false_type{});
  } else if (m <= 2 && b <= 2) {
    run_tiles(std::integral_constant<int, 2>{}, Narrow{}, std::false_type{});
  } else if (is_extended || of == Factors::one || m <= Narrow::value) {
    run_tiles(Widest{}, Narrow{}, std::false_type{});
  } else if constexpr (!is_extended) {
    using Wide = std::integral_constant<int, parts_of<Scalar> == 2 ? 24 : 32>;
    if (by_rows) {
      run_tiles(Widest{}, Wide{}, std::false_type{});
    } else {
      run_tiles(Widest{}, Wide{}, std::true_type{});
    }
  }
}

}  // namespace blockvec::detail
