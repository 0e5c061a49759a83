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

/// Where a tile stands among tiles, or a panel among panels.
struct Tile {
  int row, column;
};
/// The index-th place on and above the diagonal, column by column.
KOKKOS_INLINE_FUNCTION Tile in_upper_triangle(int index) {
  int column = 0;
  while (index > column) index -= ++column;
  return {index, column};
}

/// What C = V^H W is made of.
enum class Factors {
  two,          ///< V and W
  one,          ///< V is W, and C a Gram matrix: what is below its diagonal is left out
  two_and_gram  ///< V and a narrow W; the Gram matrix W^H W follows as further rows of C
};

/// The most columns of W whose Gram matrix follows.
inline constexpr int most_gram_columns = 8;

/// How the kernels see V and W.
template <class Scalar>
struct TallOperand {
  const Scalar* data;
  std::int64_t row_step, column_step;
  int columns;
};

/// One panel's sums over one share of the rows. Of a Gram matrix, whose panels are square, the panels, tiles and
/// entries below the diagonal are left out. in_blocks: by columns, whole sectors are brought where panels are wide.
template <class Scalar, int tile, class Part = ExtendedSum<Scalar>, int rows_of_panel = 8, bool in_blocks = false>
struct SumsOfShare {
  using Sum = EntrySum<Scalar, Part>;
  static constexpr int parts = parts_of<Scalar>;
  static constexpr int panel_rows = rows_of_panel, panel_columns = most_gram_columns;
  static constexpr int in_block = 8, blocks = in_blocks ? (panel_rows + panel_columns) / in_block : 1;
  // Entries that a thread brings at a time.
  static constexpr int fetched = in_blocks ? 2 * blocks : panel_rows > panel_columns ? 8 : 8 / parts;
  static constexpr int scratch_bytes =
      static_cast<int>(sizeof(double)) * parts * (fetched * product_threads + 20 * (panel_rows + panel_columns));

  static constexpr int resident_teams = parts == 1 && std::is_same_v<Part, WideSum> ? 4 : 3;  // at least

  TallOperand<Scalar> v, w;
  Factors of;
  bool row_major;
  Sum* sums;  // those of one entry are adjacent
  std::int64_t rows, share_rows;
  int shares;           // whose sums are kept together
  int first_share = 0;  // of these rows, among them

