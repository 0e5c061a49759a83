#include "runtime.hpp"

#include <nanobind/nanobind.h>

#include <Kokkos_Core.hpp>
#include <atomic>
#include <blockvec/environment.hpp>
#include <blockvec/kernels/error.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace blockvec::python {
namespace {

// A pool keeps contexts up to this size of scratch memory.
constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;

// A thread that needs the interpreter after its end would end the process.
constexpr auto patience = std::chrono::seconds(10);

std::atomic<bool> is_stopped{false};
std::mutex mutex;  // of all below
std::condition_variable is_idle;
bool owns_kokkos = false;
int at_work = 0;
using Key = std::pair<int, std::uintptr_t>;  // threads and stream
std::multimap<Key, Context>& pool() {        // never destroyed, so that no destructor runs after stop()
  static auto* const contexts = new std::multimap<Key, Context>;
  return *contexts;
}

// A Kokkos that is built for CUDA cannot start without a device.
void require_device() {
#if BLOCKVEC_HAVE_CUDA_SPACE
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return;
  throw NoDeviceError(std::string("no CUDA device, which this build of BlockVec needs: ") + cudaGetErrorString(status));
#endif
}

void start_locked() {
  if (is_stopped) throw Error("BlockVec has been stopped, since the interpreter is about to end");
  if (Kokkos::is_initialized()) return;
  require_device();
#if KOKKOS_VERSION >= 30700
  Kokkos::InitializationSettings settings;
  settings.set_disable_warnings(true);
#if BLOCKVEC_HAVE_CUDA_SPACE
  int device = 0;
  if (cudaGetDevice(&device) == cudaSuccess) settings.set_device_id(device);  // the caller's
#endif
  Kokkos::initialize(settings);
#else
  Kokkos::InitArguments arguments;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
  owns_kokkos = true;
}

void leave_locked() {
  if (--at_work == 0) is_idle.notify_all();
}

}  // namespace

void start() {
  const std::lock_guard lock(mutex);
  start_locked();
}

bool is_stopping() noexcept { return is_stopped; }

void stop() {
  const nanobind::gil_scoped_release unlocked;
  is_stopped = true;
  std::unique_lock lock(mutex);
  if (!is_idle.wait_for(lock, patience, [] { return at_work == 0; })) return;
  pool().clear();
  if (owns_kokkos) Kokkos::finalize();
  owns_kokkos = false;
}

Context context_for(const Call& call, Summation summation) {
  ExecutionSpaces instances;
#ifdef BLOCKVEC_PYTHON_DEVICE
  instances.cuda = Kokkos::Cuda(reinterpret_cast<cudaStream_t>(call.stream));
#endif
  return Context(call.ranks, call.threads, instances, summation);
}

Lease::Lease(const Call& call) : call_(call) {
  const std::lock_guard lock(mutex);
  start_locked();
  if (auto kept = pool().extract(Key(call.threads, call.stream)); kept && call.ranks.size() == 1) {
    context_ = std::move(kept.mapped());
  } else {
    context_ = context_for(call);
  }
  ++at_work;
}

Lease::~Lease() {
  const std::lock_guard lock(mutex);
  leave_locked();
  if (!is_stopped && call_.ranks.size() == 1 && context_.workspace().capacity() <= most_kept_bytes) {
    pool().emplace(Key(call_.threads, call_.stream), std::move(context_));
  }
}

AtWork::AtWork() {
  const std::lock_guard lock(mutex);
  start_locked();
  ++at_work;
}

AtWork::~AtWork() {
  const std::lock_guard lock(mutex);
  leave_locked();
}

}  // namespace blockvec::python
