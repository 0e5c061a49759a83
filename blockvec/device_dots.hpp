#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "blockvec/entries.hpp"

/// Column dots of tall operands on a device, in an order that shapes, leading dimensions and alignment decide. Teams
/// sum the products of their rows in double precision: each thread for itself, then all threads of a team in order. At
/// last one team for each column adds what the teams have found.
namespace blockvec {
namespace detail {

template <class Scalar>
using DotSum = std::conditional_t<ScalarTraits<Scalar>::is_complex, Complex<double>, double>;

KOKKOS_INLINE_FUNCTION double product_of(float x, float y) { return static_cast<double>(x) * static_cast<double>(y); }
KOKKOS_INLINE_FUNCTION double product_of(double x, double y) { return x * y; }
template <class Real>
KOKKOS_INLINE_FUNCTION Complex<double> product_of(const Complex<Real>& x, const Complex<Real>& y) {
  const double a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  return {a * c + b * d, a * d - b * c};
}

inline constexpr int dot_threads = 256;

/// A team takes some rows and a section of the columns, in packs of `size` entries that are adjacent: a thread takes
/// one pack of every row that it meets (row-major), or packs of rows of one column (column-major).
template <class Scalar_, class Layout, int size, bool is_same>
struct DotsOfRows {
  using Scalar = Scalar_;
  using Sum = DotSum<Scalar>;
  static constexpr bool along_row = is_row_major<Layout>;
  static constexpr int at_once = 8 / (is_same ? 1 : 2);  ///< packs of each operand that a thread loads together
  static constexpr std::size_t scratch_bytes = sizeof(Sum) * dot_threads * (along_row ? size : 1);

  Entries<const Scalar, Layout> v, w;
  std::int64_t rows, width, teams;  ///< teams of a section
  int packs;                        ///< of a section in a row; 1 for column-major
  Sum* partial;                     ///< of team t for column j: at t * width + j

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const shared =
        static_cast<Sum*>(team.team_scratch(0).get_shmem_aligned(std::size_t{scratch_bytes}, alignof(Sum)));
    const std::int64_t section = team.league_rank() / teams, number = team.league_rank() % teams;
    const int thread = team.team_rank(), together = dot_threads / packs;  // rows, or packs of rows
    const std::int64_t column = along_row ? (section * packs + thread % packs) * size : section;
    Sum sum[size] = {};
    if (thread < together * packs && column < width) {
      const std::int64_t step = teams * together, unit = along_row ? 1 : size;
      add(column, (number * together + thread / packs) * unit, step * unit, sum);
    }
    if constexpr (!along_row) {
      for (int i = 1; i < size; ++i) sum[0] += sum[i];
    }
    constexpr int kept = along_row ? size : 1;
    for (int i = 0; i < kept; ++i) shared[i * dot_threads + thread] = sum[i];
    team.team_barrier();
    for (int i = thread; i < packs * kept; i += dot_threads) {
      const Sum* const own = shared + i % kept * dot_threads + i / kept;
      const std::int64_t j = along_row ? section * packs * size + i : section;
      if (j >= width) continue;
      Sum total = own[0];
      for (int k = 1; k < together; ++k) total += own[k * packs];
      partial[number * width + j] = total;
    }
  }

  KOKKOS_FUNCTION void add(std::int64_t column, std::int64_t row, std::int64_t step, Sum (&sum)[size]) const {
    const std::int64_t whole = along_row ? rows : rows / size * size;
    for (; row + (at_once - 1) * step < whole; row += at_once * step) {
      Pack<Scalar, size> x[at_once], y[at_once];
      for (int k = 0; k < at_once; ++k) {
        x[k].load(v.at(row + k * step, column));
        if constexpr (!is_same) y[k].load(w.at(row + k * step, column));
      }
      for (int k = 0; k < at_once; ++k) {
        for (int i = 0; i < size; ++i) sum[i] += product_of(x[k].entry[i], is_same ? x[k].entry[i] : y[k].entry[i]);
      }
    }
    for (; row < rows; row += step) {
      for (int i = 0; i < size; ++i) {
        const std::int64_t r = along_row ? row : row + i, c = along_row ? column + i : column;
        if (r < rows) sum[i] += product_of(*v.at(r, c), *w.at(r, c));
      }
    }
  }
};

/// values[j] = the sum over `teams` teams of partial[t * width + j].
template <class Scalar>
struct SumOfTeams {
  using Sum = DotSum<Scalar>;
  static constexpr std::size_t scratch_bytes = sizeof(Sum) * dot_threads;

