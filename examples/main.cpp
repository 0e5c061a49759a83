// block_lanczos: eigenpairs of sparse Hermitian matrices on BlockVec's block vectors. See --help.
#include <fmt/core.h>

#include <blockvec/blockvec.hpp>
#include <chrono>
#include <filesystem>

#include "block_lanczos.hpp"
#include "input_error.hpp"
#include "matrix_market.hpp"
#include "options.hpp"
#include "problems/make_problem.hpp"
#include "report.hpp"
#include "sparse_operator.hpp"

namespace blockvec::examples {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class Scalar, class Layout>
RunSummary solve(const Context& context, const RowDistribution& rows, const RowSource<Scalar>& source,
                 const ProgramOptions& options, bool talks) {
  RunSummary run;
  run.matrix = source.describe();
  run.scalar = scalar_name<Scalar>();
  run.rows = source.size();
  const auto begin = std::chrono::steady_clock::now();
  SparseOperator<Scalar> a(context, rows, source);
  run.setup_seconds = seconds_since(begin);
  run.nonzeros = a.nonzeros();
  if (talks) {
    fmt::print("{}: {} rows, {} nonzeros, {}, {} rank(s) with {} thread(s)\n", run.matrix, run.rows, run.nonzeros,
               run.scalar, context.communicator().size(), context.threads());
  }
  context.profile().start();
  context.history().start();
  LanczosOptions lanczos = options.lanczos;
  lanczos.checkpoint.matrix = fmt::format("{}, {} nonzeros", run.matrix, run.nonzeros);
  ProgressPrinter progress(options.lanczos.wanted, context.communicator().size());
  const auto observer = [&](const LanczosStep& step) {
    if (talks) progress(step);
    return true;
  };
  LanczosResult<Scalar, Layout> result = block_lanczos<Scalar, Layout>(a, lanczos, observer);
  context.profile().stop();
  context.history().stop();
  if (talks) progress.finish();
  if (!options.vectors_file.empty()) write_matrix_market(options.vectors_file, result.vectors);

  run.converged = result.converged;
  run.stopped = result.stopped;
  run.orthogonalisation = context.history().summary();
  run.eigenvalues = std::move(result.eigenvalues);
  run.residual_norms = std::move(result.residual_norms);
  run.residual_estimates = std::move(result.residual_estimates);
  run.orthogonality_loss = result.orthogonality_loss;
  run.norm_estimate = result.norm_estimate;
  run.restarts = result.restarts;
  run.starts = result.starts;
  run.applications = result.applications;
  run.reductions = result.reductions;
  run.filter_degree = result.filter_degree;
  run.seconds = result.seconds;
  run.history = std::move(result.history);
  return run;
}

template <class Scalar>
RunSummary run_matrix(const Context& context, const RowDistribution& rows, const RowSource<Scalar>& source,
                      const ProgramOptions& options, bool talks) {
  if (!options.write_matrix_file.empty())
    write_matrix_market(options.write_matrix_file, rows, source, context.communicator());
  if (options.layout == "column") return solve<Scalar, ColumnMajor>(context, rows, source, options, talks);
  return solve<Scalar, RowMajor>(context, rows, source, options, talks);
}

RunSummary run_program(const Context& context, const ProgramOptions& options, bool talks) {
  const Communicator& communicator = context.communicator();
  if (!options.matrix_file.empty()) {
    const auto matrix = read_matrix_market(options.matrix_file, communicator);
    return std::visit([&](const auto& m) { return run_matrix(context, m.rows, *m.source, options, talks); }, matrix);
  }
  const auto problem = make_problem(options);
  return std::visit(
      [&](const auto& source) {
        return run_matrix(context, RowDistribution::uniform(source->size(), communicator), *source, options, talks);
      },
      problem);
}

void report(const RunSummary& run, const ProgramOptions& options, const Context& context) {
  if (!options.quiet) {
    fmt::print("{}{}\n{}", result_table(run, options), literature_comparison(run, options), context.report());
  }
  if (options.json_file.empty() && options.plot_file.empty()) return;
  // A plot without a JSON file of its own is made from one beside it.
  const std::string json_file = options.json_file.empty() ? options.plot_file + ".json" : options.json_file;
  write_json(json_file, to_json(run, options, context));
  const bool is_plotted = !options.plot_file.empty() && plot_history(json_file, options.plot_file);
  if (options.json_file.empty()) std::filesystem::remove(json_file);
  if (!options.quiet) {
    if (!options.json_file.empty()) fmt::print("wrote {}\n", options.json_file);
    if (is_plotted) fmt::print("wrote {}\n", options.plot_file);
  }
}

int program(int argc, char** argv) {
  const Communicator communicator = Communicator::world();
  const bool is_first = communicator.rank() == 0;
  ProgramOptions options;
  if (const auto status = parse_command_line(argc, argv, is_first, options)) return *status;
  const Context context(communicator, options.threads, {},
                        options.reproducible ? Summation::reproducible : Summation::fast);
  try {
    const RunSummary run = run_program(context, options, is_first && !options.quiet);
    if (is_first) report(run, options, context);
    return run.converged ? 0 : 1;
  } catch (const InputError& error) {
    // The same on every rank: one message is enough, and nobody waits.
    if (is_first) fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace blockvec::examples

int main(int argc, char** argv) {
  // Kokkos would take options such as --threads for its own.
  int no_arguments = 1;
  char* program_name[] = {argv[0], nullptr};
  char** no_argument_list = program_name;
  blockvec::Environment environment(no_arguments, no_argument_list);
  return blockvec::Environment::guard([&] { return blockvec::examples::program(argc, argv); });
}
