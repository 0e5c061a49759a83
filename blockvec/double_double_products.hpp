#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/block_vector.hpp>
#include <blockvec/double_double_matrix.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

/// V^H W in double-double on a device, and shares of it in plain precision for reproducible.cpp. Rows are cut into
/// shares, and C into panels of 8 x 8 entries; one team computes one panel's sums over one share. It brings the rows
/// piece by piece into scratch memory, column by column, while the piece before is worked on. Each thread keeps the
/// sums of one tile of the panel over every lanes-th row. Sums over threads, and in a second kernel over shares, are
/// made in an order that the shapes alone decide.
namespace blockvec {

template <class V>
bool same_block(const V& v, const V& w) {
  return v.data() == w.data() && v.width() == w.width() && v.ld() == w.ld();
}

namespace detail {

/// A sum in double-double: `low` gathers what rounding takes from `high`.
struct CompensatedSum {
  double high = 0, low = 0;
  /// Dot2 with two operations less: one fma takes both what the product and what the sum lose of it.
  KOKKOS_INLINE_FUNCTION void add_product(double a, double b) {
    const double sum = high + two_product(a, b).high;
    const double of_product = sum - high;
    low += (high - (sum - of_product)) + std::fma(a, b, -of_product);
    high = sum;
  }
  KOKKOS_INLINE_FUNCTION void add(const CompensatedSum& other) {
    const DoubleDouble sum = two_sum(high, other.high);
    high = sum.high;
    low += sum.low + other.low;
  }
  KOKKOS_INLINE_FUNCTION void store(double sign, double& to_high, double& to_low) const {
    split(DoubleDouble{sign * high, sign * low}, to_high, to_low);
  }
  KOKKOS_INLINE_FUNCTION DoubleDouble sum() const {
    return high - high == 0 ? two_sum(high, low) : DoubleDouble{high, 0};  // of Inf `low` is NaN
  }
};

/// A sum in double precision. Products of single precision are exact there.
struct WideSum {
  double value = 0;
  KOKKOS_INLINE_FUNCTION void add_product(double a, double b) { value = std::fma(a, b, value); }
  KOKKOS_INLINE_FUNCTION void add(const WideSum& other) { value += other.value; }
  KOKKOS_INLINE_FUNCTION void store(double sign, float& to_high, float& to_low) const {
    split(sign * value, to_high, to_low);
  }
  KOKKOS_INLINE_FUNCTION DoubleDouble sum() const { return {value, 0}; }
};
/// What sums in double-double consist of.
template <class Scalar>
using ExtendedSum = std::conditional_t<std::is_same_v<RealOf<Scalar>, float>, WideSum, CompensatedSum>;

template <class Scalar>
inline constexpr int parts_of = ScalarTraits<Scalar>::is_complex ? 2 : 1;

/// The sums of one entry of C, real and imaginary part.
template <class Scalar, class Part = ExtendedSum<Scalar>>
struct EntrySum {
  static constexpr int parts = parts_of<Scalar>;
  Part part[parts];

