#include <unistd.h>

#include <algorithm>
#include <blockvec/context.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "blockvec/bandwidth.hpp"
#include "blockvec/cpu_quota.hpp"
#include "blockvec/instantiate.hpp"

#if BLOCKVEC_HAVE_CUDA_SPACE
#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#endif

namespace blockvec {

struct Context::State {
  State(Communicator ranks, const ExecutionSpaces& instances, int count, Summation sums)
      : communicator(std::move(ranks)), spaces(instances), threads(count), summation(sums) {}
  Communicator communicator;
  ExecutionSpaces spaces;
  int threads;
  Summation summation;
#if BLOCKVEC_HAVE_CUDA_SPACE
  std::tuple<Workspace<Kokkos::HostSpace>, Workspace<Kokkos::CudaSpace>, Workspace<StagingSpaceOf<Kokkos::CudaSpace>>>
      workspaces;
#else
  std::tuple<Workspace<Kokkos::HostSpace>> workspaces;
#endif
#if BLOCKVEC_HAVE_CUDA_SPACE
  Kokkos::View<unsigned, Kokkos::CudaSpace> ticket;
#endif
  Profile profile;
  History history;
  std::int64_t reductions = 0, waits = 0;
  int depth = 0;                                 // of collective stages
  bool is_left_to_the_callers = false;           // the error on its way
  std::optional<MachineBandwidth> bandwidth[2];  // of the host, of the device
};

namespace {

/// So many cores, or the quota where that is less. It is read once.
int granted(int cores) {
  static const double quota = std::max(1.0, std::ceil(cpu_quota()));
  return static_cast<int>(std::min(quota, std::max(1.0, static_cast<double>(cores))));
}

int default_threads(const Communicator& communicator) {
  if (std::getenv("OMP_NUM_THREADS")) return kernels::resolve_threads(0);
  // The launcher may have bound this rank to some cores; if not, the ranks of a machine share it, or what a container
  // grants them of it.
  const int machine = granted(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min(available_cores(), std::max(1, machine / communicator.local_size()));
}

// The share of a machine's bandwidth is judged against what the operation does: only read, or read and write.
bool only_reads(std::string_view operation) {
  return operation == operation_name(Operation::inner_product) || operation == operation_name(Operation::column_dots);
}

}  // namespace

int available_cores() { return granted(static_cast<int>(std::thread::hardware_concurrency())); }

Context::Context(Communicator communicator, int threads, const ExecutionSpaces& instances, Summation summation) {
  if (threads < 0)
    throw ShapeError("Context: threads = " + std::to_string(threads) + ", expected 0 (as many as suit) or more");
  const int count = threads > 0 ? threads : default_threads(communicator);
  state_ = std::make_shared<State>(std::move(communicator), instances, count, summation);
}

const Communicator& Context::communicator() const { return state_->communicator; }
const ExecutionSpaces& Context::execution_spaces() const { return state_->spaces; }
int Context::threads() const { return state_->threads; }
Summation Context::summation() const { return state_->summation; }
Profile& Context::profile() const { return state_->profile; }
History& Context::history() const { return state_->history; }
std::int64_t Context::reductions() const { return state_->reductions; }
std::int64_t Context::waits() const { return state_->waits; }

template <class Space>
Workspace<Space>& Context::workspace() const {
  return std::get<Workspace<Space>>(state_->workspaces);
}
template Workspace<Kokkos::HostSpace>& Context::workspace() const;
#if BLOCKVEC_HAVE_CUDA_SPACE
template Workspace<Kokkos::CudaSpace>& Context::workspace() const;
template Workspace<StagingSpaceOf<Kokkos::CudaSpace>>& Context::workspace() const;
#endif

#if BLOCKVEC_HAVE_CUDA_SPACE
template <class Space>
unsigned* Context::ticket() const {
  auto& ticket = state_->ticket;
  if (ticket.data() == nullptr) {
    ticket = Kokkos::View<unsigned, Kokkos::CudaSpace>(
        Kokkos::view_alloc(std::string("BlockVec::Context::ticket"), execution_space<Space>()));  // zero
  }
  return ticket.data();
}
template unsigned* Context::ticket<Kokkos::CudaSpace>() const;
#endif

template <class Space>
void Context::fence() const {
  if constexpr (!is_host_space<Space>) {
    static const std::string label("BlockVec::Context::fence");  // kept: a call allocates nothing
    execution_space<Space>().fence(label);
    ++state_->waits;
  }
}

#if BLOCKVEC_HAVE_CUDA_SPACE
namespace {

void poll(const unsigned* word, cudaStream_t stream) {
  constexpr int looks = 20000;  // some ten microseconds: a device that has failed is found out soon, and asked seldom
  const auto arrived = [&] { return __atomic_load_n(word, __ATOMIC_ACQUIRE) != 0; };
  while (true) {
    for (int i = 0; i < looks; ++i) {
      if (arrived()) return;
    }
    const cudaError_t status = cudaStreamQuery(stream);
    if (arrived()) return;
    if (status != cudaErrorNotReady) {
      throw kernels::CudaError(std::string("Context::await: ") + cudaGetErrorName(status) + ", " +
                               (status == cudaSuccess ? "and the device did not write what the host waits for"
                                                      : cudaGetErrorString(status)));
    }
    cudaGetLastError();  // that the device is still at work is no error
    std::this_thread::yield();
  }
}

}  // namespace

template <class Space>
void Context::await(const unsigned* word) const {
  if constexpr (!is_host_space<Space>) {
    ++state_->waits;
    poll(word, execution_space<Space>().cuda_stream());
  }
}
#else
template <class Space>
void Context::await(const unsigned*) const {}
#endif
#define BLOCKVEC_CONTEXT(Space)                \
  template void Context::fence<Space>() const; \
  template void Context::await<Space>(const unsigned*) const;
BLOCKVEC_FOR_SPACES(BLOCKVEC_CONTEXT)

void Context::count_reduction() const { ++state_->reductions; }
void Context::discount_reduction() const { --state_->reductions; }

Context::Stage::Stage(State* state, bool is_collective) noexcept : state_(state), is_collective_(is_collective) {
  if (state_ == nullptr) return;
  depth_before_ = state_->depth;
  state_->depth = is_collective ? depth_before_ + 1 : 0;
  state_->is_left_to_the_callers = false;
}

Context::Stage::~Stage() {
  if (state_ != nullptr) state_->depth = depth_before_;
}

void Context::Stage::fail() const noexcept {
  if (state_ == nullptr) return;
  if (!is_collective_) state_->is_left_to_the_callers = true;
  if (depth_before_ > 0 || state_->is_left_to_the_callers) return;
  try {
    try {
      throw;
    } catch (const RefusedError&) {  // known to every rank, as the next one
    } catch (const DisagreementError&) {
    } catch (const std::exception& error) {
      state_->communicator.refuse(error.what());
    } catch (...) {
      state_->communicator.refuse("unknown error");
    }
  } catch (...) {
    // Ranks cannot be reached any more. The error on its way says why, or is all there is to say.
  }
}

template <class Space>
const MachineBandwidth& Context::bandwidth() const {
  auto& measured = state_->bandwidth[is_host_space<Space> ? 0 : 1];
  if (!measured) measured = detail::measure_bandwidth<Space>(*this);
  return *measured;
}
#define BLOCKVEC_BANDWIDTH(Space) template const MachineBandwidth& Context::bandwidth<Space>() const;
BLOCKVEC_FOR_SPACES(BLOCKVEC_BANDWIDTH)

namespace {

std::string report_line(const OperationRecord& record, const MachineBandwidth* memory) {
  const double rate = record.seconds > 0 ? record.bytes / record.seconds : 0;
  const double flop_rate = record.seconds > 0 ? record.flops / record.seconds : 0;
  char share[16] = "-";
  if (memory != nullptr && record.name != operation_name(Operation::reduction)) {
    std::snprintf(share, sizeof share, "%.0f %%", 100 * rate / (only_reads(record.name) ? memory->read : memory->copy));
  }
  char line[160];
  std::snprintf(line, sizeof line, "%-18s %8lld %10.4f %8.2f %9.2f %7s\n", std::string(record.name).c_str(),
                static_cast<long long>(record.calls), record.seconds, rate * 1e-9, flop_rate * 1e-9, share);
  return line;
}

// The records of one memory and what they are compared with, if anything; nothing where there are none.
std::string report_of(const std::vector<OperationRecord>& records, bool on_device, const MachineBandwidth* memory,
                      const std::string& where) {
  std::string text;
  for (const OperationRecord& record : records) {
    if (record.on_device == on_device) text += report_line(record, memory);
  }
  if (memory == nullptr) return text + where + "\n";
  char line[128];
  std::snprintf(line, sizeof line, "; share of %.1f GB/s read or %.1f GB/s copied, measured here\n",
                memory->read * 1e-9, memory->copy * 1e-9);
  return text + where + line;
}

}  // namespace

std::string Context::report(bool compare) const {
  const auto records = profile().records();
  if (records.empty()) return "no operations recorded\n";
  char heading[96];
  std::snprintf(heading, sizeof heading, "%-18s %8s %10s %8s %9s %7s\n", "operation", "calls", "seconds", "GB/s",
                "GFLOP/s", "share");
  const std::string rank =
      "rank " + std::to_string(communicator().rank()) + " of " + std::to_string(communicator().size());
  std::string text = heading;
  if (!records.front().on_device) {
    text += report_of(records, false, compare ? &bandwidth() : nullptr,
                      rank + ", " + std::to_string(threads()) + " threads");
  }
#if BLOCKVEC_HAVE_CUDA_SPACE
  if (records.back().on_device) {
    const auto& device = execution_space<Kokkos::CudaSpace>().cuda_device_prop();
    const std::string sums =
        communicator().size() > 1 ? ", sums by " + communicator().describe_device_transport() : std::string();
    text +=
        report_of(records, true, compare ? &bandwidth<Kokkos::CudaSpace>() : nullptr, rank + ", " + device.name + sums);
  }
#endif
  return text;
}

}  // namespace blockvec
