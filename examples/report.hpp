#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "options.hpp"

namespace blockvec::examples {

/// What there is to say about a finished run, whatever the scalar type and layout.
struct RunSummary {
  std::string matrix;  ///< one line for people
  std::string scalar;
  int ranks = 1;
  int threads = 1;     ///< of each rank
  std::string device;  ///< the GPU that matrix and vectors lie on; empty: they are on the host
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  double setup_seconds = 0;  ///< filling the matrix
  bool is_finished = false;  ///< the solver came to an end; else this is what was known at its latest block
  bool converged = false;
  bool last_level_cut = false;    ///< see solvers::Result
  std::string stopped;            ///< why, where it ended before its time
  std::string orthogonalisation;  ///< how often it was done, and how often otherwise than asked
  std::vector<double> eigenvalues;
  std::vector<double> residual_norms;
  std::vector<double> residual_estimates;
  std::vector<double> backward_errors;  ///< where the method tells them
  double orthogonality_loss = 0;
  double norm_estimate = 0;
  std::int64_t restarts = 0;  ///< or iterations
  std::int64_t starts = 0;
  std::int64_t applications = 0;
  std::int64_t applications_single = 0;
  std::int64_t applications_b = 0;
  std::int64_t preconditionings = 0;
  std::int64_t reductions = 0;
  int filter_degree = 0;
  double seconds = 0;
  std::vector<solvers::Step> history;
};

/// Prints progress: one line that is rewritten on a terminal, a line now and then elsewhere. An MPI launcher looks like
/// a terminal to its ranks whether or not it writes to one, so with several ranks it is lines. What it returns is 0, or
/// the errno of printing.
class ProgressPrinter {
 public:
  ProgressPrinter(std::int64_t wanted, int ranks, const ProgramOptions& options);
  int operator()(const solvers::Step& step);
  int finish();

 private:
  std::int64_t wanted_;
  const char* round_;  // what the method counts
  bool is_terminal_;
  double last_ = -1;
  std::int64_t last_restart_ = -1;
  std::int64_t last_converged_ = -1;
};

/// The table of eigenvalues and residuals, and what it took.
std::string result_table(const RunSummary& run, const ProgramOptions& options);
/// For Heisenberg rings at half filling: the ground-state energy per site beside that of the Bethe ansatz. Else empty.
std::string literature_comparison(const RunSummary& run, const ProgramOptions& options);
/// All of it.
nlohmann::json to_json(const RunSummary& run, const ProgramOptions& options);
/// What the context has measured, too. `compare`: with the machine's bandwidth, which is measured for some 0.2 s.
void add_measurements(nlohmann::json& json, const Context& context, bool compare);
/// As text. What is not UTF-8, as a file's name may be, is replaced.
std::string json_text(const nlohmann::json& json);
/// Runs plot_history.py on the text of a JSON file. Empty, or why that did not work.
std::string plot_history(const std::string& json, const std::string& plot_file);

}  // namespace blockvec::examples
