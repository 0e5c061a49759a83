#pragma once

#include <fmt/core.h>

#include <blockvec/solvers/chebyshev.hpp>
#include <blockvec/solvers/dense_diagonalization.hpp>
#include <blockvec/solvers/interior.hpp>
#include <blockvec/solvers/jacobi_davidson.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/lobpcg.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <blockvec/solvers/preconditioners.hpp>

#include "reporter.hpp"

namespace blockvec::examples {

/// The same matrix in single precision, for filters. Collective.
template <template <class, class> class Operator, class Scalar, class Space>
Operator<SingleOf<Scalar>, Space> in_single_precision(const Operator<Scalar, Space>& a,
                                                      const solvers::RowSource<Scalar>& source) {
  return {a.context(), a.rows(), solvers::RoundedRows<Scalar>(source)};
}

/// Solves by the method that the options name.
template <class Vector>
solvers::Result<Vector> search(solvers::Problem<Vector> problem, const ProgramOptions& options,
                               const solvers::Observer& observer) {
  if (options.is_lanczos()) return solvers::block_lanczos(problem, options.lanczos, observer);
  if (options.method == "chebyshev") return solvers::chebyshev_subspace(problem, options.chebyshev(), observer);
  if (options.method == "interior") return solvers::interior_lanczos(problem, options.interior(), observer);
  if (options.method == "dense") return solvers::dense_diagonalization(problem, options.dense(), observer);
  if (options.preconditioner == "chebyshev") {
    const auto ends = solvers::estimated_ends(problem.a, options.lanczos.seed);
    problem.precondition = solvers::chebyshev_preconditioner(problem.a, ends, 8, 30, options.lanczos.which);
  }
  if (options.method == "jacobi-davidson")
    return solvers::jacobi_davidson(problem, options.jacobi_davidson(), observer);
  return solvers::lobpcg(problem, options.lobpcg(), observer);
}

/// Solves as the options say. `matrix`: one line for checkpoints.
template <class Vector>
solvers::Result<Vector> solve(const solvers::Problem<Vector>& problem, ProgramOptions options,
                              const std::string& matrix, const solvers::Observer& observer) {
  options.lanczos.checkpoint.matrix = matrix;
  return solvers::search_or_diagonalize<Vector>(
      options.most_applications, [&](const solvers::Observer& seen) { return search(problem, options, seen); },
      [&](const solvers::Observer& seen) { return solvers::dense_diagonalization(problem, options.dense(), seen); },
      observer);
}

/// Solves and reports as the options say; `run` holds what is known of the matrix. Collective; the exit status.
template <class Vector>
int solve_and_report(const solvers::Problem<Vector>& problem, RunSummary run, const ProgramOptions& options,
                     Reporter& reporter) {
  const Context& context = problem.a.context();
  run.ranks = context.communicator().size();
  run.threads = context.threads();
  reporter.begin(run);
  context.profile().start();
  context.history().start();
  solvers::Result<Vector> result;
  try {
    // An error on one rank ends the search on all of them, and all stay until the first one has reported.
    result = context.collective([&] {
      return solve(problem, options, fmt::format("{}, {} nonzeros", run.matrix, run.nonzeros),
                   [&](const solvers::Step& step) { return reporter.observe(step); });
    });
  } catch (const solvers::InputError&) {
    throw;
  } catch (const std::exception& error) {
    const bool is_others = dynamic_cast<const RefusedError*>(&error) != nullptr;
    reporter.give_up(error.what(), is_others);
    context.communicator().barrier();
    return Reporter::error_status;
  }
  context.profile().stop();
  context.history().stop();

  run.is_finished = true;
  run.converged = result.converged();
  run.last_level_cut = result.last_level_cut;
  run.stopped = std::move(result.why);
  if (run.stopped.starts_with(solvers::stopped_by_observer))
    run.stopped.replace(0, std::string_view(solvers::stopped_by_observer).size(), reporter.reason_to_stop());
  run.orthogonalisation = context.history().summary();
  run.eigenvalues = std::move(result.eigenvalues);
  run.residual_norms = std::move(result.residual_norms);
  run.residual_estimates = std::move(result.residual_estimates);
  run.orthogonality_loss = result.orthogonality_loss;
  run.norm_estimate = result.norm_estimate;
  run.restarts = options.is_lanczos() ? result.restarts : result.iterations;
  run.applications_single = result.applications_single;
  run.applications_b = result.applications_b;
  run.preconditionings = result.preconditionings;
  run.backward_errors = std::move(result.backward_errors);
  run.starts = result.starts;
  run.applications = result.applications;
  run.reductions = result.reductions;
  run.filter_degree = result.filter_degree;
  run.seconds = result.seconds;
  run.history = std::move(result.history);
  return reporter.finish(run, context, [&](const std::string& file) {
    if constexpr (is_host_space<typename Vector::Space>) {
      solvers::write_matrix_market(file, result.vectors);
    } else {
      solvers::write_matrix_market(file, result.vectors.template converted_to_space<Kokkos::HostSpace>());
    }
  });
}

}  // namespace blockvec::examples
