#include "runtime.hpp"

#include <nanobind/nanobind.h>

#include <Kokkos_Core.hpp>
#include <atomic>
#include <blockvec/kernels/error.hpp>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>

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
std::multimap<int, Context>& pool() {  // by number of threads; never destroyed, so that no destructor runs after stop()
  static auto* const contexts = new std::multimap<int, Context>;
  return *contexts;
}

void start_locked() {
  if (is_stopped) throw Error("BlockVec has been stopped, since the interpreter is about to end");
  if (Kokkos::is_initialized()) return;
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
#else
  Kokkos::InitArguments arguments;
  arguments.disable_warnings = true;
  Kokkos::initialize(arguments);
#endif
  owns_kokkos = true;
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

Lease::Lease(int threads) : threads_(threads) {
  const std::lock_guard lock(mutex);
  start_locked();
  if (auto kept = pool().extract(threads)) {
    context_ = std::move(kept.mapped());
  } else {
    context_ = Context::self(threads);
  }
  ++at_work;
}

Lease::~Lease() {
  const std::lock_guard lock(mutex);
  if (--at_work == 0) is_idle.notify_all();
  if (!is_stopped && context_.workspace().capacity() <= most_kept_bytes) pool().emplace(threads_, std::move(context_));
}

}  // namespace blockvec::python
