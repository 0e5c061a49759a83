// The lowest eigenpairs of the Heisenberg ring, matrix-free, in as little memory as the solver needs: how long a chain
// does one device hold, and how long does it take? The ground state is compared with the Bethe ansatz.
//   largest_chain sites=32 wanted=1 block=1 basis=10 filter=-1 tolerance=1e-8 space=device|host
// One column of 32 sites takes 4.8 GB; the solver holds basis + 4 block + 2 wanted of them.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "bench/settings.hpp"
#include "problems/bethe_ansatz.hpp"
#include "problems/spin_chain_operator.hpp"

#if BLOCKVEC_HAVE_CUDA_SPACE
#include <cuda_runtime.h>
#else
#include <sys/resource.h>
#endif

namespace {

using namespace blockvec;
using Settings = std::map<std::string, std::string>;

/// Bytes of the device, or of the process, that are in use or have been.
double used_bytes() {
#if BLOCKVEC_HAVE_CUDA_SPACE
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
  return static_cast<double>(total - free);
#else
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
#endif
}

template <class Space>
int solve(const Settings& settings) {
  using Vector = BlockVector<double, RowMajor, Space>;
  const int sites = std::stoi(settings.at("sites"));
  const examples::SpinChain chain(sites, sites / 2, true, 1);
  const Context context = Context::self();
  const auto rows = RowDistribution::uniform(chain.size(), context.communicator());
  const examples::SpinChainOperator<Space> a(context, rows, chain);
  std::printf("%s: %lld rows, %lld nonzeros that are not stored, %.3f GB a column, %.2f GB in use before\n",
              chain.describe().c_str(), static_cast<long long>(chain.size()), static_cast<long long>(a.nonzeros()),
              8e-9 * static_cast<double>(chain.size()), 1e-9 * used_bytes());

  solvers::LanczosOptions options;
  options.wanted = std::stoll(settings.at("wanted"));
  options.block = std::stoll(settings.at("block"));
  options.basis = std::stoll(settings.at("basis"));
  options.filter_degree = std::stoi(settings.at("filter"));
  options.tolerance = std::stod(settings.at("tolerance"));
  double most_used = 0;
  const auto observer = [&](const solvers::Step& step) {
    most_used = std::max(most_used, used_bytes());
    std::printf("%8.2f s  restart %lld  %lld columns of H  filter %d  residual %.2e  %.2f GB in use\n", step.seconds,
                static_cast<long long>(step.restart), static_cast<long long>(step.applications), step.filter_degree,
                step.residuals.empty() ? 0.0 : step.residuals.front(), 1e-9 * used_bytes());
    std::fflush(stdout);
    return true;
  };
  context.profile().start();
  const auto result = solvers::block_lanczos<Vector>({a}, options, observer);
  context.profile().stop();

  std::printf("%s%s\n", result.converged() ? "converged" : "not converged: ", result.why.c_str());
  for (std::size_t i = 0; i < result.eigenvalues.size(); ++i)
    std::printf("eigenvalue %.12f, residual %.2e\n", result.eigenvalues[i], result.residual_norms[i]);
  const double exact = sites * examples::bethe_energy_per_site(sites);
  const double difference = result.eigenvalues.empty() ? 0 : result.eigenvalues.front() - exact;
  std::printf("Bethe ansatz %.12f, difference %.2e\n", exact, difference);
  std::printf("%.3f s, %lld columns of H, %lld restarts, filter of degree %d, at most %.2f GB in use\n", result.seconds,
              static_cast<long long>(result.applications), static_cast<long long>(result.restarts),
              result.filter_degree, 1e-9 * most_used);
  std::printf("%s", context.report().c_str());
  // An eigenvalue is off by its residual at most.
  return result.converged() && std::abs(difference) <= options.tolerance * result.norm_estimate ? 0 : 1;
}

int run(const Settings& settings) {
  if (settings.at("space") == "host") return solve<Kokkos::HostSpace>(settings);
  return solve<Kokkos::DefaultExecutionSpace::memory_space>(settings);
}

}  // namespace

int main(int argc, char** argv) {
  int no_arguments = 1;
  const blockvec::Environment environment(no_arguments, argv);
  return blockvec::Environment::guard([&] {
    return run(bench::read_settings(argc, argv,
                                    {{"sites", "32"},
                                     {"wanted", "1"},
                                     {"block", "1"},
                                     {"basis", "10"},
                                     {"filter", "-1"},
                                     {"tolerance", "1e-8"},
                                     {"space", "device"}}));
  });
}
