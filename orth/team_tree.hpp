#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <blockvec/workspace.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "orth/householder.hpp"

/// Householder QR of tall rows by teams of threads, as RowTree makes it on the host.
namespace blockvec::orth::team_tree {

/// Rows of one column that a thread keeps in registers at a time.
template <class Scalar>
inline constexpr int slots = sizeof(Scalar) > 8 ? 8 : 16;
inline constexpr std::int64_t most_columns = 64;
inline constexpr int least_threads = 128, most_threads = 512;

/// The rows of one level, cut into pieces of `piece_rows`, of which each chunk has some that follow one another.
template <class Scalar>
struct Level {
  Scalar* data;
  std::int64_t rows, row_step, column_step;
  std::int64_t pieces, chunks;
  Scalar* sigma;  ///< b for each piece
  Scalar* next;   ///< b rows for each chunk, without gaps: R, and later what Q is multiplied with

  KOKKOS_FUNCTION std::int64_t begin(std::int64_t chunk) const {
    return pieces / chunks * chunk + (chunk < pieces % chunks ? chunk : pieces % chunks);
  }
};

/// What a team's threads share: in turns a column of the piece and the pivot row, and the groups' shares of sums.
template <class Scalar>
struct Places {
  int b, groups;

  Places(int b_, int threads) : b(b_), groups(threads / b_) {}
  KOKKOS_FUNCTION int piece_rows() const { return groups * slots<Scalar>; }
  KOKKOS_FUNCTION Scalar* column(std::byte* scratch, int turn) const {
    return reinterpret_cast<Scalar*>(scratch) + turn * piece_rows();
  }
  KOKKOS_FUNCTION Scalar* pivots(std::byte* scratch, int turn) const { return column(scratch, 2) + turn * b; }
  KOKKOS_FUNCTION Scalar* shares(std::byte* scratch) const { return pivots(scratch, 2); }
  std::size_t bytes() const { return static_cast<std::size_t>(2 * piece_rows() + 2 * b + groups * b) * sizeof(Scalar); }
};

/// A thread works on one column of every groups-th row. Neighbours take neighbouring entries of memory.
struct Member {
  int group, column;
  bool works;

  KOKKOS_FUNCTION Member(int thread, int b, int groups, bool by_rows)
      : group(by_rows ? thread / b : thread % groups),
        column(by_rows ? thread % b : thread / groups),
        works(thread < groups * b) {}
};

/// One reflection, which brings (alpha; x) to (beta; 0): see householder::eliminate.
template <class Scalar>
struct Reflection {
  using Real = RealOf<Scalar>;
  Scalar sigma = Scalar(1), scale = Scalar(0);  ///< v = scale x
  Scalar beta;

  KOKKOS_FUNCTION Reflection(Scalar alpha, Real rest) : beta(alpha) {
    constexpr Real nothing = std::numeric_limits<Real>::min() / (epsilon<Scalar> * epsilon<Scalar>);
    const Real square = rest + dense::square(alpha);
    if (rest <= nothing && (square <= nothing || householder::imaginary_part(alpha) == 0)) return;
    const Real length = -std::copysign(std::sqrt(square), real_part(alpha));
    sigma = householder::make_scalar<Scalar>(real_part(alpha) / length, householder::imaginary_part(alpha) / length);
    scale = Scalar(1) / (alpha - Scalar(length));
    beta = Scalar(length);
  }
};

/// One chunk: the pivot rows of its first piece are that piece's first rows, whose R the other pieces couple with one
/// after the other. The rows give way to reflections, R goes to the next level.
template <class Scalar>
struct FactorChunk {
  using Real = RealOf<Scalar>;
  static constexpr int count = slots<Scalar>;

