#pragma once

#include <algorithm>
#include <blockvec/column_operations.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <blockvec/solvers/which.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

/// @file
/// Preconditioners to use at once, for Problem::precondition and Problem::inverse_b.
namespace blockvec::solvers {

/// The diagonal of a matrix, one column.
template <class Vector, class Source>
Vector diagonal_of(const Context& context, const RowDistribution& rows, const Source& source) {
  using Scalar = typename Vector::Scalar;
  BlockVector<Scalar, typename Vector::Layout, Kokkos::HostSpace> diagonal(context, rows, 1, "diagonal");
  RowEntries<typename Source::Scalar> entries;
  for (std::int64_t row = rows.begin(); row < rows.end(); ++row) {
    entries.clear();
    source.append_row(row, entries);
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      if (entries.columns[i] == row)
        diagonal.view()(static_cast<std::size_t>(row - rows.begin()), 0) += entries.values[i];
    }
  }
  if constexpr (is_host_space<typename Vector::Space>) {
    return diagonal;
  } else {
    return diagonal.template converted_to_space<typename Vector::Space>("diagonal");
  }
}

/// Whether a matrix has no entries beside its diagonal. Collective: one reduction.
template <class Source>
bool is_diagonal(const Communicator& communicator, const RowDistribution& rows, const Source& source) {
  RowEntries<typename Source::Scalar> entries;
  double beside = 0;
  for (std::int64_t row = rows.begin(); row < rows.end() && beside == 0; ++row) {
    entries.clear();
    source.append_row(row, entries);
    for (const std::int64_t column : entries.columns) beside += column == row ? 0 : 1;
  }
  communicator.max(std::span(&beside, 1));
  return beside == 0;
}

/// W = |D_A - shift D_B|^-1 R from the diagonals of A and B (none: ones), for the end of the spectrum that is wanted.
/// A column's shift is its theta, but stays outside of all quotients of diagonal entries, beyond which the wanted
/// eigenvalues lie. No `which`: near a target inside the spectrum, where the shift is theta itself. The preconditioner
/// is definite either way. No divisor is less than a tenth of D_A's own entry.
/// Collective: one reduction and a copy of the diagonals on the host. Cost of a call: one pass, 2 words an entry of R.
template <class Vector>
Preconditioner<Vector> jacobi_preconditioner(const Vector& diagonal_a, const Vector& diagonal_b = {},
                                             std::optional<Which> which = Which::smallest) {
  using Real = RealOf<typename Vector::Scalar>;
  using Space = typename Vector::Space;
  using OnHost = BlockVector<typename Vector::Scalar, typename Vector::Layout, Kokkos::HostSpace>;
  const auto on_host = [](const Vector& v) -> OnHost {
    if constexpr (is_host_space<Space>) {
      return v;
    } else {
      return v.width() > 0 ? v.template converted_to_space<Kokkos::HostSpace>() : OnHost();
    }
  };
  const auto real = [](const auto& v, std::size_t row) {
    if constexpr (ScalarTraits<typename Vector::Scalar>::is_complex) {
      return static_cast<double>(v.view()(row, 0).real());
    } else {
      return static_cast<double>(v.view()(row, 0));
    }
  };
  const OnHost a = on_host(diagonal_a), b = on_host(diagonal_b);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double lowest = -infinity, highest = infinity;  // shifts
  if (which) {
    const double sign = *which == Which::smallest ? -1 : 1;
    double largest = -infinity;  // sign * quotient
    for (std::size_t row = 0; row < a.view().extent(0); ++row) {
      largest = std::max(largest, sign * real(a, row) / (b.width() > 0 ? real(b, row) : 1));
    }
    diagonal_a.context().communicator().max(std::span(&largest, 1));
    (*which == Which::smallest ? highest : lowest) = sign * largest;
  }
  constexpr Real least_share = Real(0.1);
  return [diagonal_a, diagonal_b, lowest, highest](std::span<const double> theta, const Vector& r, const Vector& w) {
    WorkspaceScope<Space> scope(r.context());
    const auto shifts = SmallMatrix<Real, Space>::scratch(scope, 1, r.width());
    HostMatrix<Real> values("BlockVec::solvers::shifts", 1, theta.size());
    for (std::size_t j = 0; j < theta.size(); ++j)
      values(0, j) = static_cast<Real>(std::clamp(theta[j], lowest, highest));
    shifts.from_host(values);
    divide_by_diagonal(diagonal_a, diagonal_b, shifts, least_share, r, w);
  };
}

