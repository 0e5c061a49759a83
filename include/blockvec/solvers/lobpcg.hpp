#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <blockvec/solvers/which.hpp>
#include <cstdint>

namespace blockvec::solvers {

/// What lobpcg() is to do.
struct LobpcgOptions {
  std::int64_t wanted = 8;  ///< eigenpairs asked for
  /// Columns beside the wanted ones that are iterated as well and need not converge; automatic_guard: max(4, wanted /
  /// 10). They keep a level from being cut, and tell whether one is.
  std::int64_t guard = automatic_guard;
  /// Converged: the backward error ||A x - theta B x|| / ((||A|| + |theta| ||B||) ||x||) is at most this; without B
  /// ||A x - theta x|| <= tolerance ||A||. The norms are estimates, from below.
  double tolerance = 1e-8;
  Which which = Which::smallest;       ///< the wanted end of the spectrum
  std::int64_t max_iterations = 1000;  ///< the search ends with them, exhausted
  std::uint64_t seed = 1;              ///< of the starting block
  orth::Options orth = {};             ///< how blocks are made orthonormal
  CheckpointOptions checkpoint = {};   ///< how a long run is saved

  static constexpr std::int64_t automatic_guard = -1;  ///< see guard
};

/// The options with defaults filled in, for a matrix with so many rows of which `deflated` dimensions are left out.
/// Throws InputError for those that do not fit.
LobpcgOptions checked(LobpcgOptions options, std::int64_t rows, std::int64_t deflated = 0);

/// The eigenpairs at the end of the spectrum that the options name, of A x = theta x or A x = theta B x:
///
///     auto result = lobpcg<BlockVector<double>>({.a = a, .precondition = m}, {.wanted = 4});
///
/// Locally optimal block preconditioned conjugate gradients in an orthonormal (B-orthonormal) basis [X P W], so that
/// the small problem is a standard one and cannot break down. The images A [X P W] and B [X P W] go through the same
/// orthonormal coefficients: A and B are applied to W alone. W itself stays as it is while the coefficients can make it
/// orthonormal. Columns that are well below the tolerance get no part of W, but stay in X, so that nothing that couples
/// them to the others is neglected. A preconditioner without which the residuals fall faster is left out (Result::why
/// says so). Collective. Result::status says how it ended.
/// Cost of an iteration with k = wanted + guard columns: A, B and the preconditioner on the columns that have not
/// converged; 22 k words a row, with B 28 k, at most: residuals 4 k (with B 5 k), products 8 k, two updates of 5 k
/// (three). 2 reductions; of more than 32 columns in [X P W] one more on several ranks. Where W's columns nearly depend
/// on others, such as those of a very good preconditioner on X, and where something is deflated, W is made orthonormal:
/// up to 11 k words (with B 21 k) and 2 to 4 reductions more.
/// Memory: 6 k columns, with B 9 k, and k of scratch; what is deflated once more.
/// Throws InputError for options that do not fit, ShapeError for vectors of other rows than the operator's,
/// OutOfMemoryError naming the bytes, Error naming B where it shows not to be positive definite, NotFiniteError; what
/// the operators throw. For block vectors of all scalars and layouts in every memory space of this build.
/// Sources: Knyazev 2001 (SIAM J. Sci. Comput. 23, 517); basis: Hetmaniuk & Lehoucq 2006 (J. Comput. Phys. 218, 324);
/// Duersch, Shao, Yang, Gu 2018 (SIAM J. Sci. Comput. 40, C655).
template <class Vector>
Result<Vector> lobpcg(const Problem<Vector>& problem, const LobpcgOptions& options = {}, const Observer& observer = {});

}  // namespace blockvec::solvers
