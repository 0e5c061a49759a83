#include "options.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <blockvec/kernels/error.hpp>
#include <blockvec/layout.hpp>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "write_all.hpp"

namespace blockvec::examples {
namespace {

constexpr const char* description =
    "Finds a few eigenpairs at one end of the spectrum of a real symmetric or complex Hermitian matrix, or of a "
    "pair of them, by\n"
    "block eigensolvers on BlockVec's block vectors. Alone or under mpirun. Without any option: the Heisenberg ring of "
    "20 sites.\n"
    "Exit status: 0 converged; 1 not converged, or stopped by SIGINT or SIGTERM (what was found is reported); "
    "2 error, or an output could not be written.";

template <class Space>
constexpr const char* layout_in = std::is_same_v<DefaultLayout<Space>, RowMajor> ? "row" : "column";

std::string default_layout(const ProgramOptions& options) {
#if BLOCKVEC_HAVE_CUDA_SPACE
  if (options.is_on_gpu()) return layout_in<Kokkos::CudaSpace>;
#else
  static_cast<void>(options);
#endif
  return layout_in<Kokkos::HostSpace>;
}

void add_problem_options(CLI::App& app, ProgramOptions& options) {
  const std::string group = "Matrix";
  app.add_option("--problem", options.problem,
                 "laplacian: --grid of 1 to 3 lengths, Dirichlet, 2d on the diagonal and -1 beside it. "
                 "heisenberg: --sites spins 1/2, --up of them up, J = 1. "
                 "anderson: --grid of 3 lengths, periodic, hopping -1, --disorder. "
                 "graphene: --grid of 2 numbers of cells, periodic, hopping -1, --flux")
      ->check(CLI::IsMember({"laplacian", "heisenberg", "anderson", "graphene"}))
      ->group(group);
  app.add_option(
         "--matrix", options.matrix_file,
         "file to be read instead, Hermitian: Matrix Market, coordinate or array, plain or gzipped; or, told by its "
         "content, a sparse matrix in PETSc's binary format or a dense one in NumPy's format .npy. Dense matrices are "
         "stored with their zeros")
      ->group(group);
  app.add_flag("--packed", options.packed,
               "of a dense --matrix, store one triangle of each rank's own rows and columns: half the memory (off)")
      ->group(group);
  app.add_option("--mass", options.mass_file,
                 "file with B, positive definite, for A x = theta B x: read as --matrix, with as many rows")
      ->group(group);
  app.add_option("--grid", options.grid,
                 "lengths (default: 40 40 40 for laplacian, 20 20 20 for anderson, 60 60 for graphene)")
      ->expected(1, 3)
      ->default_str("")
      ->group(group);
  app.add_option("--sites", options.sites, "heisenberg: spins")->group(group);
  app.add_option("--up", options.up, "heisenberg: spins that point up (default: half of them)")
      ->group(group)
      ->default_str("");
  app.add_flag("--periodic", options.periodic, "heisenberg: a ring instead of an open chain (off)")->group(group);
  app.add_option("--delta", options.delta,
                 "heisenberg: anisotropy, H = sum SxSx + SySy + delta SzSz; 0 is the XX chain")
      ->group(group);
  app.add_flag("--matrix-free", options.matrix_free,
               "heisenberg: no matrix is stored, products write it down anew; on one rank (off)")
      ->group(group);
  app.add_option("--disorder", options.disorder, "anderson: site energies are uniform in [-W/2, W/2]")->group(group);
  app.add_option("--flux", options.flux, "graphene: p and q, p/q flux quanta a hexagon (none)")
      ->expected(2)
      ->group(group);
  app.add_option("--write-matrix", options.write_matrix_file, "write the matrix in Matrix Market format to this file")
      ->group(group);
}

/// Options of some problems only, and these problems.
constexpr struct {
  const char* option;
  std::array<std::string_view, 3> problems;
} owned_options[] = {
    {"--grid", {"laplacian", "anderson", "graphene"}},
    {"--sites", {"heisenberg"}},
    {"--up", {"heisenberg"}},
    {"--periodic", {"heisenberg"}},
    {"--delta", {"heisenberg"}},
    {"--matrix-free", {"heisenberg"}},
    {"--disorder", {"anderson"}},
    {"--flux", {"graphene"}},
};

/// Throws where an option is given that means nothing beside the others.
void check_combinations(const CLI::App& app, const ProgramOptions& options) {
  if (options.is_on_gpu() && !BLOCKVEC_HAVE_CUDA_SPACE)
    throw CLI::ValidationError(
        "--device gpu needs a Kokkos that was built with CUDA (docs/gpu.md); this build has none");
  const bool reads_file = app.count("--matrix") > 0;
  if (reads_file && app.count("--problem") > 0) throw CLI::ValidationError("--problem and --matrix exclude each other");
  for (const auto& [option, problems] : owned_options) {
    if (app.count(option) == 0) continue;
    if (reads_file)
      throw CLI::ValidationError(fmt::format("{} and --matrix exclude each other: the file holds the matrix", option));
    if (std::find(problems.begin(), problems.end(), options.problem) == problems.end()) {
      const std::string_view chosen = app.count("--problem") > 0 ? "" : ", the default";
      throw CLI::ValidationError(fmt::format("{} is no option of --problem {}{}", option, options.problem, chosen));
    }
  }
}

/// Methods that go on from block to block.
constexpr std::array<std::string_view, 6> searches{"lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior"};

/// Options of some methods only, and these methods.
constexpr struct {
  const char* option;
  std::array<std::string_view, 6> methods;
} method_options[] = {{"--target", {"interior", "jacobi-davidson", "dense"}},
                      {"--interval", {"interior", "dense"}},
                      {"--which", {"lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "dense"}},
                      {"--block", {"lanczos", "jacobi-davidson", "interior"}},
                      {"--basis", {"lanczos", "jacobi-davidson", "interior"}},
                      {"--filter", {"lanczos"}},
                      {"--max-restarts", {"lanczos", "interior"}},
                      {"--mass", {"lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior", "dense"}},
                      {"--preconditioner", {"lobpcg", "jacobi-davidson"}},
                      {"--guard", {"lobpcg"}},
                      {"--filter-precision", {"chebyshev"}},
                      {"--max-iterations", {"lobpcg", "jacobi-davidson", "chebyshev"}},
                      {"--orth", searches},
                      {"--no-escalation", searches},
                      {"--checkpoint", searches},
                      {"--restart", searches}};

template <class Methods>
bool takes(const Methods& methods, std::string_view method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

/// Takes block-jacobi:SIZE apart. Throws where it is no preconditioner.
void read_preconditioner(ProgramOptions& options) {
  constexpr std::array<std::string_view, 4> names{"none", "jacobi", "block-jacobi", "chebyshev"};
  const std::string given = options.preconditioner;
  const auto colon = std::min(given.find(':'), given.size());
  options.preconditioner = given.substr(0, colon);
  bool is_known = std::find(names.begin(), names.end(), options.preconditioner) != names.end();
  if (is_known && colon < given.size()) {
    const char* const end = given.data() + given.size();
    std::int64_t& size = options.preconditioner_block;
    const auto [stop, error] = std::from_chars(given.data() + colon + 1, end, size);
    is_known =
        options.preconditioner == "block-jacobi" && error == std::errc() && stop == end && size >= 1 && size <= 1024;
  }
  if (is_known) return;
  throw CLI::ValidationError(fmt::format(
      "--preconditioner takes none, jacobi, block-jacobi[:SIZE] with 1 to 1024 rows, or chebyshev, not {}", given));
}

/// Of --method auto: what is known so far, and the methods that take all options that are given. Throws where none
/// does.
void read_allowed_methods(const CLI::App& app, ProgramOptions& options) {
  using solvers::Method;
  options.traits.is_inside = app.count("--target") + app.count("--interval") > 0;
  options.traits.has_b = !options.mass_file.empty();
  options.traits.has_preconditioner = options.preconditioner != "none";
  std::vector<Method> methods{Method::lanczos, Method::lobpcg, Method::jacobi_davidson, Method::chebyshev};
  if (options.traits.is_inside) methods = {Method::interior};
  if (options.target && app.count("--which") == 0) methods.push_back(Method::jacobi_davidson);
  if (!options.traits.is_inside || app.count("--which") == 0) methods.push_back(Method::dense);
  for (const Method method : methods) {
    const bool takes_all = std::all_of(std::begin(method_options), std::end(method_options), [&](const auto& one) {
      return app.count(one.option) == 0 || takes(one.methods, solvers::name_of(method));
    });
    if (takes_all) options.allowed_methods.push_back(method);
  }
  if (options.allowed_methods.empty()) {  // the first of them that takes the first option says why the others do not
    options.allowed_methods = {solvers::choose_method(options.traits, methods).method};
  }
}

/// Checks what is given beside the method, or chooses one. Throws where options of another method are given.
void check_method(const CLI::App& app, ProgramOptions& options) {
  read_preconditioner(options);
  if (options.method == "auto") {
    read_allowed_methods(app, options);
    options.choose_method();
  }
  for (const auto& [option, methods] : method_options) {
    if (app.count(option) > 0 && !takes(methods, options.method)) {
      throw CLI::ValidationError(fmt::format("{} is no option of --method {}{}", option, options.method,
                                             options.method_reason.empty() ? "" : ", since " + options.method_reason));
    }
  }
  if (options.method == "interior" && (app.count("--target") > 0) == (app.count("--interval") > 0))
    throw CLI::ValidationError("--method interior takes one of --target and --interval");
  if (options.target && !options.interval.empty())
    throw CLI::ValidationError("--target and --interval exclude each other");
  if (options.target && app.count("--which") > 0) throw CLI::ValidationError("--target and --which exclude each other");
  if (!options.interval.empty() && app.count("--which") > 0)
    throw CLI::ValidationError("--interval and --which exclude each other");
  if (options.target && options.preconditioner == "chebyshev")
    throw CLI::ValidationError("--preconditioner chebyshev helps at an end of the spectrum, not near --target");
  if (options.interval.size() == 2 && !(options.interval[0] < options.interval[1]))
    throw CLI::ValidationError("--interval takes its lower end and then its upper one");
  options.has_wanted = app.count("--nev") > 0;
  if (options.preconditioner == "chebyshev" && !options.mass_file.empty())
    throw CLI::ValidationError("--preconditioner chebyshev is for one matrix, not for --mass: use jacobi");
  if (options.preconditioner.ends_with("jacobi") && options.matrix_free) {
    throw CLI::ValidationError(fmt::format(
        "--preconditioner {} needs a stored matrix: use chebyshev, or no --matrix-free", options.preconditioner));
  }
  if (options.wants_single_filter() && options.matrix_free)
    throw CLI::ValidationError("--filter-precision single needs a stored matrix: leave --matrix-free out");
  if (options.packed && options.matrix_file.empty())
    throw CLI::ValidationError("--packed is for a dense matrix from a file: add --matrix");
  if (!options.mass_file.empty() && options.matrix_free)
    throw CLI::ValidationError("--mass needs a stored matrix: leave --matrix-free out");
}

void add_solver_options(CLI::App& app, ProgramOptions& options) {
  const std::string group = "Solver";
  solvers::LanczosOptions& lanczos = options.lanczos;
  app.add_option("--method", options.method,
                 "lanczos: thick-restart block Lanczos with a Chebyshev filter. lobpcg, jacobi-davidson: take "
                 "--preconditioner. chebyshev: filtered subspaces, for many pairs. interior: Lanczos with a filter "
                 "around --target or --interval. dense: the whole spectrum of a small matrix, by LAPACK. All take "
                 "--mass. auto: by the problem, among those that take the options that "
                 "are given")
      ->check(CLI::IsMember({"auto", "lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "interior", "dense"}))
      ->group(group);
  app.add_option("--preconditioner", options.preconditioner,
                 "lobpcg, jacobi-davidson: none; jacobi: the diagonals of A and B; block-jacobi[:SIZE]: their diagonal "
                 "blocks of SIZE rows (16); chebyshev: a polynomial in A")
      ->group(group);
  app.add_option("--nev", lanczos.wanted, "eigenpairs wanted; with --interval the most that there is room for")
      ->group(group);
  app.add_option("--target", options.target, "interior, jacobi-davidson, dense: the pairs nearest to this eigenvalue")
      ->default_str("")
      ->group(group);
  app.add_option("--interval", options.interval, "interior, dense: all pairs from this eigenvalue to that")
      ->expected(2)
      ->group(group);
  app.add_option("--which", lanczos.which, "end of the spectrum, algebraically: smallest or largest")
      ->transform(CLI::CheckedTransformer(std::map<std::string, solvers::Which>{{"smallest", solvers::Which::smallest},
                                                                                {"largest", solvers::Which::largest}})
                      .description("smallest|largest"))
      ->default_str("smallest")
      ->group(group);
  app.add_option(
         "--tol", lanczos.tolerance,
         "converged: ||A x - theta x|| <= tol * (estimate of ||A||); with --mass the backward error is at most tol")
      ->group(group);
  app.add_option("--block", lanczos.block,
                 "columns of a Krylov block (default: 4); of jacobi-davidson (2; near --target, and with --mass for 4 "
                 "pairs or more, 4)")
      ->group(group)
      ->default_str("");
  app.add_option("--basis", lanczos.basis,
                 "most columns of the basis (default: 2 nev + 12 block; interior: 4 nev + 24 block; jacobi-davidson: "
                 "nev + 7 block + 2, at least 10)")
      ->group(group)
      ->default_str("");
  app.add_option("--filter", lanczos.filter_degree,
                 "lanczos: degree of the Chebyshev filter; 0: none, -1: chosen from the spectrum as it becomes known")
      ->group(group);
  app.add_option("--orth", options.orth, "orthogonalisation, between blocks / within: " + orth::known_methods())
      ->group(group);
  app.add_flag("!--no-escalation", lanczos.orth.escalate,
               "do what --orth says even where it shows that this does not do (off)")
      ->group(group);
  app.add_option("--max-restarts", lanczos.max_restarts, "lanczos, interior: give up after so many restarts")
      ->group(group);
  app.add_option("--guard", options.guard, "lobpcg: columns beside the wanted ones (default: max(4, nev / 10))")
      ->check(CLI::NonNegativeNumber)
      ->default_str("")
      ->group(group);
  app.add_option(
         "--filter-precision", options.filter_precision,
         "chebyshev: double, or single: filters apply A in single precision to residuals, so that the result is "
         "as accurate; the matrix is stored twice")
      ->check(CLI::IsMember({"double", "single"}))
      ->group(group);
  app.add_option("--max-iterations", options.max_iterations, "give up after so many iterations (not lanczos)")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_option("--seed", lanczos.seed, "of the starting vectors and of the disorder")->group(group);
  app.add_option(
         "--device", options.device,
         "where matrix and vectors are: cpu, or gpu where Kokkos was built with CUDA, which is the default then")
      ->check(CLI::IsMember({"cpu", "gpu"}))
      ->group(group);
  app.add_option("--layout", options.layout,
                 "of the block vectors: row or column major (default: column on a cpu, row on a gpu)")
      ->check(CLI::IsMember({"row", "column"}))
      ->default_str("")
      ->group(group);
  app.add_option("--threads", options.threads,
                 "of each rank; 0: OMP_NUM_THREADS, else the cores divided by the ranks on them")
      ->check(CLI::NonNegativeNumber)
      ->group(group);
  app.add_flag("--reproducible", options.reproducible,
               "the same bits for any number of ranks and threads; a little slower (off)")
      ->group(group);
}

void add_checkpoint_options(CLI::App& app, ProgramOptions& options) {
  const std::string group = "Long runs (docs/checkpoints.md)";
  solvers::CheckpointOptions& checkpoint = options.lanczos.checkpoint;
  CLI::Option* file = app.add_option("--checkpoint", checkpoint.file,
                                     "save the run to this file now and then, and where SIGINT or SIGTERM ends it")
                          ->group(group);
  app.add_option_function<double>(
         "--checkpoint-every",
         [&](double minutes) {
           if (!(minutes >= 0)) throw CLI::ValidationError("--checkpoint-every", "expected 0 minutes or more");
           checkpoint.seconds = 60 * minutes;
         },
         "minutes from one checkpoint to the next; 0: after every block or iteration")
      ->default_str("10")
      ->needs(file)
      ->group(group);
  app.add_option("--restart", checkpoint.restart,
                 "go on from this checkpoint: same matrix, same solver options, as many ranks as before")
      ->group(group);
}

void add_output_options(CLI::App& app, ProgramOptions& options) {
  const std::string group = "Output";
  app.add_option("--json", options.json_file, "write everything that was found and measured to this file")
      ->group(group);
  app.add_option("--plot", options.plot_file,
                 "plot the residual history to this .png file (needs python3 with matplotlib)")
      ->group(group);
  app.add_option("--vectors", options.vectors_file, "write the eigenvectors to this file: Matrix Market array")
      ->group(group);
  app.add_flag("--quiet", options.quiet, "print errors only (off)")->group(group);
}

}  // namespace

void ProgramOptions::choose_method() {
  if (allowed_methods.empty()) return;
  const solvers::MethodChoice choice = solvers::choose_method(traits, allowed_methods);
  method = solvers::name_of(choice.method);
  method_reason = choice.reason;
  most_applications = choice.most_applications;
}

std::optional<int> parse_command_line(int argc, char** argv, bool print, ProgramOptions& options) {
  CLI::App app(description, "eigensolve");
  app.option_defaults()->always_capture_default();
  app.get_formatter()->column_width(28);
  add_problem_options(app, options);
  add_solver_options(app, options);
  add_checkpoint_options(app, options);
  add_output_options(app, options);
  try {
    app.parse(argc, argv);
    check_combinations(app, options);
    check_method(app, options);
    const bool escalate = options.lanczos.orth.escalate;
    options.lanczos.orth = orth::parse_options(options.orth);
    options.lanczos.orth.escalate = escalate;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    const bool is_help = app.exit(error, out, out) == 0;
    const std::string text = out.str();
    if (print && !is_help) print_error(text.substr(0, text.find_last_not_of('\n') + 1));
    const bool is_printed = !print || !is_help || write_all(STDOUT_FILENO, text) == 0;
    return is_help && is_printed ? 0 : 2;
  } catch (const Error& error) {
    if (print) print_error(fmt::format("--orth: {}", error.what()));
    return 2;
  } catch (const std::out_of_range&) {  // CLI11 lets this one out
    if (print) print_error("a flag was given a number that 64 bits do not hold; it takes true or false");
    return 2;
  }
  options.has_block = app.count("--block") > 0;
  if (!options.has_block) options.lanczos.block = solvers::default_block;
  if (options.layout.empty()) options.layout = default_layout(options);
  if (argc == 1) options.periodic = true;
  if (app.count("--up") == 0) options.up = options.sites / 2;
  return std::nullopt;
}

}  // namespace blockvec::examples
