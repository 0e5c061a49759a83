#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <blockvec/solvers/which.hpp>
#include <cstdint>
#include <optional>

namespace blockvec::solvers {

/// What jacobi_davidson() is to do.
struct JacobiDavidsonOptions {
  std::int64_t wanted = 8;  ///< eigenpairs asked for
  /// Corrections that are solved for side by side; 0: 4 near a target, and for 4 pairs or more with a B, else 2.
  std::int64_t block = 0;
  /// Columns that a restart keeps, found pairs aside; 0: as many as are still wanted, and `block` + 2 more. Near a
  /// target 3/5 of the basis.
  std::int64_t kept = 0;
  /// Most columns of the basis, found pairs aside; 0: the kept ones and 6 blocks more, at least 10. Near a target
  /// 2 `wanted` and 12 blocks, at least 60.
  std::int64_t basis = 0;
  /// Converged: as LobpcgOptions::tolerance says.
  double tolerance = 1e-8;
  Which which = Which::smallest;  ///< the wanted end of the spectrum
  /// The eigenvalues nearest to it are wanted, wherever they lie, and not those at an end.
  std::optional<double> target = {};
  std::int64_t max_iterations = 2000;  ///< the search ends with them, exhausted
  std::int64_t inner_steps = 20;       ///< most steps of a correction's iterative solution
  std::uint64_t seed = 1;              ///< of the starting block
  orth::Options orth = {};             ///< how blocks are made orthonormal
  CheckpointOptions checkpoint = {};   ///< how a long run is saved
};

/// The options with defaults filled in, for a matrix or, with a B, a pair with so many rows, of which `deflated`
/// dimensions are left out. Throws InputError for those that do not fit.
JacobiDavidsonOptions checked(JacobiDavidsonOptions options, std::int64_t rows, std::int64_t deflated = 0,
                              bool has_b = false);

/// The eigenpairs at the end of the spectrum that the options name, or the nearest to a target, nearest first, of A x =
/// theta x or A x = theta B x:
///
///     auto result = jacobi_davidson<BlockVector<double>>({.a = a, .precondition = m}, {.wanted = 4});
///     auto nearest = jacobi_davidson<BlockVector<double>>({.a = a}, {.wanted = 4, .target = 0.5});
///
/// Block Jacobi-Davidson. For the `block` lowest pairs (x, theta) that have not converged, with the residuals r, the
/// corrections (I - B Q Q^H) (A - sigma B) (I - Q Q^H B) t = r are solved roughly, by MINRES runs that advance
/// together. Q are these x, all locked vectors and what is deflated; sigma lies below theta by the length of r. The
/// basis takes the corrections in, and before its first restart the residuals, preconditioned, in their place. A thick
/// restart keeps the lowest Ritz vectors and the directions in which the block moved last. Pairs are locked in order.
/// Once enough are, a new basis of random columns beside them looks for copies that the old one had no part of; there
/// sigma of the first column is the lowest value known, so that what lies below the last wanted one grows faster than
/// all others. A preconditioner that shows not to be positive definite is left out (Result::why says so).
/// Near a target t the vectors are refined ones: for the basis V they are the right singular vectors of (A - t) V, by
/// the factor of its Gram matrix, whose columns are graded so that no digits are lost; vectors of eigenvalues on both
/// sides are parted by Rayleigh-Ritz. With a B they are the nearest Ritz vectors. Sigma lies nearer to the target than
/// theta. Result::last_level_cut: another eigenvalue is as far from the target as the last one. Collective.
/// Result::status says how it ended. Cost of an iteration beside m columns: inner steps of one product with `block`
/// columns (two with B), 2 reductions (3 with B or a preconditioner) and about 26 words a row and column; then one
/// product, 3 to 4 reductions and 4 m words (6 m with B; near a target m more) for the basis. Memory: 2 (wanted + basis
/// + 3 block) columns (3 with B), and 12 blocks. Throws as lobpcg(). For block vectors of all scalars and layouts in
/// every memory space of this build. Sources: Sleijpen, van der Vorst 1996 (SIAM J. Matrix Anal. Appl. 17, 401); in
/// blocks, Röhrig-Zöllner et al. 2015 (SIAM J. Sci. Comput. 37, C697); previous directions and shifts: Stathopoulos,
/// Saad 1998 (ETNA 7, 163); near a target, Wu, Romero, Stathopoulos 2017 (SIAM J. Sci. Comput. 39, S248).
template <class Vector>
Result<Vector> jacobi_davidson(const Problem<Vector>& problem, const JacobiDavidsonOptions& options = {},
                               const Observer& observer = {});

}  // namespace blockvec::solvers
