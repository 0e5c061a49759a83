#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Kokkos_Core.hpp>
#include <blockvec/context.hpp>
#include <blockvec/version.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "report.hpp"
#include "write_all.hpp"

namespace blockvec::examples {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

nlohmann::json operations_json(const Context& context, bool compare) {
  nlohmann::json list = nlohmann::json::array();
  for (const OperationRecord& record : context.profile().records()) {
    const double rate = record.seconds > 0 ? record.bytes / record.seconds : 0;
    list.push_back({{"name", record.name},
                    {"calls", record.calls},
                    {"seconds", record.seconds},
                    {"bytes", record.bytes},
                    {"flops", record.flops},
                    {"bytes_per_second", rate}});
    if (compare) list.back()["share_of_read_bandwidth"] = rate / context.bandwidth().read;
  }
  return list;
}

nlohmann::json options_json(const ProgramOptions& options) {
  const solvers::LanczosOptions& lanczos = options.lanczos;
  return {{"problem", options.matrix_file.empty() ? options.problem : ""},
          {"matrix", options.matrix_file},
          {"packed", options.packed},
          {"grid", options.grid},
          {"sites", options.sites},
          {"up", options.up},
          {"periodic", options.periodic},
          {"delta", options.delta},
          {"disorder", options.disorder},
          {"flux", options.flux},
          {"mass", options.mass_file},
          {"method", options.method},
          {"method_reason", options.method_reason},
          {"preconditioner", options.preconditioner},
          {"guard", options.guard},
          {"max_iterations", options.max_iterations},
          {"nev", lanczos.wanted},
          {"block", lanczos.block},
          {"basis", lanczos.basis},
          {"tol", lanczos.tolerance},
          {"which", lanczos.which == solvers::Which::smallest ? "smallest" : "largest"},
          {"filter", lanczos.filter_degree},
          {"orth", options.orth},
          {"escalate", lanczos.orth.escalate},
          {"device", options.device},
          {"layout", options.layout},
          {"reproducible", options.reproducible},
          {"seed", lanczos.seed},
          {"max_restarts", lanczos.max_restarts}};
}

nlohmann::json orthogonalisation_json(const History& history) {
  nlohmann::json reasons = nlohmann::json::object();
  for (const HistoryEntry& entry : history.entries()) {
    if (!entry.reason.empty()) reasons[std::string(entry.reason)] = history.count(entry.reason);
  }
  return {{"calls", history.count()}, {"as_asked", history.count("")}, {"otherwise", reasons}};
}

nlohmann::json history_json(const std::vector<solvers::Step>& history) {
  nlohmann::json list = nlohmann::json::array();
  for (const solvers::Step& step : history) {
    list.push_back({{"restart", step.restart},
                    {"converged", step.converged},
                    {"seconds", step.seconds},
                    {"reductions", step.reductions},
                    {"applications", step.applications},
                    {"filter_degree", step.filter_degree},
                    {"residuals", step.residuals}});
  }
  return list;
}

// The script that draws: beside the program where that is installed, else in the source tree.
std::string plot_script() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto installed = program.parent_path() / BLOCKVEC_INSTALLED_PLOT_SCRIPT;
  return std::filesystem::exists(installed, error) ? installed.string() : BLOCKVEC_PLOT_SCRIPT;
}

}  // namespace

nlohmann::json to_json(const RunSummary& run, const ProgramOptions& options) {
  return {
      {"matrix", {{"description", run.matrix}, {"rows", run.rows}, {"nonzeros", run.nonzeros}, {"scalar", run.scalar}}},
      {"eigenvalues", run.eigenvalues},
      {"residual_norms", run.residual_norms},
      {"residual_estimates", run.residual_estimates},
      {"backward_errors", run.backward_errors},
      {"converged", run.converged},
      {"last_level_cut", run.last_level_cut},
      {"finished", run.is_finished},
      {"stopped", run.stopped},
      {"orthogonality_loss", run.orthogonality_loss},
      {"norm_estimate", run.norm_estimate},
      {"reductions", run.reductions},
      {"restarts", run.restarts},
      {"random_starts", run.starts},
      {"applications", run.applications},
      {"applications_single", run.applications_single},
      {"applications_b", run.applications_b},
      {"preconditionings", run.preconditionings},
      {"filter_degree", run.filter_degree},
      {"seconds", run.seconds},
      {"seconds_setup", run.setup_seconds},
      {"ranks", run.ranks},
      {"threads", run.threads},
      {"machine",
       {{"processor", processor_name()}, {"cores", std::thread::hardware_concurrency()}, {"device", run.device}}},
      {"versions",
       {{"blockvec", fmt::format("{}.{}.{}", BLOCKVEC_VERSION_MAJOR, BLOCKVEC_VERSION_MINOR, BLOCKVEC_VERSION_PATCH)},
        {"kokkos", fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100)},
        {"compiler", __VERSION__}}},
      {"options", options_json(options)},
      {"history", history_json(run.history)}};
}

void add_measurements(nlohmann::json& json, const Context& context, bool compare) {
  json["orthogonalisation"] = orthogonalisation_json(context.history());
  json["operations"] = operations_json(context, compare);
  if (!compare) return;
  json["machine"]["read_bytes_per_second"] = context.bandwidth().read;
  json["machine"]["copy_bytes_per_second"] = context.bandwidth().copy;
}

std::string json_text(const nlohmann::json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string plot_history(const std::string& json, const std::string& plot_file) {
  // The first python3 on the path may be one that lacks matplotlib.
  constexpr const char* script =
      "for python in python3 /usr/bin/python3; do "
      "if \"$python\" -c 'import matplotlib' 2>/dev/null; then exec \"$python\" \"$@\"; fi; done; exit 127";
  const std::string drawer = plot_script();
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return std::strerror(errno);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[0], STDIN_FILENO);
    execl("/bin/sh", "sh", "-c", script, "sh", drawer.c_str(), "-", plot_file.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  const int error = child < 0 ? errno : 0;
  close(pipe_ends[0]);
  if (child > 0) write_all(pipe_ends[1], json);
  close(pipe_ends[1]);
  if (child < 0) return std::strerror(error);
  int result = -1;
  while (waitpid(child, &result, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(result) && WEXITSTATUS(result) == 0) return "";
  if (WIFEXITED(result) && WEXITSTATUS(result) == 127)
    return "python3 with matplotlib is needed (Debian: python3-matplotlib)";
  return fmt::format("{} failed", drawer);
}

}  // namespace blockvec::examples
