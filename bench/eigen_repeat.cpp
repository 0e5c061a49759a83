// The seconds of one eigenproblem, solved several times in one process: the first run loads kernels and warms memory.
//
//   eigen_repeat RUNS MATRIX_FILE [options of eigensolve]
//
// Prints one line of JSON with the median seconds of all runs but the first, and what the last one came to.
// MATRIX_FILE, unless "-", gets the matrix for peers: a line of JSON (rows, nonzeros, type), then row_begin as 64-bit,
// columns as 32-bit integers, values.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "options.hpp"
#include "problems/make_problem.hpp"
#include "problems/spin_chain_operator.hpp"
#include "solve_and_report.hpp"

namespace {

using namespace blockvec;

template <class Scalar>
void write_for_peers(const std::string& name, const solvers::RowSource<Scalar>& source) {
  std::vector<std::int64_t> row_begin{0};
  std::vector<std::int32_t> columns;
  std::vector<Scalar> values;
  solvers::RowEntries<Scalar> entries;
  for (std::int64_t row = 0; row < source.size(); ++row) {
    entries.clear();
    source.append_row(row, entries);
    columns.insert(columns.end(), entries.columns.begin(), entries.columns.end());
    values.insert(values.end(), entries.values.begin(), entries.values.end());
    row_begin.push_back(std::ssize(columns));
  }
  std::ofstream file(name, std::ios::binary);
  const nlohmann::json header = {
      {"rows", source.size()}, {"nonzeros", columns.size()}, {"type", scalar_name<Scalar>()}};
  file << header.dump() << '\n';
  const auto put = [&file](const auto& array) {
    file.write(reinterpret_cast<const char*>(array.data()),
               static_cast<std::streamsize>(array.size() * sizeof(array[0])));
  };
  put(row_begin);
  put(columns);
  put(values);
}

template <class Vector, class Operator>
void solve(const Context& context, Operator a, const solvers::RowSource<typename Vector::Scalar>& source,
           const examples::ProgramOptions& options, int runs) {
  using Space = typename Vector::Space;
  solvers::Problem<Vector> problem{a};
  if constexpr (requires { examples::in_single_precision(a, source); }) {
    if (options.wants_single_filter()) problem.a_single = examples::in_single_precision(a, source);
  }
  nlohmann::json line;
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    context.fence<Space>();
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t waits = context.waits();
    const auto result = examples::solve<Vector>(problem, options, "", {});
    context.fence<Space>();
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
    if (run == 0) {
      line["seconds_first"] = whole.count();
    } else {
      seconds.push_back(whole.count());
    }
    line["eigenvalues"] = result.eigenvalues;
    line["residuals"] = result.residual_norms;
    line["converged"] = result.converged();
    line["stopped"] = result.why;
    line["seconds_of_search"] = result.seconds;
    line["norm"] = result.norm_estimate;
    line["applications"] = result.applications;
    line["applications_single"] = result.applications_single;
    line["reductions"] = result.reductions;
    line["filter_degree"] = result.filter_degree;
    line["waits"] = context.waits() - waits;
  }
  std::sort(seconds.begin(), seconds.end());
  line["seconds"] = seconds[seconds.size() / 2];
  std::printf("%s\n", line.dump().c_str());
}

template <class Space, class Scalar>
void solve_in(const Context& context, const solvers::RowSource<Scalar>& source, const examples::ProgramOptions& options,
              int runs) {
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  const auto with_layout = [&](auto a) {
    if (options.layout == "row")
      return solve<BlockVector<Scalar, RowMajor, Space>>(context, std::move(a), source, options, runs);
    return solve<BlockVector<Scalar, ColumnMajor, Space>>(context, std::move(a), source, options, runs);
  };
  if constexpr (std::is_same_v<Scalar, double>) {
    if (options.matrix_free) {
      return with_layout(
          examples::SpinChainOperator<Space>(context, rows, dynamic_cast<const examples::SpinChain&>(source)));
    }
  }
  with_layout(solvers::SparseOperator<Scalar, Space>(context, rows, source));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RUNS MATRIX_FILE [options of eigensolve]\n", argv[0]);
    return 2;
  }
  const int runs = std::max(2, std::atoi(argv[1]));
  const std::string matrix_file = argv[2];
  examples::ProgramOptions options;
  if (const auto status = examples::parse_command_line(argc - 2, argv + 2, true, options)) return *status;
  if (!options.matrix_file.empty() || !options.mass_file.empty()) {
    std::fprintf(stderr, "error: %s takes a --problem, no --matrix and no --mass\n", argv[0]);
    return 2;
  }
  int none = 1;
  const Environment environment(none, argv);
  return Environment::guard([&] {
    const Context context = Context::self(options.threads);
    std::visit(
        [&](const auto& source) {
          if (matrix_file != "-") write_for_peers(matrix_file, *source);
#if BLOCKVEC_HAVE_CUDA_SPACE
          if (options.is_on_gpu()) return solve_in<Kokkos::CudaSpace>(context, *source, options, runs);
#endif
          solve_in<Kokkos::HostSpace>(context, *source, options, runs);
        },
        examples::make_problem(options));
    return 0;
  });
}
