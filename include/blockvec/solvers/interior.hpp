#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <cstdint>
#include <optional>

namespace blockvec::solvers {

/// Both ends belong to it.
struct Interval {
  ///@{
  /// Its ends.
  double from = 0, to = 0;
  ///@}
};

/// What interior_lanczos() is to do.
struct InteriorOptions {
  /// Eigenpairs asked for, the nearest to `target`. With an interval: the most that there is room for;
  /// automatic_wanted: what a look at the spectral density lets expect, and half as many more; where that is too little
  /// and neither a basis nor a checkpoint is given, the search begins again with twice the room, up to four times.
  std::int64_t wanted = automatic_wanted;
  double target = 0;                      ///< eigenvalues are wanted near it
  std::optional<Interval> interval = {};  ///< all eigenvalues in it are wanted; the target is its centre then
  std::int64_t block = 0;                 ///< columns of a Krylov block; 0: 4
  std::int64_t basis = 0;                 ///< most columns of the basis, found pairs included; 0: 4 wanted + 24 block
  /// Converged: ||A x - theta x|| <= tolerance * (estimate of ||A||); with B as LobpcgOptions::tolerance says.
  double tolerance = 1e-8;
  std::int64_t max_restarts = 300;    ///< the search ends with them, exhausted
  std::uint64_t seed = 1;             ///< of the starting blocks
  orth::Options orth = {};            ///< how blocks are made orthonormal
  CheckpointOptions checkpoint = {};  ///< how a long run is saved

  static constexpr std::int64_t automatic_wanted = -1;  ///< near a target: 8
};

/// The options with defaults filled in, for a matrix with so many rows of which `deflated` dimensions are left out;
/// `expected` eigenvalues may lie in the interval.
/// Throws InputError for those that do not fit.
InteriorOptions checked(InteriorOptions options, std::int64_t expected, std::int64_t rows, std::int64_t deflated = 0);

/// The eigenpairs of A x = theta x or A x = theta B x nearest to a target, nearest first, or all in an interval,
/// ascending, with their multiplicities and without a factorisation:
///
///     auto nearest = interior_lanczos<BlockVector<double>>({a}, {.wanted = 8, .target = 0.5});
///     auto all = interior_lanczos<BlockVector<double>>({a}, {.interval = Interval{0.4, 0.6}});
///
/// Thick-restart block Lanczos for a polynomial of A: a Chebyshev expansion of the delta function, which raises a
/// window around the target. A look at the spectral density tells the window, and Ritz values correct it. Invariant
/// subspaces of the polynomial are found in order; Rayleigh-Ritz with A then parts eigenvalues on both sides, and
/// residuals with A confirm them. At the end a search from random vectors beside all that was found looks for more,
/// until it finds nothing: a pair escapes it with a probability of 1e-6 at most. With a B all of this is for B^-1 A in
/// the inner product of B. Problem::inverse_b says what B^-1 does, exactly or roughly; what is rough is improved to
/// rounding errors by products with B. Collective. Result::status says how it ended: exhausted where there is no room
/// for what lies in the interval, and where eigenvalues lie too close together for a polynomial of degree 20,000.
/// Result::last_level_cut: another eigenvalue is as far from the target as the last one, or lies at an end of the
/// interval, to 10 times the tolerance. Cost: a Krylov step applies A to each column of a block about s / d times, s^2
/// being the product of the distances from the target to both ends of the spectrum, and d that to the ends of the
/// window; 3 reductions. Memory: basis + 4 block columns, and three times what was found; 66 at the start; with B 2
/// basis + 6 block. Throws InputError for options that do not fit and, as chebyshev_subspace(), for a B that is too far
/// from its inverse, Error for one that is not positive definite, otherwise as block_lanczos(). Initial vectors and
/// preconditioners are not used. For block vectors of all scalars and layouts in every memory space of this build.
/// Sources: polynomial filters for the interior, Pieper et al. 2016 (J. Comput. Phys. 325, 226); filtered Lanczos, Li,
/// Xi, Vecharynski, Yang, Saad 2016 (SIAM J. Sci. Comput. 38, A2512); densities, Lin, Saad, Yang 2016 (SIAM Review 58,
/// 34).
template <class Vector>
Result<Vector> interior_lanczos(const Problem<Vector>& problem, const InteriorOptions& options = {},
                                const Observer& observer = {});

}  // namespace blockvec::solvers