  const Sum* partial;
  std::int64_t teams, width;
  Scalar* values;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    auto* const shared =
        static_cast<Sum*>(team.team_scratch(0).get_shmem_aligned(std::size_t{scratch_bytes}, alignof(Sum)));
    const int thread = team.team_rank();
    const std::int64_t j = team.league_rank();
    Sum sum = {};
    for (std::int64_t t = thread; t < teams; t += dot_threads) sum += partial[t * width + j];
    shared[thread] = sum;
    for (int half = dot_threads / 2; half > 0; half /= 2) {
      team.team_barrier();
      if (thread < half) shared[thread] += shared[thread + half];
    }
    if (thread == 0) values[j] = static_cast<Scalar>(shared[0]);
  }
};

template <class Space, class Body>
void launch_dot_teams(const Context& context, std::int64_t teams, const Body& body) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpaceOf<Space>, Kokkos::LaunchBounds<dot_threads, 2>>;
  static const std::string label("BlockVec::column_dots");  // kept: a call allocates nothing
  Policy policy(context.execution_space<Space>(), static_cast<int>(teams), dot_threads);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Body::scratch_bytes + alignof(Complex<double>))));
  Kokkos::parallel_for(label, policy, body);
}

template <int size, bool is_same, class Scalar, class Layout, class Space>
void dots_in_packs(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                   Scalar* values) {
  using Dots = DotsOfRows<Scalar, Layout, size, is_same>;
  constexpr std::int64_t most_teams = 132 * 16;  // enough to fill any device, few enough to add up
  const std::int64_t rows = v.local_rows(), width = v.width();
  const std::int64_t in_row = is_row_major<Layout> ? (width + size - 1) / size : 1;
  const auto packs = static_cast<int>(std::min<std::int64_t>(in_row, dot_threads));
  const std::int64_t sections = is_row_major<Layout> ? (in_row + packs - 1) / packs : width;
  const std::int64_t rows_at_once =
      dot_threads / packs * Dots::at_once * (is_row_major<Layout> ? 1 : static_cast<std::int64_t>(size));
  const std::int64_t teams = std::clamp<std::int64_t>(rows / rows_at_once, 1, (most_teams + sections - 1) / sections);
  WorkspaceScope<Space> scope(v.context());
  auto* const partial = scope.template take<DotSum<Scalar>>(static_cast<std::size_t>(teams * width));
  launch_dot_teams<Space>(v.context(), teams * sections,
                          Dots{{v.data(), v.ld()}, {w.data(), w.ld()}, rows, width, teams, packs, partial});
  launch_dot_teams<Space>(v.context(), width, SumOfTeams<Scalar>{partial, teams, width, values});
}

}  // namespace detail

/// values[j] = v_j^H w_j for this rank's rows, in device memory. One pass over V and W, or over V where W is V. The
/// error is that of sums of K / 2^11 or fewer terms for each of some 2^11 threads, in double precision.
template <class Scalar, class Layout, class Space>
void dots_on_device(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                    Scalar* values) {
  constexpr std::uintptr_t bytes = 16;
  constexpr int size = static_cast<int>(bytes / sizeof(Scalar));
  const auto comes_in_packs = [&](const auto& x) {
    return reinterpret_cast<std::uintptr_t>(x.data()) % bytes == 0 && x.ld() % size == 0;
  };
  const bool ends_well = !is_row_major<Layout> || v.width() % size == 0;
  const bool is_same = v.data() == w.data() && v.ld() == w.ld();
  const auto go = [&]<int pack>() {
    is_same ? detail::dots_in_packs<pack, true>(v, w, values) : detail::dots_in_packs<pack, false>(v, w, values);
  };
  if (v.width() == 0) return;
  ends_well&& comes_in_packs(v) && comes_in_packs(w) ? go.template operator()<size>() : go.template operator()<1>();
}

}  // namespace blockvec
