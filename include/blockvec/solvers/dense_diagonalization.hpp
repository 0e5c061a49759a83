#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <blockvec/solvers/which.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace blockvec::solvers {

/// What dense_diagonalization() is to hand back of the whole spectrum.
struct DenseOptions {
  /// Eigenpairs asked for; automatic_wanted: 8, or all where there are fewer. With an interval: the most that are
  /// handed back; automatic_wanted: all that lie in it.
  std::int64_t wanted = automatic_wanted;
  double tolerance = 1e-8;                ///< converged: as LobpcgOptions::tolerance says
  Which which = Which::smallest;          ///< the wanted end of the spectrum
  std::optional<double> target = {};      ///< the eigenvalues nearest to it are wanted, and not those at an end
  std::optional<Interval> interval = {};  ///< all eigenvalues in it are wanted
  orth::Options orth = {};                ///< how what is deflated is made orthonormal

  static constexpr std::int64_t automatic_wanted = -1;  ///< see wanted
};

/// The options with defaults filled in, for a matrix with so many rows of which `deflated` dimensions are left out.
/// Throws InputError for those that do not fit, and for more rows than LAPACK has indices for.
DenseOptions checked(DenseOptions options, std::int64_t rows, std::int64_t deflated = 0);

/// Eigenpairs of A x = theta x or A x = theta B x, by LAPACK from the whole spectrum: those at the end that the options
/// name, or the nearest to a target, nearest first, or all in an interval, ascending.
///
///     auto lowest = dense_diagonalization<BlockVector<double>>({a}, {.wanted = 4});
///     auto inside = dense_diagonalization<BlockVector<double>>({.a = a, .b = b}, {.interval = Interval{1, 1.5}});
///
/// For small matrices, in which a search would come to span the whole space. A and B are applied to the columns of the
/// identity, and every rank holds the matrices that this gives; LAPACK runs in one thread of the first rank. Since the
/// whole spectrum is known, multiplicities are certain, and so is Result::last_level_cut: a level is cut where the
/// spectrum has another eigenvalue like the last one. Residuals and backward errors are recomputed from A and B as
/// after a search. Collective. Result::status is exhausted where these stay above the tolerance, as a badly conditioned
/// B lets them, and where more eigenvalues lie in an interval than were asked for. Observers see a step after each
/// block of columns, and end the formation with false; no pair is known then. Cost: A applied to rows + wanted + 1
/// columns, B to rows + wanted, 64 at a time; 9 rows^3 products, with a B 14 rows^3 (complex: 4 times that), with
/// deflated vectors 12 rows^3 more; 4 to 7 reductions, of up to rows^2 numbers. Memory: 6 rows^2 numbers on every rank,
/// with a B 9, of which 4 are kept for the next time; 128 columns. Throws InputError for options that do not fit, for
/// more rows than memory or LAPACK's indices allow (32,766), and naming A or B and the entry where they are not
/// Hermitian: A - A^H may have rounding errors of products, (rows + 8) eps ||A||_F; ShapeError for vectors of other
/// rows than the operator's; Error for a B that is not positive definite; NotFiniteError naming A or B and the column;
/// what the operators throw. Initial vectors, preconditioners, inverse_b and a_single are not used. For block vectors
/// of all scalars and layouts in every memory space of this build. Source: LAPACK Users' Guide 1999, sections 2.3.4
/// and 2.3.5.
template <class Vector>
Result<Vector> dense_diagonalization(const Problem<Vector>& problem, const DenseOptions& options = {},
                                     const Observer& observer = {});

/// What a search finds, or the whole spectrum of a matrix that is not too large for it:
///
///     const auto choice = choose_method(traits, allowed);
///     auto pairs = search_or_diagonalize<Vector>(
///         choice.most_applications,
///         [&](const Observer& observer) { return block_lanczos<Vector>({a}, {.wanted = 8}, observer); },
///         [&](const Observer& observer) { return dense_diagonalization<Vector>({a}, {.wanted = 8}, observer); });
///
/// Where `search(observer)` ends without the pairs, or has applied A to more than most_applications columns,
/// `diagonalize(observer)` finds them in its place, and Result::why says so. An observer that ends the search ends all;
/// most_applications = 0: the search alone. Counts, seconds and the history are those of both. Collective, with the
/// same most_applications on all ranks; throws what the two throw.
template <class Vector, class Search, class Diagonalize>
Result<Vector> search_or_diagonalize(std::int64_t most_applications, const Search& search,
                                     const Diagonalize& diagonalize, const Observer& observer = {}) {
  if (most_applications == 0) return search(observer);
  bool is_asked_to_end = false, is_too_long = false;
  const Observer see = [&](const Step& step) {
    is_asked_to_end = is_asked_to_end || (observer && !observer(step));
    return !is_asked_to_end;
  };
  Result<Vector> found = search([&](const Step& step) {
    is_too_long = step.applications > most_applications;  // on all ranks
    return see(step) && !is_too_long;
  });
  if (found.converged() || (found.status == Status::stopped && !is_too_long)) return found;
  Result<Vector> whole = found.before(diagonalize([&](const Step& step) { return see(found.before(step)); }));
  if (whole.converged()) {
    whole.why = "the whole spectrum was computed, since a search ";
    whole.why += is_too_long ? "took more than " + std::to_string(most_applications) + " products"
                             : "did not find the pairs: " + found.why;
  }
  return whole;
}

}  // namespace blockvec::solvers