  Level<Scalar> level;
  Places<Scalar> places;
  const Real* scales;  // of columns, or null
  bool by_rows;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, int chunk, std::byte* scratch) const {
    const int b = places.b, groups = places.groups, piece_rows = places.piece_rows();
    const Member at(team.team_rank(), b, groups, by_rows);
    Scalar* const shares = places.shares(scratch);
    Scalar* const r = level.next + static_cast<std::int64_t>(chunk) * b * b;
    const std::int64_t begin = level.begin(chunk), end = level.begin(chunk + 1);
    const bool loads = at.works && at.group == 0;  // pivot rows
    const Real scale_of_column = at.works && scales != nullptr ? scales[at.column] : Real(1);
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const bool is_first = piece == begin;
      const std::int64_t first = piece * piece_rows, left = level.rows - first;
      const int some = left < piece_rows ? static_cast<int>(left) : piece_rows;
      const int steps = is_first && some < b ? some : b;
      Scalar* const data = level.data + first * level.row_step + at.column * level.column_step;
      Scalar a[count];
      for (int s = 0; s < count; ++s) {
        const int i = at.group + s * groups;
        a[s] = at.works && i < some ? data[i * level.row_step] * scale_of_column : Scalar(0);
      }
      Scalar next_pivot = loads && !is_first ? r[at.column] : Scalar(0);
      publish(at, a, 0, is_first, next_pivot, scratch);
      team.team_barrier();
      for (int k = 0; k < steps; ++k) {
        const int above = is_first ? k : -1;  // the last row that has no part in it
        const Scalar* const x = places.column(scratch, k % 2);
        const Scalar* const pivots = places.pivots(scratch, k % 2);
        if (loads && !is_first && k + 1 < steps) next_pivot = r[(k + 1) * b + at.column];
        if (at.works && at.column >= k) {
          Scalar sum = Scalar(0);
          for (int s = 0; s < count; ++s) {
            const int i = at.group + s * groups;
            if (i > above) sum += conjugate(x[i]) * a[s];
          }
          shares[at.group * b + at.column] = sum;
        }
        team.team_barrier();
        if (at.works && at.column >= k) {
          Real rest = 0;
          Scalar sum = Scalar(0);
          for (int g = 0; g < groups; ++g) {
            rest += real_part(shares[g * b + k]);
            sum += shares[g * b + at.column];
          }
          const Reflection<Scalar> reflection(pivots[k], rest);
          Scalar entry = reflection.beta;
          if (at.column == k) {
            for (int s = 0; s < count; ++s) {
              if (at.group + s * groups > above) a[s] *= reflection.scale;
            }
            if (at.group == 0) level.sigma[piece * b + k] = reflection.sigma;
          } else {
            const Scalar sigma = conjugate(reflection.sigma), tau = Scalar(1) - sigma;
            const Scalar pivot = pivots[at.column], part = tau * (conjugate(reflection.scale) * sum);
            const Scalar factor = reflection.scale * (tau * pivot + part);
            entry = sigma * pivot - part;
            for (int s = 0; s < count; ++s) {
              const int i = at.group + s * groups;
              if (i > above) a[s] -= x[i] * factor;
            }
          }
          if (at.group == 0) r[k * b + at.column] = entry;
        } else if (at.works && is_first && at.group == 0) {
          r[k * b + at.column] = Scalar(0);
        }
        if (k + 1 < steps) publish(at, a, k + 1, is_first, next_pivot, scratch);
        team.team_barrier();
      }
      for (int s = 0; s < count; ++s) {
        const int i = at.group + s * groups;
        if (at.works && i < some) data[i * level.row_step] = a[s];
      }
    }
  }

 private:
  KOKKOS_FUNCTION void publish(const Member& at, const Scalar (&a)[count], int k, bool is_first, const Scalar& pivot,
                               std::byte* scratch) const {
    if (!at.works) return;
    Scalar* const x = places.column(scratch, k % 2);
    Scalar* const pivots = places.pivots(scratch, k % 2);
    for (int s = 0; s < count; ++s) {
      const int i = at.group + s * places.groups;
      if (at.column == k) x[i] = a[s];
      if (is_first && i == k) pivots[at.column] = a[s];
    }
    if (!is_first && at.group == 0) pivots[at.column] = pivot;
  }
};

/// One chunk of Q T from its reflections and its b rows of T, which lie where R lay and are lost.
template <class Scalar>
struct FormChunk {
  static constexpr int count = slots<Scalar>;

