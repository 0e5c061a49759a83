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

using dense::conjugate;
using dense::real_part;
using dense::square;

KOKKOS_INLINE_FUNCTION bool is_finite(float x) { return x - x == 0; }
KOKKOS_INLINE_FUNCTION bool is_finite(double x) { return x - x == 0; }
template <class Real>
KOKKOS_INLINE_FUNCTION bool is_finite(const Complex<Real>& x) {
  return is_finite(x.real()) && is_finite(x.imag());
}

/// x^H y of `count` entries, in four sums.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar dot(const Scalar* x, const Scalar* y, int count) {
  Scalar sum[4] = {};
  int l = 0;
  for (; l + 4 <= count; l += 4) {
    for (int v = 0; v < 4; ++v) sum[v] += conjugate(x[l + v]) * y[l + v];
  }
  for (; l < count; ++l) sum[0] += conjugate(x[l]) * y[l];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Where the team keeps what its threads share. A piece of S's rows passes by (tile). The matrix M holds G - S^H S in
/// its upper triangle and zeros below; the elimination turns it into R and, below the diagonal, R^-H.
template <class Scalar>
struct Places {
  using Real = RealOf<Scalar>;
  static constexpr int tile_numbers = (16 << 10) / sizeof(Scalar);

  int b;
  bool holds_matrix;  ///< there is room for M; elsewhere R's place serves

  explicit Places(std::int64_t columns) : b(static_cast<int>(columns)), holds_matrix(true) {
    holds_matrix = bytes() <= team_scratch_bytes;
  }
  /// An odd number of rows: columns begin in different banks.
  KOKKOS_FUNCTION int tile_rows() const { return (tile_numbers / b - 1) / 2 * 2 + 1; }
  KOKKOS_FUNCTION int ld() const { return holds_matrix ? b + 1 - b % 2 : b; }
  KOKKOS_FUNCTION int matrix_at() const { return tile_rows() * b; }
  KOKKOS_FUNCTION int reals_at() const { return matrix_at() + (holds_matrix ? ld() * b : 0); }
  std::size_t bytes() const {
    return static_cast<std::size_t>(reals_at()) * sizeof(Scalar) + static_cast<std::size_t>(8 * b) * sizeof(Real) +
           sizeof(unsigned);
  }
};

template <class Scalar>
struct Factorize {
  using Real = RealOf<Scalar>;
  using Status = PythagoreanStatus<Real>;
  static constexpr unsigned not_finite = 1, out_of_range = 2;
  static constexpr Real infinity = std::numeric_limits<Real>::infinity();

  const Scalar* p;
  Scalar* r;
  Scalar* c;
  Status* status;
  int m;
  Places<Scalar> places;
  PythagoreanLimits<Real> limits;
  Another another = Another::none;
  const Status* previous = nullptr;

