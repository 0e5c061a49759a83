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
#include <thread>

#include "input_error.hpp"
#include "report.hpp"

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

nlohmann::json operations_json(const Context& context) {
  const MachineBandwidth& machine = context.bandwidth();
  nlohmann::json list = nlohmann::json::array();
  for (const OperationRecord& record : context.profile().records()) {
    const double rate = record.seconds > 0 ? record.bytes / record.seconds : 0;
    list.push_back({{"name", record.name},
                    {"calls", record.calls},
                    {"seconds", record.seconds},
                    {"bytes", record.bytes},
                    {"flops", record.flops},
                    {"bytes_per_second", rate},
                    {"share_of_read_bandwidth", machine.read > 0 ? rate / machine.read : 0}});
  }
  return list;
}

nlohmann::json options_json(const ProgramOptions& options) {
  const LanczosOptions& lanczos = options.lanczos;
  return {{"problem", options.matrix_file.empty() ? options.problem : ""},
          {"matrix", options.matrix_file},
          {"grid", options.grid},
          {"sites", options.sites},
          {"up", options.up},
          {"periodic", options.periodic},
          {"delta", options.delta},
          {"disorder", options.disorder},
          {"flux", options.flux},
          {"nev", lanczos.wanted},
          {"block", lanczos.block},
          {"basis", lanczos.basis},
          {"tol", lanczos.tolerance},
          {"which", lanczos.which == Which::smallest ? "smallest" : "largest"},
          {"filter", lanczos.filter_degree},
          {"orth", options.orth},
          {"escalate", lanczos.orth.escalate},
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

nlohmann::json history_json(const std::vector<LanczosStep>& history) {
  nlohmann::json list = nlohmann::json::array();
  for (const LanczosStep& step : history) {
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

}  // namespace

nlohmann::json to_json(const RunSummary& run, const ProgramOptions& options, const Context& context) {
  return {
      {"matrix", {{"description", run.matrix}, {"rows", run.rows}, {"nonzeros", run.nonzeros}, {"scalar", run.scalar}}},
      {"eigenvalues", run.eigenvalues},
      {"residual_norms", run.residual_norms},
      {"residual_estimates", run.residual_estimates},
      {"converged", run.converged},
      {"stopped", run.stopped},
      {"orthogonalisation", orthogonalisation_json(context.history())},
      {"orthogonality_loss", run.orthogonality_loss},
      {"norm_estimate", run.norm_estimate},
      {"reductions", run.reductions},
      {"restarts", run.restarts},
      {"random_starts", run.starts},
      {"applications", run.applications},
      {"filter_degree", run.filter_degree},
      {"seconds", run.seconds},
      {"seconds_setup", run.setup_seconds},
      {"ranks", context.communicator().size()},
      {"threads", context.threads()},
      {"operations", operations_json(context)},
      {"machine",
       {{"processor", processor_name()},
        {"cores", std::thread::hardware_concurrency()},
        {"read_bytes_per_second", context.bandwidth().read},
        {"copy_bytes_per_second", context.bandwidth().copy}}},
      {"versions",
       {{"blockvec", fmt::format("{}.{}.{}", BLOCKVEC_VERSION_MAJOR, BLOCKVEC_VERSION_MINOR, BLOCKVEC_VERSION_PATCH)},
        {"kokkos", fmt::format("{}.{}.{}", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100)},
        {"compiler", __VERSION__}}},
      {"options", options_json(options)},
      {"history", history_json(run.history)}};
}

void write_json(const std::string& path, const nlohmann::json& json) {
  std::error_code status;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, status);
  errno = 0;
  std::ofstream file(path);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

bool plot_history(const std::string& json_file, const std::string& plot_file) {
  std::error_code status;
  const auto folder = std::filesystem::path(plot_file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, status);
  // The first python3 on the path may be one that lacks matplotlib.
  constexpr const char* script =
      "for python in python3 /usr/bin/python3; do "
      "if \"$python\" -c 'import matplotlib' 2>/dev/null; then exec \"$python\" \"$@\"; fi; done; exit 127";
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", script, "sh", BLOCKVEC_PLOT_SCRIPT, json_file.c_str(), plot_file.c_str(),
          static_cast<char*>(nullptr));
    _exit(127);
  }
  int result = -1;
  if (child > 0) waitpid(child, &result, 0);
  if (child > 0 && WIFEXITED(result) && WEXITSTATUS(result) == 0) return true;
  fmt::print(
      stderr,
      "{}: not plotted; python3 with matplotlib is needed (Debian: python3-matplotlib). Afterwards: python3 {} {} {}\n",
      plot_file, BLOCKVEC_PLOT_SCRIPT, json_file, plot_file);
  return false;
}

}  // namespace blockvec::examples