  KOKKOS_INLINE_FUNCTION void add_product(const double (&a)[parts], const double (&b)[parts]) {  // conj(a) b
    part[0].add_product(a[0], b[0]);
    if constexpr (parts == 2) {
      part[0].add_product(a[1], b[1]);
      part[1].add_product(a[0], b[1]);
      part[1].add_product(-a[1], b[0]);
    }
  }
  KOKKOS_INLINE_FUNCTION void add(const EntrySum& other) {
    for (int p = 0; p < parts; ++p) part[p].add(other.part[p]);
  }
};

/// Gives lane 0 the sums of all lanes, lane l taking those of lane l + half. Lanes of one group are neighbours; their
/// number is a power of two. All threads of the team call it; `places` holds half of what the threads hold.
template <class Team, class Sum, int count>
KOKKOS_INLINE_FUNCTION void add_lanes(const Team& team, Sum* places, int group, int lane, int lanes, bool works,
                                      Sum (&sums)[count]) {
  for (int half = lanes / 2; half > 0; half /= 2) {
    team.team_barrier();
    Sum* const place = places + group * count * half + (lane & (half - 1));
    if (works && lane >= half && lane < 2 * half) {
      for (int i = 0; i < count; ++i) place[i * half] = sums[i];
    }
    team.team_barrier();
    if (works && lane < half) {
      for (int i = 0; i < count; ++i) sums[i].add(place[i * half]);
    }
  }
}

/// The most threads of a team; a power of two.
inline constexpr int product_threads = 128;

struct Position {
  int row, column;
};
/// The index-th place on and above the diagonal, column by column.
KOKKOS_INLINE_FUNCTION Position in_upper_triangle(int index) {
  int column = 0;
  while (index > column) index -= ++column;
  return {index, column};
}

/// How the kernels see V and W.
template <class Scalar>
struct TallOperand {
  const Scalar* data;
  std::int64_t row_step, column_step;
  int columns;
};

/// One panel's sums over one share of the rows. Of a Gram matrix, whose panels are square, the panels, tiles and
/// entries below the diagonal are left out.
template <class Scalar, int tile, class Part = ExtendedSum<Scalar>, int rows_of_panel = 8>
struct SumsOfShare {
  using Sum = EntrySum<Scalar, Part>;
  static constexpr int parts = parts_of<Scalar>;
  static constexpr int panel_rows = rows_of_panel, panel_columns = 8;
  static constexpr int fetched = panel_rows > panel_columns ? 8 : 8 / parts;  // entries that a thread brings at a time
  static constexpr int scratch_bytes =
      static_cast<int>(sizeof(double)) * parts * (fetched * product_threads + 20 * (panel_rows + panel_columns));

  TallOperand<Scalar> v, w;
  Sum* sums;  // those of one entry are adjacent
  std::int64_t rows, share_rows;
  int shares, panels, panels_of_w;
  bool row_major, gram;
  int first_share = 0;  // of these rows, among those whose sums are kept together

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, int index, std::byte* scratch) const {
    const int thread = team.team_rank(), threads = team.team_size();
    const int share = index / panels, number = index % panels;
    const Position panel = gram ? in_upper_triangle(number) : Position{number / panels_of_w, number % panels_of_w};
    const bool on_diagonal = gram && panel.row == panel.column;
    const int v_first = panel.row * panel_rows, w_first = panel.column * panel_columns;
    const int v_tiles = tiles_from(v_first, v.columns, panel_rows);
    const int w_tiles = tiles_from(w_first, w.columns, panel_columns);

    // The tile of this thread. On the diagonal of a Gram matrix a group whose tile lies below the diagonal takes every
    // second turn at the tile's image above.
    const int tiles = v_tiles * w_tiles;
    int lanes = 1;
    while (2 * lanes * tiles <= threads) lanes *= 2;
    const int group = thread / lanes, lane = thread % lanes;
    const bool works = group < tiles;
    const Position own{group / w_tiles, group % w_tiles};
    const bool shared = on_diagonal && own.row != own.column, below = shared && own.row > own.column;
    const Position at = below ? Position{own.column, own.row} : own;
    const int first_turn = below ? lanes + lane : lane, turn = shared ? 2 * lanes : lanes;

    // The column that this thread brings. Columns that fill a tile up are zero.
    const int v_columns = v_tiles * tile, columns = on_diagonal ? v_columns : v_columns + w_tiles * tile;
    const int row_distance = threads / columns, piece = row_distance * fetched;
    const int column_distance = (piece + 15) / 16 * 16 + 5;  // few conflicts between banks in either layout
    const int column = row_major ? thread % columns : thread / row_distance;
    const int first_row = row_major ? thread / columns : thread % row_distance;
    const bool stages = column < columns && first_row < row_distance;
    const bool of_v = column < v_columns;
    const int number_of_column = of_v ? v_first + column : w_first + column - v_columns;
    const bool reads = stages && number_of_column < (of_v ? v.columns : w.columns);
    const std::int64_t row_step = of_v ? v.row_step : w.row_step;
    const std::int64_t begin = share * share_rows, end = begin + share_rows < rows ? begin + share_rows : rows;
    const Scalar* from = of_v ? v.data : w.data;
    if (reads) from += (begin + first_row) * row_step + number_of_column * (of_v ? v.column_step : w.column_step);

    double* const places = reinterpret_cast<double*>(scratch);
    double* const stage = places + column * parts * column_distance + first_row;
    const double* const x = places + at.row * tile * parts * column_distance;
    const double* const y = places + ((on_diagonal ? 0 : v_columns) + at.column * tile) * parts * column_distance;
    Scalar values[fetched];
    const auto fetch = [&](std::int64_t left) {
      for (int n = 0; n < fetched; ++n) {
        values[n] = reads && first_row + n * row_distance < left ? from[n * row_distance * row_step] : Scalar(0);
      }
    };
    Sum tile_sums[tile][tile];
    fetch(end - begin);
    for (std::int64_t first = begin; first < end; first += piece) {
      team.team_barrier();
      if (stages) {
        for (int n = 0; n < fetched; ++n) put(values[n], stage + n * row_distance, column_distance);
      }
      team.team_barrier();
      if (reads) from += piece * row_step;
      fetch(end - first - piece);
      const int some = end - first < piece ? static_cast<int>(end - first) : piece;
      if (works && on_diagonal && at.row == at.column) {
        for (int row = first_turn; row < some; row += turn) add_row<true>(x + row, x + row, column_distance, tile_sums);
      } else if (works) {
        for (int row = first_turn; row < some; row += turn)
          add_row<false>(x + row, y + row, column_distance, tile_sums);
      }
    }

    for (int i = 0; i < tile; ++i) {
      add_lanes(team, reinterpret_cast<Sum*>(scratch), group, lane, lanes, works, tile_sums[i]);
      if (on_diagonal) {
        Sum* const images = reinterpret_cast<Sum*>(scratch) + (at.row * w_tiles + at.column) * tile;
        team.team_barrier();
        if (works && below && lane == 0) {
          for (int j = 0; j < tile; ++j) images[j] = tile_sums[i][j];
        }
        team.team_barrier();
        if (works && shared && !below && lane == 0) {
          for (int j = 0; j < tile; ++j) tile_sums[i][j].add(images[j]);
        }
      }
      if (!works || below || lane != 0) continue;
      const int row = v_first + at.row * tile + i;
      for (int j = 0; j < tile; ++j) {
        const int c_column = w_first + at.column * tile + j;
        if (row >= v.columns || c_column >= w.columns || (gram && row > c_column)) continue;
        sums[(static_cast<std::int64_t>(row) * w.columns + c_column) * shares + first_share + share] = tile_sums[i][j];
      }
    }
  }

