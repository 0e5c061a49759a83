#pragma once

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "orth/dense/host_dense.hpp"
#include "orth/pythagorean_factor.hpp"
#include "orth/team.hpp"

/// What the team of factorize_pythagorean does. Its threads share out entries; each entry is one thread's sum in a
/// fixed order, so that its bits depend neither on the team nor on the run.
namespace blockvec::orth::pythagorean {

using dense::square;

KOKKOS_INLINE_FUNCTION bool is_finite(float x) { return x - x == 0; }
KOKKOS_INLINE_FUNCTION bool is_finite(double x) { return x - x == 0; }
template <class Real>
KOKKOS_INLINE_FUNCTION bool is_finite(const Complex<Real>& x) {
  return is_finite(x.real()) && is_finite(x.imag());
}

/// Where the team keeps what its threads share: a piece of S's rows that passes by (tile), R^-1, two rows of the
/// elimination, and seven real numbers a column.
template <class Scalar, int side>
struct Places {
  using Real = RealOf<Scalar>;

  int m, b;
  bool holds_inverse;  ///< there is room for R^-1; elsewhere its place in C serves

  Places(std::int64_t basis_columns, std::int64_t columns)
      : m(static_cast<int>(basis_columns)),
        b(static_cast<int>(columns)),
        holds_inverse(sizeof(Scalar) * static_cast<std::size_t>(ld() * b) <= team_scratch_bytes / 3) {}
  /// Odd numbers of rows: columns begin in different banks.
  KOKKOS_FUNCTION int ld() const { return b + 1 - b % 2; }
  KOKKOS_FUNCTION int tile_rows() const {
    const std::size_t left = team_scratch_bytes - sizeof(Scalar) * inverse_numbers() - beside();
    const int most = static_cast<int>(left / sizeof(Scalar)) / b;
    const int wanted = m + 1 - m % 2;
    return wanted <= most ? wanted : most - 1 + most % 2;
  }
  KOKKOS_FUNCTION int rows_at() const { return inverse_numbers(); }
  KOKKOS_FUNCTION int tile_at() const { return rows_at() + 2 * side; }
  KOKKOS_FUNCTION int reals_at() const { return tile_at() + tile_rows() * b; }
  std::size_t bytes() const {
    return sizeof(Scalar) * static_cast<std::size_t>(inverse_numbers() + tile_rows() * b) + beside();
  }

 private:
  KOKKOS_FUNCTION int inverse_numbers() const { return holds_inverse ? ld() * b : 0; }
  KOKKOS_FUNCTION std::size_t beside() const {
    return 2 * sizeof(Scalar) * std::size_t{side} + sizeof(Real) * static_cast<std::size_t>(7 * b + 5) +
           sizeof(unsigned);
  }
};

/// The rows and columns of a matrix as threads share them: those in step take rows that lie side by side.
struct Strips {
  int lane, lanes, group, groups;

  KOKKOS_FUNCTION Strips(int thread, int threads)
      : lanes(threads < threads_in_step ? 1 : threads_in_step), group(thread / lanes), groups(threads / lanes) {
    lane = thread % lanes;
  }
};

/// Where the host sees P, R and the status, or nulls.
template <class Scalar>
struct SeenByHost {
  Scalar* p = nullptr;
  Scalar* r = nullptr;
  PythagoreanStatus<RealOf<Scalar>>* status = nullptr;
};

/// The entries of a matrix of `side` rows and columns, a power of two, that one thread holds in registers: of all
/// entries, column by column, every so many-th as the team has threads.
template <class Scalar, int side>
struct Share {
  static constexpr int most = most_shares<side * side>;
  int thread, threads;
  Scalar entries[most];

  KOKKOS_FUNCTION int count() const { return shares_of<side * side>(thread, threads); }
  KOKKOS_FUNCTION int row(int q) const { return static_cast<int>(number(q) % side); }
  KOKKOS_FUNCTION int column(int q) const { return static_cast<int>(number(q) / side); }