/// W = |D_A - shift D_B|^-1 R for the diagonal blocks of A and B, `size` rows each, which begin at each rank's first
/// row: as jacobi_preconditioner() in the basis where both are diagonal, so it is definite, too, and each column has
/// its own shift. `b`: none for the identity. Take as many rows as there are unknowns at a point, or on a line. Cost on
/// the host at the start: an eigendecomposition of each block, `size`^3; memory: 2 `size` + 1 columns. Cost of a call:
/// three passes, K (2 `size` + 6 m) words for m columns. Throws InputError where a block of B is not positive definite,
/// or entries are not finite, on every rank. Collective. For block vectors of all types of this build.
template <class Vector>
Preconditioner<Vector> block_jacobi_preconditioner(const Context& context, const RowDistribution& rows,
                                                   const RowSource<typename Vector::Scalar>& a,
                                                   const RowSource<typename Vector::Scalar>* b = nullptr,
                                                   std::int64_t size = 16,
                                                   std::optional<Which> which = Which::smallest);

/// For Problem::inverse_b, from the diagonal of B: exact where B is diagonal. Of finite elements' mass matrices it
/// leaves a condition that depends on the element and not on the mesh (Wathen 1987, IMA J. Numer. Anal. 7, 449). Cost
/// of a call: one pass, 2 words an entry.
template <class Vector>
typename FunctionOperator<Vector>::Multiply inverse_of_diagonal(const Vector& diagonal) {
  return [diagonal](const Vector& x, const Vector& y) {
    using Real = RealOf<typename Vector::Scalar>;
    WorkspaceScope<typename Vector::Space> scope(x.context());
    const auto no_shifts = SmallMatrix<Real, typename Vector::Space>::scratch(scope, 1, x.width());
    orth::dense::fill(no_shifts, Real(0));
    divide_by_diagonal(diagonal, Vector(), no_shifts, Real(0), x, y);
  };
}

/// The ends of a spectrum, as far as they are known.
struct SpectrumEnds {
  ///@{
  /// The smallest eigenvalue and the largest one.
  double lowest = 0, highest = 0;
  ///@}
};

/// Some twelve steps of the Lanczos recurrence from a random vector, and a tenth of the distance between the ends added
/// on both sides. Cost: as many products with one column, and two reductions each. Collective.
template <class Vector>
SpectrumEnds estimated_ends(const AnyOperator<Vector>& a, std::uint64_t seed = 1);

/// W ~ (A - theta)^-1 R for the wanted end by `degree` - 1 products with A: Chebyshev's semi-iteration on the part of
/// the spectrum beyond 1 / `ratio` of its width from the lowest theta (highest, for Which::largest). Positive definite
/// where no eigenvalue lies far outside theta; the other end of `ends` must not lie inside the spectrum. For A x =
/// theta x, matrix-free. Cost: `degree` - 1 products and 10 words an entry of R each. Source: Saad 2003, Iterative
/// Methods for Sparse Linear Systems, algorithm 12.1.
template <class Vector>
Preconditioner<Vector> chebyshev_preconditioner(AnyOperator<Vector> a, SpectrumEnds ends, int degree = 8,
                                                double ratio = 30, Which which = Which::smallest) {
  if (degree < 1 || !(ratio > 1) || !(ends.lowest < ends.highest)) {
    throw Error("chebyshev_preconditioner: degree " + std::to_string(degree) + ", ratio " + std::to_string(ratio) +
                ", spectrum [" + std::to_string(ends.lowest) + ", " + std::to_string(ends.highest) +
                "]: expected at least 1, more than 1, and an interval");
  }
  return
      [a = std::move(a), ends, degree, ratio, which](std::span<const double> theta, const Vector& r, const Vector& w) {
        using Scalar = typename Vector::Scalar;
        const auto number = [](double value) { return Scalar(static_cast<RealOf<Scalar>>(value)); };
        const bool lowest = which == Which::smallest;
        const double sign = lowest ? 1 : -1;
        const double shift =
            lowest ? *std::min_element(theta.begin(), theta.end()) : *std::max_element(theta.begin(), theta.end());
        const double high =
            std::max(sign * ((lowest ? ends.highest : ends.lowest) - shift), 1e-3 * (ends.highest - ends.lowest));
        const double low = high / ratio, centre = (high + low) / 2, radius = (high - low) / 2;
        WorkspaceScope<typename Vector::Space> scope(r.context());
        const Vector left = scratch_like(scope, r, r.width()), step = scratch_like(scope, r, r.width());
        copy(r, left);
        axpby(number(1 / centre), r, Scalar(0), step);
        copy(step, w);
        double rho = radius / centre;
        for (int i = 1; i < degree; ++i) {
          a.apply(number(-sign), number(shift), step, Scalar(1), left);
          const double next = 1 / (2 * centre / radius - rho);
          axpby(number(2 * next / radius), left, number(next * rho), step);
          axpby(Scalar(1), step, Scalar(1), w);
          rho = next;
        }
      };
}

}  // namespace blockvec::solvers