 private:
  KOKKOS_FUNCTION static int tiles_from(int first, int columns, int most) {
    const int left = columns - first < most ? columns - first : most;
    return (left + tile - 1) / tile;
  }
  KOKKOS_FUNCTION static void put(const Scalar& value, double* place, int distance) {
    if constexpr (parts == 2) {
      place[0] = static_cast<double>(value.real());
      place[distance] = static_cast<double>(value.imag());
    } else {
      place[0] = static_cast<double>(value);
    }
  }
  template <bool is_triangle>
  KOKKOS_FUNCTION static void add_row(const double* x, const double* y, int distance, Sum (&tile_sums)[tile][tile]) {
    double a[tile][parts], b[tile][parts];
    for (int i = 0; i < tile; ++i) {
      for (int p = 0; p < parts; ++p) {
        a[i][p] = x[(i * parts + p) * distance];
        b[i][p] = is_triangle ? a[i][p] : y[(i * parts + p) * distance];
      }
    }
    for (int i = 0; i < tile; ++i) {
      for (int j = is_triangle ? i : 0; j < tile; ++j) tile_sums[i][j].add_product(a[i], b[j]);
    }
  }
};

/// One entry of C from its shares; of a Gram matrix the entry on the other side of the diagonal too.
template <class Scalar>
struct SumOfShares {
  using Sum = EntrySum<Scalar>;
  static constexpr int scratch_bytes = product_threads / 2 * static_cast<int>(sizeof(Sum));

  const Sum* sums;
  int shares, columns;
  bool gram;
  Scalar* high;
  std::int64_t high_ld;
  Scalar* low;
  std::int64_t low_ld;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, int index, std::byte* scratch) const {
    const int row = index / columns, column = index % columns;
    if (gram && row > column) return;
    const int thread = team.team_rank(), threads = team.team_size();
    Sum sum[1];
    for (int share = thread; share < shares; share += threads) {
      sum[0].add(sums[static_cast<std::int64_t>(index) * shares + share]);
    }
    add_lanes(team, reinterpret_cast<Sum*>(scratch), 0, thread, threads, true, sum);
    if (thread != 0) return;
    store(sum[0], 1, row, column);
    if (gram && row < column) store(sum[0], -1, column, row);
  }