 private:
  KOKKOS_FUNCTION unsigned number(int q) const { return static_cast<unsigned>(thread + threads * q); }
};

/// `side`: 16, 32 or 64, at least b.
template <class Scalar, int side>
struct Factorize {
  using Real = RealOf<Scalar>;
  using Entries = Share<Scalar, side>;
  using Status = PythagoreanStatus<Real>;
  static constexpr unsigned not_finite = 1, out_of_range = 2;
  static constexpr Real infinity = std::numeric_limits<Real>::infinity();

  const Scalar* p;
  Scalar* r;
  Scalar* c;
  Status* status;
  Places<Scalar, side> places;
  PythagoreanLimits<Real> limits;
  Another another = Another::none;
  const Status* previous = nullptr;
  SeenByHost<Scalar> seen = {};

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, std::byte* scratch) const {
    const int b = places.b, threads = threads_of(team), thread = team.team_rank();
    const Shared shared = share_out(scratch);
    Entries own{thread, threads, {}};
    if (thread == 0) *shared.faults = 0;
    team.team_barrier();
    const bool is_tidy = previous != nullptr && previous->tidies_next != 0;
    const unsigned found = subtract_products(team, own, shared, is_tidy);
    if (found != 0) Kokkos::atomic_fetch_or(shared.faults, found);
    team.team_barrier();
    const unsigned faulty = *shared.faults;
    const int rank = (faulty & not_finite) != 0 ? 0 : eliminate(team, own, shared);
    if (rank < b) {
      if (thread == 0) {
        say({0, 0, 0, 0, 0, 0, 0, (faulty & not_finite) == 0, (faulty & out_of_range) == 0, rank, 0, 0, 1});
      }
      return;
    }
    write_factor(own, shared);
    team.team_barrier();
    // The last threads judge the factor while the others apply its inverse to S.
    const int judges = threads < 2 * threads_in_step ? 1 : threads_in_step;
    if (thread >= threads - judges) judge(thread - (threads - judges), judges, shared, faulty, is_tidy);
    if (!is_tidy && (thread < threads - judges || threads == 1)) {
      apply_inverse(Strips(thread, threads == 1 ? 1 : threads - judges), shared);
    }
  }

 private:
  /// What the threads share.
  struct Shared {
    Scalar* tile;
    Scalar* rows;     // rows of the elimination, of even and odd numbers
    Scalar* inverse;  // R^-1 on and above the diagonal
    int inverse_ld;
    Real* squares;  // diag(G)
    Real* parts;    // squared lengths of S's columns, then their shares of W's
    Real* lengths;  // diag(G - S^H S)
    Real* pivots;   // squares of diag(R)
    Real* sums;     // the rows' shares of the amplification
    Real* shares;   // squares of diag(R), of columns of unit length
    Real* owns;     // the rows' shares of the amplification of columns of R
    Real* totals;   // what the verdict rests on
    unsigned* faults;
  };

  KOKKOS_FUNCTION Shared share_out(std::byte* scratch) const {
    const int b = places.b, rows = places.m + b;
    Scalar* const numbers = reinterpret_cast<Scalar*>(scratch);
    Real* const reals = reinterpret_cast<Real*>(numbers + places.reals_at());
    return {numbers + places.tile_at(),
            numbers + places.rows_at(),
            places.holds_inverse ? numbers : c + places.m,
            places.holds_inverse ? places.ld() : rows,
            reals,
            reals + b,
            reals + 2 * b,
            reals + 3 * b,
            reals + 4 * b,
            reals + 5 * b,
            reals + 6 * b,
            reals + 7 * b,
            reinterpret_cast<unsigned*>(reals + 7 * b + 5)};
  }

