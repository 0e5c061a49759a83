#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace blockvec::examples {

enum class Which { smallest, largest };  ///< algebraically

/// How long runs are saved and continued (docs/checkpoints.md).
struct CheckpointOptions {
  std::string file;      ///< empty: nothing is saved
  double seconds = 600;  ///< from one checkpoint to the next; 0: after every block
  std::string restart;   ///< the checkpoint that the run goes on from; empty: it begins anew
  std::string matrix;    ///< one line for people, where a checkpoint is refused
};

struct LanczosOptions {
  std::int64_t wanted = 8;  ///< eigenpairs asked for
  std::int64_t block = 3;   ///< columns of a Krylov block: narrow ones need fewer columns of A in all
  std::int64_t basis = 0;   ///< most columns of the basis, locked pairs included; 0: default_basis()
  double tolerance = 1e-8;  ///< converged: ||A x - theta x|| <= tolerance * (estimate of ||A||)
  Which which = Which::smallest;
  std::int64_t max_restarts = 300;
  std::uint64_t seed = 1;  ///< of the starting blocks
  int filter_degree = automatic_filter;
  orth::Options orth = {};
  CheckpointOptions checkpoint = {};

  static constexpr int automatic_filter = -1;  ///< chosen from the spectrum as far as it is known; 0: no filter
  static constexpr int most_filter_degree = 300;
};

/// Columns of the basis where nobody says how many.
inline std::int64_t default_basis(std::int64_t wanted, std::int64_t block) { return 2 * wanted + 12 * block; }

/// The options with defaults filled in, for a matrix with so many rows. Throws InputError for those that do not fit.
LanczosOptions checked(LanczosOptions options, std::int64_t rows);

/// One look at the Ritz pairs, after each block.
struct LanczosStep {
  std::int64_t restart = 0;
  std::int64_t converged = 0;          ///< wanted pairs found so far
  double seconds = 0;                  ///< since the start
  std::int64_t reductions = 0;         ///< since the start
  std::int64_t applications = 0;       ///< columns that A was applied to
  int filter_degree = 0;               ///< of the polynomial that the Krylov space is built with; 0: A itself
  std::vector<double> residuals;       ///< of the wanted pairs, best known eigenvalue first: recomputed or estimated
  std::vector<double> eigenvalues;     ///< found so far, wanted end first; lower ones may be missing
  std::vector<double> residual_norms;  ///< of these, recomputed from A

  /// What a checkpoint keeps (state_archive.hpp).
  template <class Archive>
  void state(Archive& archive) {
    archive(restart, converged, seconds, reductions, applications, filter_degree, residuals, eigenvalues,
            residual_norms);
  }
};

template <class Scalar, class Layout>
struct LanczosResult {
  bool converged = false;
  std::string stopped;                     ///< why the search ended before its time; stopped_by_observer: asked to
  std::vector<double> eigenvalues;         ///< wanted end first
  std::vector<double> residual_norms;      ///< ||A x - theta x||, recomputed from A
  std::vector<double> residual_estimates;  ///< as the iteration last knew them
  BlockVector<Scalar, Layout> vectors;
  double orthogonality_loss = 0;  ///< ||V^H V - I||_F of the eigenvectors
  double norm_estimate = 0;       ///< of ||A||_2, from Ritz values
  std::int64_t restarts = 0;
  std::int64_t starts = 0;  ///< random vectors that Krylov spaces were started from
  std::int64_t applications = 0;
  std::int64_t reductions = 0;
  int filter_degree = 0;
  double seconds = 0;  ///< of the search; its memory was allocated before
  std::vector<LanczosStep> history;
};

inline constexpr const char* stopped_by_observer = "on request";

/// Sees every step, on every rank. False, on any rank, ends the search on all of them before the next block. What it
/// throws on one rank, all ranks throw.
using LanczosObserver = std::function<bool(const LanczosStep&)>;

}  // namespace blockvec::examples
