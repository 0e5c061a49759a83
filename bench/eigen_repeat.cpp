// The seconds of one eigenproblem, solved several times in one process: the first run loads kernels and warms memory.
//
//   eigen_repeat RUNS MATRIX_FILE [options of eigensolve]
//
// Prints one line of JSON with the medians of all runs but the first. MATRIX_FILE, unless "-", gets the matrix for
// peers: a line of JSON (rows, nonzeros, type), then row_begin as 64-bit, columns as 32-bit integers, values.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "problems/make_problem.hpp"

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

template <class Scalar, class Layout, class Space>
void solve(const Context& context, const solvers::RowSource<Scalar>& source, const examples::ProgramOptions& options,
           int runs) {
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  solvers::SparseOperator<Scalar, Space> a(context, rows, source);
  nlohmann::json line;
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    context.fence<Space>();
    const auto begin = std::chrono::steady_clock::now();
    const std::int64_t waits = context.waits();
    const auto result = solvers::block_lanczos<BlockVector<Scalar, Layout, Space>>({a}, options.lanczos);
    context.fence<Space>();
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
    if (run == 0) {
      line["seconds_first"] = whole.count();
    } else {
      seconds.push_back(whole.count());
    }
    line["eigenvalues"] = result.eigenvalues;
    line["residual"] = *std::max_element(result.residual_norms.begin(), result.residual_norms.end());
    line["converged"] = result.converged();
    line["norm"] = result.norm_estimate;
    line["applications"] = result.applications;
    line["reductions"] = result.reductions;
    line["filter_degree"] = result.filter_degree;
    line["blocks"] = result.history.size();
    line["waits"] = context.waits() - waits;
  }
  std::sort(seconds.begin(), seconds.end());
  line["seconds"] = seconds[seconds.size() / 2];
  line["block"] = options.lanczos.block;
  std::printf("%s\n", line.dump().c_str());
}

template <class Scalar>
void solve(const Context& context, const solvers::RowSource<Scalar>& source, const examples::ProgramOptions& options,
           int runs) {
  const bool by_rows = options.layout == "row";
#if BLOCKVEC_HAVE_CUDA_SPACE
  if (options.is_on_gpu()) {
    return by_rows ? solve<Scalar, RowMajor, Kokkos::CudaSpace>(context, source, options, runs)
                   : solve<Scalar, ColumnMajor, Kokkos::CudaSpace>(context, source, options, runs);
  }
#endif
  return by_rows ? solve<Scalar, RowMajor, Kokkos::HostSpace>(context, source, options, runs)
                 : solve<Scalar, ColumnMajor, Kokkos::HostSpace>(context, source, options, runs);
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
  int none = 1;
  const Environment environment(none, argv);
  return Environment::guard([&] {
    const Context context = Context::self(options.threads);
    std::visit(
        [&](const auto& source) {
          if (matrix_file != "-") write_for_peers(matrix_file, *source);
          solve(context, *source, options, runs);
        },
        examples::make_problem(options));
    return 0;
  });
}