  /// Sets own entries to the upper triangle of G - S^H S and zeros below it, and the columns' squares, parts and
  /// lengths. Returns what is wrong with the thread's entries. `is_tidy`: W alone is to be dealt with, as if S were 0,
  /// which may not have been formed.
  template <class Team>
  KOKKOS_FUNCTION unsigned subtract_products(const Team& team, Entries& own, const Shared& shared, bool is_tidy) const {
    constexpr int most = Entries::most, together = most < 4 ? most : 4, at_once = 4;
    const int m = places.m, b = places.b, rows = m + b, tile_rows = places.tile_rows();
    unsigned found = 0;
    BLOCKVEC_UNROLL
    for (int q = 0; q < own.count(); ++q) {
      const int row = own.row(q), column = own.column(q);
      if (row < b && column < b) own.entries[q] = p[m + row + column * rows];
    }
    const Strips strips(own.thread, own.threads);
    Scalar sums[most] = {};
    BLOCKVEC_KEEP_LOOP
    for (int first = 0; first < m; first += tile_rows) {
      const int some = m - first < tile_rows ? m - first : tile_rows;
      if (first > 0) team.team_barrier();
      BLOCKVEC_KEEP_LOOP
      for (int column = strips.group; column < b; column += strips.groups) {
        BLOCKVEC_KEEP_LOOP
        for (int row = strips.lane; row < some; row += at_once * strips.lanes) {
          const Scalar* const from = p + first + row + column * rows;
          Scalar entries[at_once] = {};  // loads need not wait for each other
          BLOCKVEC_UNROLL
          for (int u = 0; u < at_once; ++u) {
            if (row + u * strips.lanes < some) entries[u] = from[u * strips.lanes];
          }
          BLOCKVEC_UNROLL
          for (int u = 0; u < at_once; ++u) {
            const int at = row + u * strips.lanes;
            if (at >= some) break;
            if (seen.p != nullptr) seen.p[first + at + column * rows] = entries[u];
            if (!is_tidy && !is_finite(entries[u])) found |= not_finite;
            shared.tile[at + column * tile_rows] = entries[u];
          }
        }
      }
      if (is_tidy) continue;
      team.team_barrier();
      BLOCKVEC_UNROLL
      for (int q = 0; q < own.count(); q += together) add_products<together>(own, q, shared.tile, some, sums + q);
    }
    BLOCKVEC_UNROLL
    for (int q = 0; q < own.count(); ++q) {
      const int row = own.row(q), column = own.column(q);
      if (row >= b || column >= b) continue;
      Scalar& entry = own.entries[q];
      if (seen.p != nullptr) seen.p[m + row + column * rows] = entry;
      if (!is_finite(entry)) found |= not_finite;
      if (row == column) {
        shared.squares[row] = real_part(entry);
        shared.parts[row] = real_part(sums[q]);
        if (!(real_part(entry) >= limits.low && real_part(entry) <= limits.high)) found |= out_of_range;
      }
      entry = row <= column ? entry - sums[q] : Scalar(0);
      if (!is_finite(entry)) found |= not_finite;
      if (row == column) shared.lengths[row] = real_part(entry);
      if (row == 0) shared.rows[column] = entry;
    }
    return found;
  }

  /// Adds x^H y of `some` rows of the tile to `sums`, for `together` own entries from q on: x is the column of the
  /// entry's row, y that of its column. Each in four sums.
  template <int together>
  KOKKOS_FUNCTION void add_products(const Entries& own, int q, const Scalar* tile, int some, Scalar* sums) const {
    const int b = places.b, tile_rows = places.tile_rows();
    Scalar four[together][4] = {};
    const Scalar* x[together];
    const Scalar* y[together];
    bool is_there = false;
    BLOCKVEC_UNROLL
    for (int v = 0; v < together; ++v) {
      const int row = own.row(q + v), column = own.column(q + v);
      is_there = is_there || (row <= column && column < b);
      x[v] = tile + (row < b ? row : 0) * tile_rows;
      y[v] = tile + (column < b ? column : 0) * tile_rows;
    }
    if (!is_there) return;
    int l = 0;
    BLOCKVEC_KEEP_LOOP
    for (; l + 4 <= some; l += 4) {
      BLOCKVEC_UNROLL
      for (int u = 0; u < 4; ++u) {
        BLOCKVEC_UNROLL
        for (int v = 0; v < together; ++v) four[v][u] += conjugate(x[v][l + u]) * y[v][l + u];
      }
    }
    BLOCKVEC_KEEP_LOOP
    for (; l < some; ++l) {
      BLOCKVEC_UNROLL
      for (int v = 0; v < together; ++v) four[v][0] += conjugate(x[v][l]) * y[v][l];
    }
    BLOCKVEC_UNROLL
    for (int v = 0; v < together; ++v) sums[v] += (four[v][0] + four[v][1]) + (four[v][2] + four[v][3]);
  }