  Level<Scalar> level;
  Places<Scalar> places;
  bool by_rows;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, int chunk, std::byte* scratch) const {
    const int b = places.b, groups = places.groups, piece_rows = places.piece_rows();
    const Member at(team.team_rank(), b, groups, by_rows);
    Scalar* const shares = places.shares(scratch);
    Scalar* const t = level.next + static_cast<std::int64_t>(chunk) * b * b;
    const bool loads = at.works && at.group == 0;
    const std::int64_t begin = level.begin(chunk), end = level.begin(chunk + 1);
    for (std::int64_t piece = end - 1; piece >= begin; --piece) {
      const bool is_first = piece == begin;
      const std::int64_t first = piece * piece_rows, left = level.rows - first;
      const int some = left < piece_rows ? static_cast<int>(left) : piece_rows;
      const int steps = is_first && some < b ? some : b;
      Scalar* const data = level.data + first * level.row_step + at.column * level.column_step;
      Scalar a[count], c[count];
      for (int s = 0; s < count; ++s) {
        const int i = at.group + s * groups;
        a[s] = at.works && i < some ? data[i * level.row_step] : Scalar(0);
        c[s] = at.works && is_first && i < steps ? t[i * b + at.column] : Scalar(0);
      }
      Scalar next_pivot = loads && !is_first ? t[(steps - 1) * b + at.column] : Scalar(0);
      publish(at, a, c, steps - 1, is_first, next_pivot, scratch);
      team.team_barrier();
      for (int k = steps - 1; k >= 0; --k) {
        const int above = is_first ? k : -1;
        const Scalar* const x = places.column(scratch, k % 2);
        const Scalar* const pivots = places.pivots(scratch, k % 2);
        const Scalar sigma = level.sigma[piece * b + k], tau = Scalar(1) - sigma;
        if (loads && !is_first && k > 0) next_pivot = t[(k - 1) * b + at.column];
        if (at.works) {
          Scalar sum = Scalar(0);
          for (int s = 0; s < count; ++s) {
            const int i = at.group + s * groups;
            if (i > above) sum += conjugate(x[i]) * c[s];
          }
          shares[at.group * b + at.column] = sum;
        }
        team.team_barrier();
        if (at.works) {
          Scalar sum = Scalar(0);
          for (int g = 0; g < groups; ++g) sum += shares[g * b + at.column];
          const Scalar pivot = pivots[at.column], part = tau * sum;
          const Scalar factor = tau * pivot + part, entry = sigma * pivot - part;
          for (int s = 0; s < count; ++s) {
            const int i = at.group + s * groups;
            if (i > above) c[s] -= x[i] * factor;
            if (is_first && i == k) c[s] = entry;
          }
          if (!is_first && at.group == 0) t[k * b + at.column] = entry;
        }
        if (k > 0) publish(at, a, c, k - 1, is_first, next_pivot, scratch);
        team.team_barrier();
      }
      for (int s = 0; s < count; ++s) {
        const int i = at.group + s * groups;
        if (at.works && i < some) data[i * level.row_step] = c[s];
      }
    }
  }

 private:
  KOKKOS_FUNCTION void publish(const Member& at, const Scalar (&a)[count], const Scalar (&c)[count], int k,
                               bool is_first, const Scalar& pivot, std::byte* scratch) const {
    if (!at.works) return;
    Scalar* const x = places.column(scratch, k % 2);
    Scalar* const pivots = places.pivots(scratch, k % 2);
    for (int s = 0; s < count; ++s) {
      const int i = at.group + s * places.groups;
      if (at.column == k) x[i] = a[s];
      if (is_first && i == k) pivots[at.column] = c[s];
    }
    if (!is_first && at.group == 0) pivots[at.column] = pivot;
  }
};

template <class Body>
struct InTeams {
  Body body;
  std::size_t bytes;
  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    body(team, team.league_rank(), static_cast<std::byte*>(team.team_scratch(0).get_shmem_aligned(bytes, alignment)));
  }
  static constexpr std::size_t alignment = 16;
};

/// Teams in the order of the context's instance.
template <class Space>
struct RunTeams {
  const Context& context;
  template <class Body>
  void operator()(int teams, int threads, std::size_t bytes, const Body& body) const {
    threads <= least_threads ? launch<Kokkos::LaunchBounds<least_threads, 4>>(teams, threads, bytes, body)
                             : launch<Kokkos::LaunchBounds<most_threads, 1>>(teams, threads, bytes, body);
  }

 private:
  template <class Bounds, class Body>
  void launch(int teams, int threads, std::size_t bytes, const Body& body) const {
    using Policy = Kokkos::TeamPolicy<ExecutionSpaceOf<Space>, Bounds>;
    static const std::string label("BlockVec::orth::TeamTree");  // kept: a call allocates nothing
    Policy policy(context.execution_space<Space>(), teams, threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes + InTeams<Body>::alignment)));
    Kokkos::parallel_for(label, policy, InTeams<Body>{body, bytes});
  }
};

}  // namespace blockvec::orth::team_tree