  /// Those of one share.
  KOKKOS_FUNCTION int panels() const {
    const int of_w = panels_in(w.columns, panel_columns);
    return of == Factors::one ? of_w * (of_w + 1) / 2 : panels_in(v.columns, panel_rows) * of_w;
  }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, int index, std::byte* scratch) const {
    const int thread = team.team_rank(), threads = team.team_size();
    const int share = index / panels(), number = index % panels(), of_w = panels_in(w.columns, panel_columns);
    const bool gram = of == Factors::one;
    const Tile panel = gram ? in_upper_triangle(number) : Tile{number / of_w, number % of_w};
    const bool on_diagonal = gram && panel.row == panel.column;
    const int v_first = panel.row * panel_rows, w_first = panel.column * panel_columns;
    const int v_tiles = tiles_from(v_first, v.columns, panel_rows);
    const int w_tiles = tiles_from(w_first, w.columns, panel_columns);
    // The last panel has the rows of W^H W as well.
    const bool with_gram = of == Factors::two_and_gram && v_first + panel_rows >= v.columns;

    // The tile of this thread. On the diagonal of a Gram matrix a group whose tile lies below the diagonal takes every
    // second turn at the tile's image above.
    const int tiles = (with_gram ? v_tiles + w_tiles : v_tiles) * w_tiles;
    int lanes = 1;
    while (2 * lanes * tiles <= threads) lanes *= 2;
    const int group = thread / lanes, lane = thread % lanes;
    const bool works = group < tiles;
    const Tile own{group / w_tiles, group % w_tiles};
    const bool shared = on_diagonal && own.row != own.column, below = shared && own.row > own.column;
    const Tile at = below ? Tile{own.column, own.row} : own;
    const int first_turn = below ? lanes + lane : lane, turn = shared ? 2 * lanes : lanes;

    // What this thread brings: entries of one column, or by columns, where these are many, of one in each block of
    // eight, so that neighbouring threads bring whole sectors. Columns that fill a tile or block up are zero.
    const int v_columns = v_tiles * tile, w_columns = on_diagonal ? 0 : w_tiles * tile;
    const int v_places = in_blocks ? (v_columns + in_block - 1) / in_block * in_block : v_columns;
    const int columns = in_blocks ? in_block : v_columns + w_columns;  // at a time
    const int row_distance = threads / columns, piece = row_distance * (fetched / blocks);
    const int column_distance = (piece + 15) / 16 * 16 + 5;  // few conflicts between banks in either layout
    const int column = row_major ? thread % columns : thread / row_distance;
    const int first_row = row_major ? thread / columns : thread % row_distance;
    const bool stages = column < columns && first_row < row_distance;
    const std::int64_t begin = share * share_rows, end = begin + share_rows < rows ? begin + share_rows : rows;
    const Scalar* from[blocks] = {};  // none: nothing to read
    std::int64_t row_step = 1;        // of V and W by columns; else of what this thread brings
    for (int block = 0; block < blocks; ++block) {
      const int place = column + block * in_block;
      const bool of_v = place < v_places;
      const TallOperand<Scalar>& a = of_v ? v : w;
      const int of_a = of_v ? v_first + place : w_first + place - v_places;
      if (!stages || of_a >= a.columns || (on_diagonal && !of_v)) continue;
      if (!in_blocks) row_step = a.row_step;
      from[block] = a.data + (begin + first_row) * row_step + of_a * a.column_step;
    }

    double* const places = reinterpret_cast<double*>(scratch);
    Scalar values[fetched];
    const auto fetch = [&](std::int64_t left) {
      for (int n = 0; n < fetched; ++n) {
        const int distance = n / blocks * row_distance;
        const bool reads = from[n % blocks] != nullptr && first_row + distance < left;
        values[n] = reads ? from[n % blocks][distance * row_step] : Scalar(0);
      }
    };
    double* const stage = places + column * parts * column_distance + first_row;
    const auto put_all = [&] {
      for (int n = 0; n < fetched; ++n) {
        put(values[n], stage + n % blocks * in_block * parts * column_distance + n / blocks * row_distance,
            column_distance);
      }
    };
    const auto column_at = [&](int place) { return places + place * parts * column_distance; };
    const double* const x = column_at(at.row < v_tiles ? at.row * tile : v_places + (at.row - v_tiles) * tile);
    const double* const y = column_at((on_diagonal ? 0 : v_places) + at.column * tile);
    Sum tile_sums[tile][tile];
    fetch(end - begin);
    for (std::int64_t first = begin; first < end; first += piece) {
      team.team_barrier();
      if (stages) put_all();
      team.team_barrier();
      for (auto& place : from) place = place == nullptr ? nullptr : place + piece * row_step;
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
      const bool of_gram = gram || at.row >= v_tiles;
      const int row = (at.row < v_tiles ? v_first : -v_tiles * tile) + at.row * tile + i;  // of V^H W or W^H W
      for (int j = 0; j < tile; ++j) {
        const int c_column = w_first + at.column * tile + j;
        if (row >= (of_gram ? w : v).columns || c_column >= w.columns || (of_gram && row > c_column)) continue;
        const std::int64_t c_row = at.row < v_tiles ? row : v.columns + row;
        sums[(c_row * w.columns + c_column) * shares + first_share + share] = tile_sums[i][j];
      }
    }
  }

 private:
  KOKKOS_FUNCTION static int panels_in(int columns, int side) { return (columns + side - 1) / side; }
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
  static constexpr int resident_teams = 3;

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
  const std::int64_t rows = v.local_rows();
  const int m = static_cast<int>(v.width()), b = static_cast<int>(w.width());
  if (m == 0 || b == 0) return;
  const auto operand = [](const BlockVector<Scalar, Layout, Space>& block, int columns) {
    return TallOperand<Scalar>{block.data(), row_major ? block.ld() : 1, row_major ? 1 : block.ld(), columns};
  };
  const Factors of = same_block(v, w) ? Factors::one : Factors::two;
  const int panels = SumsOfShare<Scalar, 1>{operand(v, m), operand(w, b), of, row_major, nullptr, rows, 0, 0}.panels();
  const std::int64_t most_shares = std::max<std::int64_t>(1, most_teams / panels);
  const std::int64_t share_rows = std::max(least_rows, ((rows + most_shares - 1) / most_shares + 31) / 32 * 32);
  const auto shares = static_cast<int>((rows + share_rows - 1) / share_rows);
  WorkspaceScope<Space> scope(v.context());
  auto* const sums =
      scope.template take<EntrySum<Scalar>>(static_cast<std::size_t>(shares) * static_cast<std::size_t>(m * b));
  const auto run_tiles = [&](auto tile) {
    run(shares * panels, SumsOfShare<Scalar, decltype(tile)::value>{operand(v, m), operand(w, b), of, row_major, sums,
                                                                    rows, share_rows, shares});
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
  run(m * b,
      SumOfShares<Scalar>{sums, shares, b, of == Factors::one, c.high.data(), c.high.ld(), c.low.data(), c.low.ld()});
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
    using Policy =
        Kokkos::TeamPolicy<ExecutionSpaceOf<Space>, Kokkos::LaunchBounds<product_threads, Body::resident_teams>>;
    static const std::string label("BlockVec::inner_products_in_teams");  // kept: a call allocates nothing
    Policy policy(context.execution_space<Space>(), teams, product_threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(Body::scratch_bytes + static_cast<int>(sizeof(double))));
    Kokkos::parallel_for(label, policy, InTeams<Body>{body});
  }
};

}  // namespace detail
}  // namespace blockvec
