#include "runtime.hpp"

#include <nanobind/nanobind.h>
#include <unistd.h>

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
#include <tuple>
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
pid_t owner = 0;  // the process that started Kokkos
int at_work = 0;
using Key = std::tuple<int, Summation, bool>;  // threads, and whether the stream is the default one
// Never destroyed, so that no destructor runs after stop().
std::multimap<Key, Context>& pool() {
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

// A child of fork() has its parent's Kokkos, which is of no use there if a device belongs to it.
bool is_forked() { return owner != 0 && owner != getpid(); }
bool has_lost_device() { return BLOCKVEC_HAVE_CUDA_SPACE != 0 && is_forked(); }

#ifdef BLOCKVEC_PYTHON_DEVICE
void check(cudaError_t status, const char* function) {
  if (status != cudaSuccess) throw Error(std::string(function) + " failed: " + cudaGetErrorString(status));
}

cudaStream_t stream_of(const Call& call) {
  const auto stream = reinterpret_cast<cudaStream_t>(call.stream);
  return stream == cudaStreamLegacy ? nullptr : stream;  // two names of the default stream
}

cudaStream_t stream_of(const Context& context) { return context.execution_space<Space>().cuda_stream(); }
#endif

Key key_of(const Call& call, Summation summation) {
#ifdef BLOCKVEC_PYTHON_DEVICE
  return {call.threads, summation, stream_of(call) == nullptr};
#else
  return {call.threads, summation, true};
#endif
}

void start_locked() {
  if (is_stopped) throw Error("BlockVec has been stopped, since the interpreter is about to end");
  if (has_lost_device()) {
    throw NoDeviceError(
        "a child of fork() cannot use its parent's CUDA device, and this build of BlockVec needs one: "
        "start processes by multiprocessing's spawn or forkserver");
  }
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
  owner = getpid();
}

Context new_context(const Call& call, Summation summation) {
  ExecutionSpaces instances;
#ifdef BLOCKVEC_PYTHON_DEVICE
  cudaStream_t stream = nullptr;  // lives as long as the Context
  if (stream_of(call) != nullptr) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  instances.cuda = Kokkos::Cuda(stream);
#endif
  return Context(call.ranks, call.threads, instances, summation);
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
  if (has_lost_device() || !is_idle.wait_for(lock, patience, [] { return at_work == 0; })) return;
  pool().clear();
}

void finish() {
  const std::lock_guard lock(mutex);
  if (owns_kokkos && at_work == 0 && !has_lost_device()) Kokkos::finalize();
  owns_kokkos = false;
}

#ifdef BLOCKVEC_PYTHON_DEVICE
void use_device(int number) {
  const std::lock_guard lock(mutex);
  if (!Kokkos::is_initialized()) {
    require_device();
    check(cudaSetDevice(number), "cudaSetDevice");
  }
  start_locked();
  if (const int used = Kokkos::Cuda().cuda_device(); used != number) {
    throw NoDeviceError("the arrays are on CUDA device " + std::to_string(number) +
                        ", but this process works on device " + std::to_string(used) + ", as its first call did");
  }
}

StreamOrder::StreamOrder(const Context& context, const Call& call)
    : own_(stream_of(context)), callers_(stream_of(call)) {
  follow(callers_, own_);
}

StreamOrder::~StreamOrder() {
  try {
    follow(own_, callers_);
  } catch (const Error&) {
    // The device has failed, which the next call says.
  }
}

void StreamOrder::follow(cudaStream_t first, cudaStream_t second) {
  if (first == second) return;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  const cudaError_t recorded = cudaEventRecord(event, first);
  const cudaError_t awaited = recorded == cudaSuccess ? cudaStreamWaitEvent(second, event, 0) : recorded;
  cudaEventDestroy(event);  // after both, however long these take
  check(awaited, "cudaStreamWaitEvent");
}
#endif

Lease::Lease(const Call& call, Summation summation)
    : call_(call),
      context_(context_of(call, summation))
#ifdef BLOCKVEC_PYTHON_DEVICE
      ,
      order_(std::in_place, context_, call)
#endif
{
}

Lease::Presence::Presence() {
  const std::lock_guard lock(mutex);
  start_locked();
  ++at_work;
}

Lease::Presence::~Presence() {
  const std::lock_guard lock(mutex);
  if (--at_work == 0) is_idle.notify_all();
}

Context Lease::context_of(const Call& call, Summation summation) {
  std::multimap<Key, Context>::node_type kept;
  if (call.ranks.size() == 1) {
    const std::lock_guard lock(mutex);
    kept = pool().extract(key_of(call, summation));
  }
  return kept ? std::move(kept.mapped()) : new_context(call, summation);
}

Lease::~Lease() {
#ifdef BLOCKVEC_PYTHON_DEVICE
  order_.reset();
  const cudaStream_t stream = stream_of(context_);
#endif
  const bool is_small = context_.workspace<Space>().capacity() <= most_kept_bytes;
  if (is_small && !is_stopped && call_.ranks.size() == 1) {
    const std::lock_guard lock(mutex);
    pool().emplace(key_of(call_, context_.summation()), std::move(context_));
    return;
  }
  context_ = Context();
#ifdef BLOCKVEC_PYTHON_DEVICE
  if (stream != nullptr) cudaStreamDestroy(stream);  // once its work is done
#endif
}

}  // namespace blockvec::python