namespace blockvec::orth {

/// RowTree for rows in a device's memory, up to team_tree::most_columns columns: one team of threads a chunk, which
/// takes its rows piece by piece through registers.
///
///     rows              Pieces of a chunk follow one another: R of those so far gives the pivot rows for the next one.
///     [ A_0  ] chunk    The R's of the chunks are the rows of the next level, up to a level of one chunk. What a chunk
///     [ A_1  ]   0      consists of follows from the shape, and so do the bits. The reflections stay where the rows
///     [ A_2  ] chunk    were; of the rest, at most a third of the rows is scratch memory, mostly a few hundredths.
///     [ A_3  ]   1
///
/// Cost: factor and form, each one pass that reads and writes; 2 rows b^2 products each. No wait. All pieces of a chunk
/// round into the same R: errors grow with the root of most_pieces, the most of a chunk.
template <class Scalar, class Space>
class TeamTree {
 public:
  using Real = RealOf<Scalar>;

  /// Row i, column j at data[i * row_step + j * column_step]. Scratch lives as long as the scope. `threads`: of a team,
  /// 0 for as many as suit.
  TeamTree(WorkspaceScope<Space>& scope, Scalar* data, std::int64_t rows, std::int64_t b, std::int64_t row_step,
           std::int64_t column_step, int threads = 0)
      : b_(static_cast<int>(b)), threads_(threads > 0 ? threads : threads_for(b_)), places_(b_, threads_) {
    const auto take = [&](std::int64_t count) { return scope.template take<Scalar>(static_cast<std::size_t>(count)); };
    const std::int64_t piece_rows = places_.piece_rows();
    if (rows == 0) return;
    for (;; ++levels_) {
      Level level{data, rows, row_step, column_step, (rows + piece_rows - 1) / piece_rows, 1, nullptr, nullptr};
      const std::int64_t least_pieces = std::max<std::int64_t>(2, (4 * b + piece_rows - 1) / piece_rows);
      const std::int64_t chunk_pieces =
          std::clamp<std::int64_t>(level.pieces / wanted_chunks, least_pieces, most_pieces);
      level.chunks = std::max<std::int64_t>(1, level.pieces / chunk_pieces);
      level.sigma = take(level.pieces * b);
      level.next = take(level.chunks * b * b);
      level_[levels_] = level;
      if (level.chunks == 1) break;
      data = level.next;
      rows = level.chunks * b;
      row_step = b;
      column_step = 1;
    }
    ++levels_;
  }

  std::int64_t root_rows() const { return levels_ == 0 ? 0 : std::min<std::int64_t>(level_[0].rows, b_); }
  /// root_rows() x b numbers without gaps, row by row: R after factor(), and what form() takes for T.
  Scalar* root() const { return levels_ == 0 ? nullptr : level_[levels_ - 1].next; }

  /// Rows diag(scales) = Q R; the rows give way to reflections. `scales` lies in Space.
  template <class Run>
  void factor(const Real* scales, const Run& run) const {
    for (int l = 0; l < levels_; ++l) {
      run(static_cast<int>(level_[l].chunks), threads_, places_.bytes(),
          team_tree::FactorChunk<Scalar>{level_[l], places_, l == 0 ? scales : nullptr, by_rows(l)});
    }
  }
  /// The rows become Q T.
  template <class Run>
  void form(const Run& run) const {
    for (int l = levels_ - 1; l >= 0; --l) {
      run(static_cast<int>(level_[l].chunks), threads_, places_.bytes(),
          team_tree::FormChunk<Scalar>{level_[l], places_, by_rows(l)});
    }
  }

 private:
  using Level = team_tree::Level<Scalar>;
  static constexpr std::int64_t wanted_chunks = 1024, most_pieces = 16;
  static constexpr int most_levels = 31;  // each has at most a quarter of the rows of the one before

  /// The first piece holds all pivot rows.
  static int threads_for(int b) {
    int threads = team_tree::least_threads;
    while (team_tree::Places<Scalar>(b, threads).piece_rows() < b) threads *= 2;
    return threads;
  }
  bool by_rows(int l) const { return level_[l].column_step == 1; }

  int b_, threads_;
  team_tree::Places<Scalar> places_;
  Level level_[most_levels]{};
  int levels_ = 0;
};

}  // namespace blockvec::orth
