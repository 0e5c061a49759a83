// eigensolve: eigenpairs of Hermitian matrices on BlockVec's block vectors. See --help.
#include <fmt/core.h>

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/dense_operator.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/solvers/matrix_file.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "options.hpp"
#include "problems/make_problem.hpp"
#include "problems/spin_chain_operator.hpp"
#include "solve_and_report.hpp"
#include "write_all.hpp"

namespace blockvec::examples {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The GPU's name, or nothing.
template <class Space>
std::string device_name() {
#if BLOCKVEC_HAVE_CUDA_SPACE
  if (!is_host_space<Space>) return Kokkos::Cuda().cuda_device_prop().name;
#endif
  return {};
}

/// Entries of a matrix that stores its zeros, too.
template <class Scalar>
struct DenseSource final : solvers::RowSource<Scalar> {
  DenseSource(const solvers::RowSource<Scalar>& source, bool is_packed) : of(source), packed(is_packed) {}
  std::int64_t size() const override { return of.size(); }
  void append_row(std::int64_t row, solvers::RowEntries<Scalar>& entries) const override {
    of.append_row(row, entries);
  }
  bool copy_entries(std::int64_t row, std::int64_t first, std::int64_t count, Scalar* to) const override {
    return of.copy_entries(row, first, count, to);
  }
  std::string describe() const override { return of.describe(); }
  const solvers::RowSource<Scalar>& of;
  bool packed;
};

/// The operator for a source: of a stored matrix unless it is a spin chain, which needs none.
template <class Space, class Source>
auto operator_of(const Context& context, const RowDistribution& rows, const Source& source) {
  using Scalar = typename Source::Scalar;
  if constexpr (std::is_same_v<Source, SpinChain>) {
    return SpinChainOperator<Space>(context, rows, source);
  } else if constexpr (std::is_same_v<Source, DenseSource<Scalar>>) {
    return solvers::DenseOperator<Scalar, Space>(
        context, rows, source, source.packed ? solvers::DenseStorage::packed : solvers::DenseStorage::full);
  } else {
    return solvers::SparseOperator<Scalar, Space>(context, rows, source);
  }
}

/// B of the pair, as A's scalars. Collective. Throws InputError where it does not fit A.
template <class Scalar>
std::shared_ptr<const solvers::RowSource<Scalar>> read_mass(const std::string& file, const RowDistribution& rows,
                                                            const Communicator& communicator, int threads) {
  auto matrix = solvers::read_matrix(file, communicator, threads);
  return std::visit(
      [&](auto& mass) -> std::shared_ptr<const solvers::RowSource<Scalar>> {
        using Given = typename std::decay_t<decltype(*mass.source)>::Scalar;
        if (mass.rows.global_rows() != rows.global_rows()) {
          throw solvers::InputError(fmt::format("{}: it has {} rows, and the other matrix of the pair has {}", file,
                                                mass.rows.global_rows(), rows.global_rows()));
        }
        if constexpr (std::is_same_v<Given, Scalar>) {
          return std::move(mass.source);
        } else if constexpr (std::is_same_v<Given, double>) {
          const std::shared_ptr<const solvers::RowSource<double>> source = std::move(mass.source);
          const auto append = [source](std::int64_t row, solvers::RowEntries<Scalar>& entries) {
            solvers::RowEntries<double> real;
            source->append_row(row, real);
            for (std::size_t i = 0; i < real.columns.size(); ++i) entries.add(real.columns[i], Scalar(real.values[i]));
          };
          return std::make_shared<solvers::RowFunction<Scalar>>(source->size(), append, source->describe());
        } else {
          throw solvers::InputError(file + ": it is complex, and the other matrix of the pair is real");
        }
      },
      matrix);
}

/// What the command line asks for beside A.
template <class Vector, class Source, class Operator>
int solve_pair(Operator& a, RunSummary run, const Source& source, ProgramOptions& options, Reporter& reporter) {
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  solvers::Problem<Vector> problem{a};
  if constexpr (std::is_base_of_v<solvers::RowSource<Scalar>, Source>) {
    std::shared_ptr<const solvers::RowSource<Scalar>> mass;
    if (!options.mass_file.empty()) {
      mass = read_mass<Scalar>(options.mass_file, a.rows(), a.context().communicator(), a.context().threads());
      run.matrix += "; B: " + mass->describe();
      problem.b = solvers::SparseOperator<Scalar, Space>(a.context(), a.rows(), *mass);
    }
    const auto diagonal = [&](const auto& matrix) {
      return solvers::diagonal_of<Vector>(a.context(), a.rows(), matrix);
    };
    const Communicator& communicator = a.context().communicator();
    options.traits.has_inverse_b = mass && solvers::is_diagonal(communicator, a.rows(), *mass);
    options.traits.wants_wide_blocks = options.is_on_gpu() || communicator.size() > 1;
    options.traits.rows = a.rows().global_rows();
    options.traits.is_complex = ScalarTraits<Scalar>::is_complex;
    options.lanczos.row_entries =
        static_cast<double>(run.nonzeros) / static_cast<double>(std::max<std::int64_t>(1, run.rows));
    if (options.interval.empty() || options.has_wanted) options.traits.wanted = options.lanczos.wanted;
    options.traits.row_entries = options.lanczos.row_entries;
    options.choose_method();
    if (mass) problem.inverse_b = solvers::inverse_of_diagonal(diagonal(*mass));
    const auto end = options.target ? std::nullopt : std::optional(options.lanczos.which);
    if constexpr (requires { in_single_precision(a, source); }) {
      if (options.wants_single_filter()) problem.a_single = in_single_precision(a, source);
    }
    if (options.preconditioner == "jacobi") {
      problem.precondition = solvers::jacobi_preconditioner(diagonal(source), mass ? diagonal(*mass) : Vector(), end);
    } else if (options.preconditioner == "block-jacobi") {
      problem.precondition = solvers::block_jacobi_preconditioner<Vector>(a.context(), a.rows(), source, mass.get(),
                                                                          options.preconditioner_block, end);
    }
  }
  return solve_and_report(problem, std::move(run), options, reporter);
}

template <class Space, class Source>
int solve_in(const Context& context, const RowDistribution& rows, const Source& source, ProgramOptions& options,
             Reporter& reporter) {
  using Scalar = typename Source::Scalar;
  RunSummary run;
  run.matrix = source.describe();
  run.scalar = scalar_name<Scalar>();
  run.rows = source.size();
  run.device = device_name<Space>();
  const auto begin = std::chrono::steady_clock::now();
  auto a = operator_of<Space>(context, rows, source);
  run.setup_seconds = seconds_since(begin);
  run.nonzeros = a.nonzeros();
  if (options.layout == "column") {
    return solve_pair<BlockVector<Scalar, ColumnMajor, Space>>(a, run, source, options, reporter);
  }
  return solve_pair<BlockVector<Scalar, RowMajor, Space>>(a, run, source, options, reporter);
}

template <class Source>
int run_matrix(const Context& context, const RowDistribution& rows, const Source& source, ProgramOptions& options,
               OutputFiles& files, Reporter& reporter) {
  if (!files.matrix_draft.empty()) {
    OutputFiles::write_together(
        options.write_matrix_file, files.matrix_draft, files.matrix, context.communicator(),
        [&](const std::string& file) { solvers::write_matrix_market(file, rows, source, context.communicator()); });
  }
#if BLOCKVEC_HAVE_CUDA_SPACE
  if (options.is_on_gpu()) return solve_in<Kokkos::CudaSpace>(context, rows, source, options, reporter);
#endif
  return solve_in<Kokkos::HostSpace>(context, rows, source, options, reporter);
}

int run_program(const Context& context, ProgramOptions& options, OutputFiles& files, Reporter& reporter) {
  const Communicator& communicator = context.communicator();
  if (!options.matrix_file.empty()) {
    const auto matrix = solvers::read_matrix(options.matrix_file, communicator, context.threads());
    return std::visit(
        [&](const auto& m) {
          if (m.is_dense) {
            return run_matrix(context, m.rows, DenseSource(*m.source, options.packed), options, files, reporter);
          }
          if (options.packed) {
            throw solvers::InputError(
                fmt::format("{}: --packed is for dense matrices, and this one is sparse", options.matrix_file));
          }
          return run_matrix(context, m.rows, *m.source, options, files, reporter);
        },
        matrix);
  }
  if (options.matrix_free) {
    const SpinChain chain(options.sites, options.up, options.periodic, options.delta);
    const auto rows = RowDistribution::uniform(chain.size(), communicator);
    return run_matrix(context, rows, chain, options, files, reporter);
  }
  const auto problem = make_problem(options);
  return std::visit(
      [&](const auto& source) {
        const auto rows = RowDistribution::uniform(source->size(), communicator);
        return run_matrix(context, rows, *source, options, files, reporter);
      },
      problem);
}

int program(int argc, char** argv, Interruption& interruption) {
  const Communicator communicator = Communicator::world();
  const bool is_first = communicator.rank() == 0;
  ProgramOptions options;
  if (const auto status = parse_command_line(argc, argv, is_first, options)) return *status;
  const Context context(communicator, options.threads, {},
                        options.reproducible ? Summation::reproducible : Summation::fast);
  try {
    OutputFiles files(options, communicator);
    Reporter reporter(options, files, interruption, communicator);
    return run_program(context, options, files, reporter);
  } catch (const solvers::InputError& error) {
    // The same on every rank: one message is enough, and nobody waits.
    if (is_first) print_error(error.what());
    return Reporter::error_status;
  }
}

}  // namespace
}  // namespace blockvec::examples

int main(int argc, char** argv) {
  blockvec::examples::guard_standard_streams();
  blockvec::examples::Interruption interruption;
  // Kokkos would take options such as --threads for its own.
  int no_arguments = 1;
  char* program_name[] = {argv[0], nullptr};
  char** no_argument_list = program_name;
  blockvec::Environment environment(no_arguments, no_argument_list);
  return blockvec::Environment::guard([&] { return blockvec::examples::program(argc, argv, interruption); });
}