  /// Whether W alone is to be dealt with.
  KOKKOS_FUNCTION bool is_tidy() const { return previous != nullptr && previous->tidies_next != 0; }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, std::byte* scratch) const {
    const int b = places.b, rows = m + b, ld = places.ld(), tile_rows = places.tile_rows();
    const int thread = team.team_rank(), threads = team.team_size();
    Scalar* const numbers = reinterpret_cast<Scalar*>(scratch);
    Scalar* const tile = numbers;
    Scalar* const matrix = places.holds_matrix ? numbers + places.matrix_at() : r;
    Real* const squares = reinterpret_cast<Real*>(numbers + places.reals_at());
    Real* const parts = squares + b;   // squared lengths of S's columns, then their shares of W's
    Real* const lengths = parts + b;   // diag(G - S^H S)
    Real* const roots = lengths + b;   // diag(R)
    Real* const inverses = roots + b;  // 1 / diag(R)
    Real* const sums = inverses + b;   // the rows' shares of the amplification
    Real* const shares = sums + b;     // squares of diag(R), of columns of unit length
    Real* const owns = shares + b;     // the rows' shares of the amplification of columns of R
    unsigned* const faults = reinterpret_cast<unsigned*>(owns + b);
    if (thread == 0) *faults = 0;
    team.team_barrier();
    unsigned found = 0;

    // A thread owns entries of M until the elimination.
    for (int i = thread; i < b * b; i += threads) {
      const int row = i % b, column = i / b;
      const Scalar entry = p[m + row + column * rows];
      if (!is_finite(entry)) found |= not_finite;
      matrix[row + column * ld] = row <= column ? entry : Scalar(0);
      if (row != column) continue;
      squares[row] = real_part(entry);
      parts[row] = 0;
      if (!(squares[row] >= limits.low && squares[row] <= limits.high)) found |= out_of_range;
    }
    const int projected = is_tidy() ? 0 : m;
    const bool holds_s = m <= tile_rows;
    for (int first = 0; first < projected; first += tile_rows) {
      const int some = projected - first < tile_rows ? projected - first : tile_rows;
      for (int i = thread; i < some * b; i += threads) {
        const int row = i % some, column = i / some;
        const Scalar entry = p[first + row + column * rows];
        if (!is_finite(entry)) found |= not_finite;
        tile[row + column * tile_rows] = entry;
      }
      team.team_barrier();
      for (int i = thread; i < b * b; i += threads) {
        const int row = i % b, column = i / b;
        if (row > column) continue;
        const Scalar sum = dot(tile + row * tile_rows, tile + column * tile_rows, some);
        matrix[row + column * ld] -= sum;
        if (row == column) parts[row] += real_part(sum);
      }
      team.team_barrier();
    }
    for (int i = thread; i < b * b; i += threads) {
      const int row = i % b, column = i / b;
      if (row <= column && !is_finite(matrix[row + column * ld])) found |= not_finite;
      if (row == column) lengths[row] = real_part(matrix[row + column * ld]);
    }
    if (found != 0) Kokkos::atomic_fetch_or(faults, found);
    team.team_barrier();
    const unsigned faulty = *faults;
    const int rank = (faulty & not_finite) != 0 ? 0 : eliminate(team, matrix, squares);
    if (rank < b) {
      if (thread == 0) {
        *status = {0, 0, 0, 0, 0, 0, (faulty & not_finite) == 0, (faulty & out_of_range) == 0, rank, 0, 0, 1};
      }
      return;
    }

    for (int i = thread; i < b; i += threads) {
      roots[i] = std::sqrt(real_part(matrix[i + i * ld]));
      inverses[i] = 1 / roots[i];
    }
    team.team_barrier();
    for (int i = thread; i < b * b; i += threads) {
      const int row = i % b, column = i / b;
      if (row != column) matrix[row + column * ld] = matrix[row + column * ld] * inverses[row];
    }
    team.team_barrier();
    for (int i = thread; i < b; i += threads) {
      Real sum = square(inverses[i]);
      for (int j = i + 1; j < b; ++j) sum += square(matrix[j + i * ld]);
      sums[i] = sum * squares[i];
      owns[i] = sum * lengths[i];
      shares[i] = real_part(matrix[i + i * ld]) / lengths[i];
      parts[i] /= squares[i];
    }
    team.team_barrier();
    if (thread == threads - 1) judge(faulty, parts, sums, owns, shares);
    for (int i = thread; i < rows * b; i += threads) {
      const int row = i % rows, column = i / rows;
      Scalar entry = Scalar(0);
      if (row >= m) {
        entry = inverse(matrix, inverses, row - m, column);
      } else if (row < projected) {
        const Scalar* const s = holds_s ? tile + row : p + row;
        const int step = holds_s ? tile_rows : rows;
        for (int l = 0; l < column; ++l) entry -= s[l * step] * conjugate(matrix[column + l * ld]);
        entry -= s[column * step] * inverses[column];
      }
      c[i] = entry;
    }
    team.team_barrier();  // M may lie where R goes
    for (int i = thread; i < b * b; i += threads) {
      const int row = i % b, column = i / b;
      r[i] = row < column ? matrix[row + column * ld] : Scalar(row == column ? roots[row] : Real(0));
    }
  }

  /// M = [H | I] becomes [D U | U^-H], U^H D U = H with ones on U's diagonal, row by row: the identity fills the lower
  /// triangle as the elimination goes on. No root and one barrier stand between the rows. Returns the pivots above
  /// their thresholds.
  template <class Team>
  KOKKOS_FUNCTION int eliminate(const Team& team, Scalar* matrix, const Real* squares) const {
    const int b = places.b, ld = places.ld();
    const int thread = team.team_rank(), threads = team.team_size();
    const int along = threads < 16 ? 1 : 16, across = threads / along;
    for (int k = 0; k < b; ++k) {
      const Real pivot = real_part(matrix[k + k * ld]);
      const Real threshold = limits.tolerance * squares[k];
      if (!(pivot > (threshold > 0 ? threshold : Real(0)))) return k;
      const Real inverse_pivot = 1 / pivot;
      for (int row = k + 1 + thread % along; row < b; row += along) {
        const Scalar factor = conjugate(matrix[k + row * ld]) * inverse_pivot;
        for (int column = thread / along; column < b; column += across) {
          Scalar& entry = matrix[row + column * ld];
          if (column == row) {  // a real number
            entry = Scalar(real_part(entry) - real_part(factor * matrix[k + row * ld]));
          } else if (column == k) {
            entry = -factor;
          } else if (column < k || column > row) {
            entry -= factor * matrix[k + column * ld];
          }
        }
      }
      team.team_barrier();
    }
    return b;
  }

  /// Entry (i, j) of R^-1.
  KOKKOS_FUNCTION Scalar inverse(const Scalar* matrix, const Real* inverses, int i, int j) const {
    return i < j ? conjugate(matrix[j + i * places.ld()]) : Scalar(i == j ? inverses[i] : Real(0));
  }

  /// One thread sets the status of a sweep with a factor.
  KOKKOS_FUNCTION void judge(unsigned faulty, const Real* parts, const Real* sums, const Real* owns,
                             const Real* shares) const {
    const int b = places.b;
    Real part = 0, sum = 0, own = 0, largest = shares[0], smallest = shares[0];
    for (int i = 0; i < b; ++i) {
      part += parts[i];
      sum += sums[i];
      own += owns[i];
      if (shares[i] > largest) largest = shares[i];
      if (shares[i] < smallest) smallest = shares[i];
    }
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
    const bool tidies_next = continues && another == Another::may && projected && m > 0;
    const bool ends = trusted && !continues, tidies = ends && is_tidy();
    *status = {certified, trusted,  continues, tidies_next, ends && !tidies, tidies,
               1,         in_range, b,         a,           passed_on,       std::sqrt(largest / smallest)};
  }
};

/// The same where the sweep before continues, and then a copy of `count` words from P on to memory that the host sees,
/// and a word to the host that it is there (PythagoreanReport).
template <class Scalar>
struct FactorizeAndReport {
  Factorize<Scalar> factorize;
  const std::uint32_t* from;
  std::uint32_t* to;
  int count;
  unsigned* word;
  bool when_continuing;

  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team, std::byte* scratch) const {
    if (factorize.previous != nullptr && factorize.previous->continues == 0) {
      if (team.team_rank() == 0) *factorize.status = {};
      return;
    }
    factorize(team, scratch);
    team.team_barrier();
    for (int i = team.team_rank(); i < count; i += team.team_size()) to[i] = from[i];
    if (word == nullptr || (factorize.status->continues != 0 && !when_continuing)) return;
    fence_for_host();
    team.team_barrier();
    if (team.team_rank() == 0) *static_cast<volatile unsigned*>(word) = 1;
  }
};

}  // namespace blockvec::orth::pythagorean
