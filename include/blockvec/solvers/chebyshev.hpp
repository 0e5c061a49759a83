#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <blockvec/solvers/which.hpp>
#include <cstdint>

namespace blockvec::solvers {

/// What chebyshev_subspace() is to do.
struct ChebyshevOptions {
  std::int64_t wanted = 8;  ///< eigenpairs asked for
  /// Columns beside the wanted ones that are iterated as well and need not converge; automatic_extra: max(4, wanted /
  /// 5). Their Ritz values say where the filter cuts the spectrum.
  std::int64_t extra = automatic_extra;
  double tolerance = 1e-8;            ///< converged: as LobpcgOptions::tolerance says
  Which which = Which::smallest;      ///< the wanted end of the spectrum
  std::int64_t max_iterations = 200;  ///< the search ends with them, exhausted
  /// Of the filter that the random columns go through; automatic_degree: chosen from a look at the spectrum. All
  /// degrees are even.
  int first_degree = automatic_degree;
  int most_degree = 2000;  ///< of any filter; above 100 only where the cut lies too near for less
  /// Columns that go through a filter together: wide enough for A's product to be at its best, narrow enough to leave
  /// X's neighbouring rows in the cache. automatic_width: 16 on the host, 64 on a device.
  std::int64_t filter_width = automatic_width;
  std::uint64_t seed = 1;             ///< of the starting block
  orth::Options orth = {};            ///< how blocks are made orthonormal
  CheckpointOptions checkpoint = {};  ///< how a long run is saved

  static constexpr std::int64_t automatic_extra = -1;  ///< see extra
  static constexpr int automatic_degree = 0;           ///< see first_degree
  static constexpr std::int64_t automatic_width = 0;   ///< see filter_width
};

/// The options with defaults filled in, for a matrix with so many rows of which `deflated` dimensions are left out.
/// `filter_width` is for options that do not say it. Throws InputError for those that do not fit.
ChebyshevOptions checked(ChebyshevOptions options, std::int64_t filter_width, std::int64_t rows,
                         std::int64_t deflated = 0);

/// The eigenpairs at the end of the spectrum that the options name, of A x = theta x or A x = theta B x, with all their
/// multiplicities:
///
///     auto result = chebyshev_subspace<BlockVector<double>>({a}, {.wanted = 200});
///
/// Subspace iteration: a Chebyshev polynomial of A raises the wanted end of the spectrum in k = wanted + extra columns,
/// whose lowest Ritz vectors follow. Each column has the degree that its residual asks for. Pairs are locked in order,
/// at half the tolerance. For many pairs and many ranks: there are few reductions and small problems, and all else is A
/// applied to wide blocks. Collective. Result::status says how it ended.
/// Cost of an iteration: A on the columns that have not converged, as often as their degrees say, each with 3 words a
/// row beside the product's own, since the recurrence is part of it; 20 k words a row for the rest; 4 reductions, one
/// more where k > 32. Before: 37 products with a single column and 8 reductions.
/// Memory: 2 k columns and twice the filter's width; 34 of scratch at the start; what is deflated once more.
/// With a B the filter is one of B^-1 A, for a B^-1 that is right to some two digits: Problem::inverse_b, improved by a
/// polynomial of B if need be. Its recurrence runs on residuals, so this limits how far a filter gets, and not what the
/// pairs converge to. Cost beside that of B^-1: B on k columns an iteration and one reduction more; B on each of A's
/// columns where inverse_b is not exact; at the start 72 products with B and A, as many reductions, B^-1 on 85 columns.
/// Memory: k columns more, and scratch of six times the filter's width; 67 at the start.
/// With Problem::a_single filters run in single precision: on residuals, so that errors of its products shrink with
/// these, and the result is as accurate. Cost: A as before, on degrees that are multiples of 4; of a filter's steps a
/// quarter takes 5 words of 4 bytes a row, the others 3; one product and one reduction more at the start, and a
/// reduction an iteration. Memory: 3 blocks of the filter's width in single precision, one of scratch. With a B this is
/// A's part of the recurrence only. Where residuals do not fall while they do in A's own precision, or numbers leave
/// the range of single precision, filters go on in A's own, and Result::why says so. Throws InputError for options that
/// do not fit, for an a_single that is not A, and where B^-1 would take more than 400 products with B, ShapeError for
/// vectors of other rows than the operator's, OutOfMemoryError naming the bytes, Error naming B or inverse_b where they
/// show not to be positive definite, NotFiniteError; what the operators throw. A preconditioner is not used. For block
/// vectors of all scalars and layouts in every memory space of this build. Sources: Zhou, Saad, Tiago, Chelikowsky 2006
/// (J. Comput. Phys. 219, 172); a degree a column: Winkelmann, Springer, Di Napoli 2019 (ACM Trans. Math. Softw. 45,
/// 21); with B: Kodali, Ramakrishnan, Motamarri 2025 (arXiv 2503.22652).
template <class Vector>
Result<Vector> chebyshev_subspace(const Problem<Vector>& problem, const ChebyshevOptions& options = {},
                                  const Observer& observer = {});

}  // namespace blockvec::solvers
