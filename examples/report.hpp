#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "options.hpp"

namespace blockvec::examples {

/// What there is to say about a finished run, whatever the scalar type and layout.
struct RunSummary {
  std::string matrix;  ///< one line for people
  std::string scalar;
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  double setup_seconds = 0;  ///< filling the matrix
  bool converged = false;
  std::string stopped;            ///< why, where it ended before its time
  std::string orthogonalisation;  ///< how often it was done, and how often otherwise than asked
  std::vector<double> eigenvalues;
  std::vector<double> residual_norms;
  std::vector<double> residual_estimates;
  double orthogonality_loss = 0;
  double norm_estimate = 0;
  std::int64_t restarts = 0;
  std::int64_t starts = 0;
  std::int64_t applications = 0;
  std::int64_t reductions = 0;
  int filter_degree = 0;
  double seconds = 0;
  std::vector<LanczosStep> history;
};

/// Prints progress: one line that is rewritten on a terminal, a line now and then elsewhere. An MPI launcher looks like
/// a terminal to its ranks whether or not it writes to one, so with several ranks it is lines.
class ProgressPrinter {
 public:
  ProgressPrinter(std::int64_t wanted, int ranks);
  void operator()(const LanczosStep& step);
  void finish();

 private:
  std::int64_t wanted_;
  bool is_terminal_;
  double last_ = -1;
  std::int64_t last_restart_ = -1;
};

/// The table of eigenvalues and residuals, and what it took.
std::string result_table(const RunSummary& run, const ProgramOptions& options);
/// For Heisenberg rings at half filling: the ground-state energy per site beside that of the Bethe ansatz. Else empty.
std::string literature_comparison(const RunSummary& run, const ProgramOptions& options);
/// All of it.
nlohmann::json to_json(const RunSummary& run, const ProgramOptions& options, const Context& context);
/// Makes the directories on the way. Throws InputError.
void write_json(const std::string& path, const nlohmann::json& json);
/// Runs plot_history.py on a JSON file; false, with a message on standard error, if that did not work.
bool plot_history(const std::string& json_file, const std::string& plot_file);

}  // namespace blockvec::examples
