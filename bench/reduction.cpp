// What do small sums over ranks cost that begin and end in device memory, by each way, and how does one call of the
// orthogonaliser scale with ranks? One rank a GPU:
//   mpirun -n 2 reduction words=1,64,1024,4096,16384 rows=4194304 shape=56+8 ways=staged,mpi,nccl rounds=21 commit=...
// sum: microseconds of one Context::sum_in of doubles, medians over rounds, the slowest rank. mode stream: many in a
// row; wait: the host waits for each; graph: many in a CUDA graph (NCCL alone). project_and_normalize: one call on
// `rows` rows a rank, by all ranks together and by each of them alone at the same time, whose ratio is the efficiency.
#include <cuda_runtime.h>

#include <blockvec/blockvec.hpp>
#include <blockvec/mpi.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "bench/cuda_support.hpp"
#include "bench/settings.hpp"

namespace {

using namespace blockvec;
using Space = Kokkos::CudaSpace;

using bench::check;
using bench::Stream;

/// Median over rounds of the slowest rank's microseconds from an idle device to an idle device.
double microseconds(const Context& context, int rounds, const std::function<void()>& prepare,
                    const std::function<void()>& call) {
  const Communicator world = Communicator::world();
  std::vector<double> times;
  for (int i = -2; i < rounds; ++i) {
    prepare();
    context.fence<Space>();
    world.barrier();
    const auto begin = std::chrono::steady_clock::now();
    call();
    context.fence<Space>();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    double slowest = time.count();
    world.max(std::span(&slowest, 1));
    if (i >= 0) times.push_back(slowest);
  }
  return bench::median(times);
}

void print(const char* operation, const std::string& way, std::int64_t words, const char* mode, int ranks, double time,
           double efficiency) {
  if (Communicator::world().rank() != 0) return;
  std::printf("%s,%s,%lld,%s,%d,%.2f,", operation, way.c_str(), static_cast<long long>(words), mode, ranks, time);
  if (efficiency > 0) std::printf("%.3f", efficiency);
  std::printf("\n");
  std::fflush(stdout);
}

void measure_sums(const Context& context, const std::string& way, std::int64_t words, int rounds) {
  constexpr int repeats = 50;
  const int ranks = context.communicator().size();
  const Kokkos::View<double*, Space> zeros("zeros", static_cast<std::size_t>(words));
  const auto sum = [&] { context.sum_in<Space>(zeros.data(), words, 1); };
  const auto nothing = [] {};
  const auto many = [&] {
    for (int i = 0; i < repeats; ++i) sum();
  };
  print("sum", way, words, "stream", ranks, microseconds(context, rounds, nothing, many) / repeats, 0);
  const auto waiting = [&] {
    for (int i = 0; i < repeats; ++i) {
      sum();
      context.fence<Space>();
    }
  };
  print("sum", way, words, "wait", ranks, microseconds(context, rounds, nothing, waiting) / repeats, 0);
  if (way != "nccl") return;
  const cudaStream_t stream = context.execution_space<Space>().cuda_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  many();
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  const double time = microseconds(context, rounds, nothing, [&] { check(cudaGraphLaunch(executable, stream)); });
  print("sum", way, words, "graph", ranks, time / repeats, 0);
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
}

double step(const Context& context, std::int64_t rows, std::int64_t m, std::int64_t b, int rounds) {
  const auto all = RowDistribution::uniform(rows * context.communicator().size(), context.communicator());
  const BlockVector<double, RowMajor, Space> basis(context, all, m + b, "basis");
  orth::Orthogonalizer orthogonalizer(context);
  for (std::int64_t j = 0; j < m; j += b) {
    const auto block = basis.columns(j, std::min(m, j + b));
    fill_random(block, 1, j);
    const auto result = orthogonalizer.project_and_normalize(basis.columns(0, j), block);
    if (result.rank < block.width()) throw Error("the basis has dependent columns");
  }
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  return microseconds(
      context, rounds, [&] { fill_random(w, 2); }, [&] { std::ignore = orthogonalizer.project_and_normalize(v, w); });
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const auto settings = bench::read_settings(argc, argv,
                                               {{"words", "1,64,1024,4096,16384"},
                                                {"rows", "4194304"},
                                                {"shape", "56+8"},
                                                {"ways", "staged,mpi,nccl"},
                                                {"rounds", "21"},
                                                {"commit", "unknown"}});
    const std::int64_t rows = std::stoll(settings.at("rows"));
    const int rounds = std::stoi(settings.at("rounds"));
    const std::string& shape = settings.at("shape");
    const std::int64_t m = std::stoll(shape), b = std::stoll(shape.substr(shape.find('+') + 1));
    const Communicator world = Communicator::world();
    const bool prints = world.rank() == 0;
    const Stream stream;
    const ExecutionSpaces instances{.cuda = Kokkos::Cuda(stream)};
    if (prints) {
      std::printf("# %s, %d ranks, Kokkos %d, commit %s; medians of %d\n", instances.cuda.cuda_device_prop().name,
                  world.size(), KOKKOS_VERSION, settings.at("commit").c_str(), rounds);
      std::printf("operation,transport,words,mode,ranks,microseconds,efficiency\n");
    }
    const double alone = step(Context(Communicator::self(), 0, instances), rows, m, b, rounds);
    print("project_and_normalize", "none", 0, "call", 1, alone, 1);
    if (world.size() == 1) return 0;
    const struct {
      const char* name;
      DeviceTransport transport;
    } ways[] = {{"staged", DeviceTransport::staged}, {"mpi", DeviceTransport::mpi}, {"nccl", DeviceTransport::nccl}};
    for (const auto& [name, transport] : ways) {
      if (("," + settings.at("ways") + ",").find(std::string(",") + name + ",") == std::string::npos) continue;
      if (transport == DeviceTransport::mpi && !mpi_takes_device_pointers()) {
        if (prints) std::printf("# mpi: this MPI does not take device pointers\n");
        continue;
      }
      const Context context(mpi_communicator(MPI_COMM_WORLD), 0, instances);
      context.communicator().set_device_transport(transport);
      try {
        context.communicator().connect_device(instances.cuda.cuda_device());
      } catch (const Error& error) {  // the same on every rank
        if (prints) std::printf("# %s: %s\n", name, error.what());
        continue;
      }
      if (prints) std::printf("# %s: %s\n", name, context.communicator().describe_device_transport().c_str());
      for (const std::string& words : bench::split(settings.at("words"), ',')) {
        measure_sums(context, name, std::stoll(words), rounds);
      }
      const double together = step(context, rows, m, b, rounds);
      print("project_and_normalize", name, 0, "call", world.size(), together, alone / together);
    }
    return 0;
  });
}