  /// M = [H | I] becomes [D U | U^-H], U^H D U = H with ones on U's diagonal, row by row: the identity fills the lower
  /// triangle as the elimination goes on. No root and one barrier stand between the rows. Each row is shared when it is
  /// complete. Returns the pivots above their thresholds.
  template <class Team>
  KOKKOS_FUNCTION int eliminate(const Team& team, Entries& own, const Shared& shared) const {
    const int b = places.b;
    BLOCKVEC_KEEP_LOOP
    for (int k = 0; k < b; ++k) {
      const Scalar* const complete = shared.rows + k % 2 * side;
      Scalar* const next = shared.rows + (k + 1) % 2 * side;
      const Real pivot = real_part(complete[k]);
      const Real threshold = limits.tolerance * shared.squares[k];
      if (!(pivot > (threshold > 0 ? threshold : Real(0)))) return k;
      const Real inverse_pivot = 1 / pivot;
      if (own.thread == 0) shared.pivots[k] = pivot;
      BLOCKVEC_UNROLL
      for (int q = 0; q < own.count(); ++q) {  // without branches: loads need not wait for each other
        const int row = own.row(q), column = own.column(q);
        const Scalar factor = conjugate(complete[row]) * inverse_pivot;
        const Scalar other = complete[column];
        const Scalar& entry = own.entries[q];
        const Scalar less = entry - factor * (column == k ? Scalar(1) : other);
        const Scalar result = column == row ? Scalar(real_part(less)) : less;
        own.entries[q] = row > k && (column <= k || column >= row) ? result : entry;
        if (row == k + 1) next[column] = own.entries[q];
      }
      team.team_barrier();
    }
    return b;
  }

  /// R and R^-1 from the elimination's entries.
  KOKKOS_FUNCTION void write_factor(const Entries& own, const Shared& shared) const {
    const int m = places.m, b = places.b, rows = m + b;
    BLOCKVEC_UNROLL
    for (int q = 0; q < own.count(); ++q) {
      const int row = own.row(q), column = own.column(q);
      if (row >= b || column >= b) continue;
      const Real root = std::sqrt(shared.pivots[row]);
      const Real inverse_root = 1 / root;
      const Scalar scaled = own.entries[q] * inverse_root;
      const Scalar entry = row < column ? scaled : Scalar(row == column ? root : Real(0));
      r[row + column * b] = entry;
      if (seen.r != nullptr) seen.r[row + column * b] = entry;
      const Scalar inverse = row > column ? conjugate(scaled) : Scalar(row == column ? inverse_root : Real(0));
      c[m + column + row * rows] = inverse;
      if (places.holds_inverse && row >= column) shared.inverse[column + row * shared.inverse_ld] = inverse;
    }
  }

  /// C's first rows: -S R^-1.
  KOKKOS_FUNCTION void apply_inverse(const Strips& strips, const Shared& shared) const {
    constexpr int together = 4;
    const int m = places.m, b = places.b, rows = m + b;
    const bool holds_s = m <= places.tile_rows();
    const Scalar* const s = holds_s ? shared.tile : p;
    const int step = holds_s ? places.tile_rows() : rows;
    BLOCKVEC_KEEP_LOOP
    for (int column = strips.group; column < b; column += strips.groups) {
      const Scalar* const x = shared.inverse + column * shared.inverse_ld;
      BLOCKVEC_KEEP_LOOP
      for (int first = strips.lane; first < m; first += together * strips.lanes) {
        Scalar sums[together] = {};
        int at[together];
        BLOCKVEC_UNROLL
        for (int u = 0; u < together; ++u) at[u] = first + u * strips.lanes < m ? first + u * strips.lanes : first;
        BLOCKVEC_KEEP_LOOP
        for (int l = 0; l <= column; ++l) {
          const Scalar factor = x[l];
          BLOCKVEC_UNROLL
          for (int u = 0; u < together; ++u) sums[u] -= s[at[u] + l * step] * factor;
        }
        BLOCKVEC_UNROLL
        for (int u = 0; u < together; ++u) c[at[u] + column * rows] = sums[u];
      }
    }
  }

