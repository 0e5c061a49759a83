#include "report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <blockvec/version.hpp>
#include <cmath>
#include <cstdio>

#include "problems/bethe_ansatz.hpp"
#include "write_all.hpp"

namespace blockvec::examples {

namespace {
const char* rounds_of(const ProgramOptions& options) { return options.is_lanczos() ? "restarts" : "iterations"; }
}  // namespace

ProgressPrinter::ProgressPrinter(std::int64_t wanted, int ranks, const ProgramOptions& options)
    : wanted_(wanted),
      round_(options.is_lanczos() ? "restart" : "iteration"),
      // The one that the program was started from. mpirun shows its ranks one of its own, even where it writes to a
      // pipe.
      is_terminal_(ranks == 1 && tcgetpgrp(STDOUT_FILENO) != -1) {}

int ProgressPrinter::operator()(const solvers::Step& step) {
  // Seconds. A launcher that is busy ending ranks reads no more: a flood of lines would stand before the result then.
  constexpr double least_interval = 0.2;
  constexpr double terminal_interval = 0.1;
  constexpr double line_interval = 1;
  const bool has_news = step.converged != last_converged_;
  const bool is_new_restart = step.restart != last_restart_;
  const double interval = is_terminal_ ? terminal_interval : is_new_restart ? least_interval : line_interval;
  if (last_ >= 0 && !has_news && step.seconds - last_ < interval) return 0;
  last_ = step.seconds;
  last_restart_ = step.restart;
  last_converged_ = step.converged;
  const double worst = step.residuals.empty() ? 0 : *std::max_element(step.residuals.begin(), step.residuals.end());
  const std::string filter = step.filter_degree == 0 ? "" : fmt::format(", filter {}", step.filter_degree);
  return print(fmt::format("{}{} {:3}, converged {} of {}, worst residual {:.1e}, {:.2f} s{}{}",
                           is_terminal_ ? "\r\033[K" : "", round_, step.restart, step.converged, wanted_, worst,
                           step.seconds, filter, is_terminal_ ? "" : "\n"));
}

int ProgressPrinter::finish() { return is_terminal_ ? print("\r\033[K") : 0; }

namespace {

/// The largest value has some digits before the point and the smallest ones some after it, or all have exponents.
std::string eigenvalue(double value, const RunSummary& run) {
  double largest = 0;
  for (const double each : run.eigenvalues) largest = std::max(largest, std::abs(each));
  return largest == 0 || (largest >= 1e-3 && largest < 1e7) ? fmt::format("{:>22.14f}", value)
                                                            : fmt::format("{:>22.14e}", value);
}

std::string table_of_unfinished(const RunSummary& run, const ProgramOptions& options) {
  std::string text = fmt::format("{:>4}  {:>22}  {:>12}\n", "", "eigenvalue", "residual");
  for (std::size_t i = 0; i < run.eigenvalues.size(); ++i)
    text += fmt::format("{:>4}  {}  {:>12.3e}\n", i + 1, eigenvalue(run.eigenvalues[i], run), run.residual_norms[i]);
  return text + fmt::format(
                    "NOT CONVERGED: {} of {} pairs were found by then; lower ones may be missing.\n"
                    "stopped: {}\n{:.3f} s; {} {}, A applied to {} columns, {} reductions\n",
                    run.eigenvalues.size(), options.lanczos.wanted, run.stopped, run.seconds, run.restarts,
                    rounds_of(options), run.applications, run.reductions);
}
}  // namespace

std::string result_table(const RunSummary& run, const ProgramOptions& options) {
  if (!run.is_finished) return table_of_unfinished(run, options);
  std::string text = fmt::format("{:>4}  {:>22}  {:>12}  {:>12}\n", "", "eigenvalue", "residual", "estimated");
  for (std::size_t i = 0; i < run.eigenvalues.size(); ++i) {
    text += fmt::format("{:>4}  {}  {:>12.3e}  {:>12.3e}\n", i + 1, eigenvalue(run.eigenvalues[i], run),
                        run.residual_norms[i], run.residual_estimates[i]);
  }
  if (options.mass_file.empty()) {
    const double limit = options.lanczos.tolerance * run.norm_estimate;
    text += fmt::format("{}: residual <= {:.3e} ({:g} * ||A||, about {:.6g}); ||V^H V - I|| = {:.1e}\n",
                        run.converged ? "converged" : "NOT CONVERGED", limit, options.lanczos.tolerance,
                        run.norm_estimate, run.orthogonality_loss);
  } else {
    double worst = 0;
    for (const double error : run.backward_errors) worst = std::max(worst, error);
    text += fmt::format("{}: backward errors <= {:.1e} (asked for: {:g}); ||V^H B V - I|| = {:.1e}\n",
                        run.converged ? "converged" : "NOT CONVERGED", worst, options.lanczos.tolerance,
                        run.orthogonality_loss);
  }
  if (!run.stopped.empty()) text += (run.converged ? "" : "stopped: ") + run.stopped + "\n";
  if (!run.converged)
    text += "These are the best pairs known; they do not all meet the tolerance, and lower ones may be missing.\n";
  if (run.last_level_cut)
    text += "The last level is cut: there are more eigenvalues like the last one, or it is not known. Raise --nev.\n";
  text +=
      fmt::format("{:.3f} s and {:.3f} s to fill the matrix; {} {}, A applied to {} columns{}{}{}, {} reductions{}\n",
                  run.seconds, run.setup_seconds, run.restarts, rounds_of(options), run.applications,
                  run.applications_single > 0 ? fmt::format(" ({} in single precision)", run.applications_single) : "",
                  run.applications_b > 0 ? fmt::format(", B to {}", run.applications_b) : "",
                  run.preconditionings > 0 ? fmt::format(", the preconditioner to {}", run.preconditionings) : "",
                  run.reductions, run.filter_degree > 0 ? fmt::format(", filter of degree {}", run.filter_degree) : "");
  if (!options.method_reason.empty() && !(options.is_lanczos() && options.mass_file.empty()))
    text += fmt::format("method: {}, since {}\n", options.method, options.method_reason);
  text += fmt::format("orthogonalisation, {}: {}", options.orth, run.orthogonalisation);
  return text;
}

namespace {
bool is_heisenberg_ring(const ProgramOptions& options) {
  return options.matrix_file.empty() && options.mass_file.empty() && options.problem == "heisenberg" &&
         options.periodic && options.delta == 1 && options.sites % 2 == 0 && options.sites >= 4 &&
         options.up == options.sites / 2 && options.lanczos.which == solvers::Which::smallest;
}
}  // namespace

std::string literature_comparison(const RunSummary& run, const ProgramOptions& options) {
  if (!is_heisenberg_ring(options) || run.eigenvalues.empty()) return "";
  const double computed = run.eigenvalues[0] / options.sites;
  const double exact = bethe_energy_per_site(options.sites);
  return fmt::format(
      "ground-state energy per site:\n"
      "  {:+.12f}  computed\n"
      "  {:+.12f}  Bethe ansatz for {} sites (Bethe 1931): difference {:.1e}\n"
      "  {:+.12f}  infinitely many sites, 1/4 - ln 2 (Hulthen 1938)\n",
      computed, exact, options.sites, std::abs(computed - exact), hulthen_energy_per_site());
}

}  // namespace blockvec::examples