 private:
  KOKKOS_FUNCTION void store(const Sum& sum, double sign_of_imaginary, int row, int column) const {
    Scalar& to_high = high[row + column * high_ld];
    Scalar& to_low = low[row + column * low_ld];
    if constexpr (parts_of<Scalar> == 2) {
      sum.part[0].store(1, to_high.real(), to_low.real());
      sum.part[1].store(sign_of_imaginary, to_high.imag(), to_low.imag());
    } else {
      sum.part[0].store(1, to_high, to_low);
    }
  }
};

/// C = V^H W for this rank's rows. run(teams, body) calls body(team, index, scratch) in `teams` teams, each of the same
/// number of threads, a power of two from 16 to product_threads, and with body.scratch_bytes of scratch memory.
template <class Scalar, class Layout, class Space, class Run>
void inner_product_dd_in_teams(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                               const DoubleDoubleMatrix<Scalar, Space>& c, const Run& run) {
  // Three teams work at a time in each of the 132 multiprocessors of an H100, three times one after the other.
  constexpr std::int64_t most_teams = 1188, least_rows = 512;
  constexpr bool row_major = std::is_same_v<Layout, RowMajor>;
  constexpr int panel_columns = SumsOfShare<Scalar, 1>::panel_columns;
  const std::int64_t rows = v.local_rows();
  const int m = static_cast<int>(v.width()), b = static_cast<int>(w.width());
  if (m == 0 || b == 0) return;
  const bool gram = same_block(v, w);
  const int v_panels = (m + panel_columns - 1) / panel_columns, w_panels = (b + panel_columns - 1) / panel_columns;
  const int panels = gram ? v_panels * (v_panels + 1) / 2 : v_panels * w_panels;
  const std::int64_t most_shares = std::max<std::int64_t>(1, most_teams / panels);
  const std::int64_t share_rows = std::max(least_rows, ((rows + most_shares - 1) / most_shares + 31) / 32 * 32);
  const auto shares = static_cast<int>((rows + share_rows - 1) / share_rows);
  WorkspaceScope<Space> scope(v.context());
  auto* const sums =
      scope.template take<EntrySum<Scalar>>(static_cast<std::size_t>(shares) * static_cast<std::size_t>(m * b));
  const auto operand = [](const BlockVector<Scalar, Layout, Space>& block, int columns) {
    return TallOperand<Scalar>{block.data(), row_major ? block.ld() : 1, row_major ? 1 : block.ld(), columns};
  };
  const auto run_tiles = [&](auto tile) {
    run(shares * panels,
        SumsOfShare<Scalar, decltype(tile)::value>{operand(v, m), operand(w, b), sums, rows, share_rows, shares, panels,
                                                   w_panels, row_major, gram});
  };
  constexpr int widest = std::is_same_v<Scalar, Complex<double>> ? 2 : 4;  // by the registers that sums take
  if (shares > 0) {
    if (std::max(m, b) == 1) {
      run_tiles(std::integral_constant<int, 1>{});
    } else if (std::max(m, b) == 2) {
      run_tiles(std::integral_constant<int, 2>{});
    } else {
      run_tiles(std::integral_constant<int, widest>{});
    }
  }
  run(m * b, SumOfShares<Scalar>{sums, shares, b, gram, c.high.data(), c.high.ld(), c.low.data(), c.low.ld()});
}

template <class Body>
struct InTeams {
  Body body;
  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int bytes = Body::scratch_bytes;
    body(team, team.league_rank(),
         static_cast<std::byte*>(team.team_scratch(0).get_shmem_aligned(bytes, sizeof(double))));
  }
};

/// Teams of product_threads threads, in the order of the context's instance.
template <class Space>
struct RunTeams {
  const Context& context;
  template <class Body>
  void operator()(int teams, const Body& body) const {
    if (teams == 0) return;
    using Policy = Kokkos::TeamPolicy<ExecutionSpaceOf<Space>, Kokkos::LaunchBounds<product_threads, 3>>;
    static const std::string label("BlockVec::inner_products_in_teams");  // kept: a call allocates nothing
    Policy policy(context.execution_space<Space>(), teams, product_threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(Body::scratch_bytes + static_cast<int>(sizeof(double))));
    Kokkos::parallel_for(label, policy, InTeams<Body>{body});
  }
};

}  // namespace detail
}  // namespace blockvec
