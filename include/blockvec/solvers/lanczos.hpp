#pragma once

#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/checkpoint.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/problem.hpp>
#include <blockvec/solvers/result.hpp>
#include <blockvec/solvers/which.hpp>
#include <cstdint>

namespace blockvec::solvers {

/// What block_lanczos() is to do.
struct LanczosOptions {
  std::int64_t wanted = 8;  ///< eigenpairs asked for
  std::int64_t block = 0;   ///< columns of a Krylov block; 0: default_block
  std::int64_t basis = 0;   ///< most columns of the basis, found pairs included; 0: default_basis()
  /// Converged: ||A x - theta x|| <= tolerance * (estimate of ||A||); with B as LobpcgOptions::tolerance says.
  double tolerance = 1e-8;
  Which which = Which::smallest;  ///< the wanted end of the spectrum
  /// The search also ends, exhausted, where a tenth of these, 30 at least, bring the residuals down by less than a
  /// half; with a filter of high degree each restart counts as several.
  std::int64_t max_restarts = 300;
  std::uint64_t seed = 1;                ///< of the starting blocks
  int filter_degree = automatic_filter;  ///< of the polynomial that the Krylov space is built with
  /// Entries of A a row; 0: not known. Where they are fewer than the basis has columns, a product takes less than
  /// orthogonalisation, and a filter is worth products that it adds.
  double row_entries = 0;
  orth::Options orth = {};            ///< how blocks are made orthonormal
  CheckpointOptions checkpoint = {};  ///< how a long run is saved

  static constexpr int automatic_filter = -1;     ///< chosen from the spectrum as far as it is known; 0: no filter
  static constexpr int most_filter_degree = 300;  ///< that is chosen, or may be asked for
};

/// Columns of a block where nobody says how many. Narrow ones need fewer columns of A in all; a product with 4 columns
/// takes no longer than one with 3.
inline constexpr std::int64_t default_block = 4;

/// Columns of the basis where nobody says how many.
inline std::int64_t default_basis(std::int64_t wanted, std::int64_t block) { return 2 * wanted + 12 * block; }

/// The options with defaults filled in, for a matrix with so many rows of which `deflated` dimensions are left out.
/// Throws InputError for those that do not fit.
LanczosOptions checked(LanczosOptions options, std::int64_t rows, std::int64_t deflated = 0);

/// The eigenpairs of A x = theta x or A x = theta B x at the end of the spectrum that the options name, with all their
/// multiplicities:
///
///     auto result = block_lanczos<BlockVector<double>>({a}, {.wanted = 4});
///
/// Thick-restart block Lanczos with a Chebyshev filter chosen from the spectrum, and a renewed search for copies of an
/// eigenvalue that the block is too narrow for. With a B all of this is for B^-1 A in the inner product of B, and
/// Problem::inverse_b is taken as interior_lanczos() takes it. Collective. Result::status says how it ended.
/// Memory: (basis + 4 block + 2 wanted) columns, and what is deflated once more; with B basis + 2 block columns more,
/// and what B^-1 takes. Cost: docs/lanczos.md.
/// Throws InputError for options that do not fit and for a B that is too far from its inverse, Error for one that is
/// not positive definite, ShapeError for vectors of other rows than the operator's,
/// OutOfMemoryError naming the bytes; what the operator throws. For block vectors of all scalars and layouts in every
/// memory space of this build.
/// Sources: Wu & Simon 2000 (SIAM J. Matrix Anal. Appl. 22, 602); in blocks, Zhou & Saad 2008 (Numer. Algorithms 47,
/// 341); filtered, Li, Xi, Vecharynski, Yang, Saad 2016 (SIAM J. Sci. Comput. 38, A2512).
template <class Vector>
Result<Vector> block_lanczos(const Problem<Vector>& problem, const LanczosOptions& options = {},
                             const Observer& observer = {});

}  // namespace blockvec::solvers