  KOKKOS_FUNCTION void say(const Status& found) const {
    *status = found;
    if (seen.status != nullptr) *seen.status = found;
  }

  /// Sets the status of a sweep with a factor. `judges` threads of the team, in step, do it together.
  KOKKOS_FUNCTION void judge(int judge, int judges, const Shared& shared, unsigned faulty, bool is_tidy) const {
    const int b = places.b;
    BLOCKVEC_KEEP_LOOP
    for (int i = judge; i < b; i += judges) {
      Real sum = 0;
      BLOCKVEC_KEEP_LOOP
      for (int j = i; j < b; ++j) sum += square(shared.inverse[i + j * shared.inverse_ld]);
      shared.sums[i] = sum * shared.squares[i];
      shared.owns[i] = sum * shared.lengths[i];
      shared.shares[i] = shared.pivots[i] / shared.lengths[i];
      shared.parts[i] /= shared.squares[i];
    }
    wait_for_those_in_step();
    BLOCKVEC_KEEP_LOOP
    for (int which = judge; which < 5; which += judges) {
      const Real* const terms = which == 0   ? shared.parts
                                : which == 1 ? shared.sums
                                : which == 2 ? shared.owns
                                             : shared.shares;
      Real total = which < 3 ? Real(0) : terms[0];
      BLOCKVEC_KEEP_LOOP
      for (int i = 0; i < b; ++i) {
        const Real term = terms[i];
        if (which < 3) {
          total += term;
        } else if (which == 3 ? term > total : term < total) {
          total = term;
        }
      }
      shared.totals[which] = total;
    }
    wait_for_those_in_step();
    if (judge == 0) pronounce(shared.totals, faulty, is_tidy);
  }

  /// `totals`: of the shares of S's columns, of the amplification and of that of columns of R; the largest and the
  /// smallest share of R's diagonal.
  KOKKOS_FUNCTION void pronounce(const Real* totals, unsigned faulty, bool is_tidy) const {
    const int b = places.b;
    const Real part = totals[0], sum = totals[1], own = totals[2], largest = totals[3], smallest = totals[4];
    const Real others = static_cast<Real>(b - 1);
    const Real bound = sum - others * others / static_cast<Real>(b);
    const Real a = bound > 1 ? bound : bound == bound ? Real(1) : infinity;
    const Real own_bound = own - others * others / static_cast<Real>(b);
    const Real passed_on = part * a;
    const bool in_range = (faulty & out_of_range) == 0;
    const bool trusted = in_range && limits.noise * a <= 1 && own_bound <= limits.direct;
    const bool projected = a <= limits.outer && passed_on <= limits.passed_on;
    const bool certified = trusted && projected && a <= limits.inner;
    const bool continues = trusted && goes_on(another, certified);
    const bool tidies_next = continues && another == Another::may && projected && places.m > 0;
    const bool ends = trusted && !continues, tidies = ends && is_tidy;
    say({certified, trusted, continues, continues && !tidies_next, tidies_next, ends && !tidies, tidies, 1, in_range, b,
         a, passed_on, std::sqrt(largest / smallest)});
  }
};

/// The same where the sweep before continues, and then a word to the host that its copies are there
/// (PythagoreanReport).
template <class Scalar, int side>
struct FactorizeAndReport {
  Factorize<Scalar, side> factorize;
  unsigned* word;
  bool when_continuing;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, std::byte* scratch) const {
    if (factorize.previous != nullptr && factorize.previous->continues == 0) {
      if (team.team_rank() == 0) *factorize.status = {};
      return;
    }
    factorize(team, scratch);
    if (word == nullptr) return;
    fence_for_host();
    team.team_barrier();
    if (team.team_rank() == 0 && (factorize.status->continues == 0 || when_continuing)) {
      *static_cast<volatile unsigned*>(word) = 1;
    }
  }
};

}  // namespace blockvec::orth::pythagorean
