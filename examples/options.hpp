#pragma once

#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/dense_diagonalization.hpp>
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/method.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace blockvec::examples {

/// What the command line asks for.
struct ProgramOptions {
  std::string problem = "heisenberg";
  std::string matrix_file;  ///< if not empty, instead of a problem
  bool packed = false;      ///< half of a dense matrix is stored
  std::string mass_file;    ///< B of A x = theta B x; empty: the identity
  std::vector<std::int64_t> grid;
  int sites = 20;
  int up = 10;
  bool periodic = false;
  double delta = 1;
  bool matrix_free = false;
  double disorder = 1;
  std::vector<std::int64_t> flux;  ///< empty, or p and q

  /// lanczos, lobpcg, jacobi-davidson, chebyshev, interior or dense once the command line has been read.
  std::string method = "auto";
  std::string method_reason;                     ///< why, where auto chose it
  std::int64_t most_applications = 0;            ///< of auto's choice: solvers::MethodChoice
  std::vector<solvers::Method> allowed_methods;  ///< for auto to choose from; empty: the method was given
  solvers::ProblemTraits traits;                 ///< as far as they are known
  std::string preconditioner = "none";           ///< none, jacobi, block-jacobi or chebyshev
  std::int64_t preconditioner_block = 16;
  solvers::LanczosOptions lanczos;  ///< what the methods share, too
  bool has_block = false;           ///< whether lanczos.block was given
  bool has_wanted = false;          ///< whether lanczos.wanted was given
  std::optional<double> target;
  std::vector<double> interval;  ///< empty, or its ends
  std::int64_t guard = solvers::LobpcgOptions::automatic_guard;
  std::int64_t max_iterations = 1000;
  std::string filter_precision = "double";  ///< of chebyshev's filters: double or single
  std::string orth = "pipi+/cholqr2";
  std::string device = BLOCKVEC_HAVE_CUDA_SPACE ? "gpu" : "cpu";
  std::string layout;  ///< of the block vectors: row or column. Unless given: DefaultLayout of their memory
  int threads = 0;
  bool reproducible = false;

  std::string json_file;
  std::string plot_file;
  std::string vectors_file;
  std::string write_matrix_file;
  bool quiet = false;

  /// Chooses the method, if that is asked for, by the traits that are known by then.
  void choose_method();
  bool is_on_gpu() const { return device == "gpu"; }
  bool is_lanczos() const { return method == "lanczos"; }
  bool wants_single_filter() const { return filter_precision == "single"; }
  solvers::JacobiDavidsonOptions jacobi_davidson() const {
    solvers::JacobiDavidsonOptions result{.wanted = lanczos.wanted,
                                          .basis = lanczos.basis,
                                          .tolerance = lanczos.tolerance,
                                          .which = lanczos.which,
                                          .target = target,
                                          .max_iterations = max_iterations,
                                          .seed = lanczos.seed,
                                          .orth = lanczos.orth,
                                          .checkpoint = lanczos.checkpoint};
    if (has_block) result.block = lanczos.block;
    return result;
  }
  solvers::InteriorOptions interior() const {
    solvers::InteriorOptions result{.target = target.value_or(0),
                                    .basis = lanczos.basis,
                                    .tolerance = lanczos.tolerance,
                                    .max_restarts = lanczos.max_restarts,
                                    .seed = lanczos.seed,
                                    .orth = lanczos.orth,
                                    .checkpoint = lanczos.checkpoint};
    if (has_block) result.block = lanczos.block;
    if (has_wanted) result.wanted = lanczos.wanted;
    if (!interval.empty()) result.interval = solvers::Interval{interval[0], interval[1]};
    return result;
  }
  solvers::DenseOptions dense() const {
    solvers::DenseOptions result{.tolerance = lanczos.tolerance, .which = lanczos.which, .target = target};
    if (has_wanted) result.wanted = lanczos.wanted;
    if (!interval.empty()) result.interval = solvers::Interval{interval[0], interval[1]};
    return result;
  }
  solvers::ChebyshevOptions chebyshev() const {
    return {.wanted = lanczos.wanted,
            .tolerance = lanczos.tolerance,
            .which = lanczos.which,
            .max_iterations = max_iterations,
            .seed = lanczos.seed,
            .orth = lanczos.orth,
            .checkpoint = lanczos.checkpoint};
  }
  solvers::LobpcgOptions lobpcg() const {
    return {.wanted = lanczos.wanted,
            .guard = guard,
            .tolerance = lanczos.tolerance,
            .which = lanczos.which,
            .max_iterations = max_iterations,
            .seed = lanczos.seed,
            .orth = lanczos.orth,
            .checkpoint = lanczos.checkpoint};
  }
};

/// Reads the command line. An exit status means that the program is to end with it: --help was printed (0), or what was
/// wrong (2); `print` says whether this rank does the printing. Without any argument: the Heisenberg ring of 20 sites.
std::optional<int> parse_command_line(int argc, char** argv, bool print, ProgramOptions& options);

}  // namespace blockvec::examples
