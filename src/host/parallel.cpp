#include <omp.h>

#include <algorithm>
#include <atomic>
#include <blockvec/kernels/parallel.hpp>
#include <exception>

#if defined(__SANITIZE_THREAD__)
// libgomp's fork and join are invisible to ThreadSanitizer: say here, once, what they order.
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#else
static void __tsan_acquire(void*) {}
static void __tsan_release(void*) {}
#endif

namespace blockvec::kernels {

int resolve_threads(int threads) { return threads > 0 ? threads : std::max(1, omp_get_max_threads()); }

namespace {

struct Job {
  std::int64_t items;
  void (*call)(void*, std::int64_t, int);
  void* body;
  std::exception_ptr error;
  std::atomic_flag has_error = ATOMIC_FLAG_INIT;
  char fork = 0;
  char join = 0;
};

// Not inlined: the only code that touches a job, and only after the acquire.
[[gnu::noinline]] void run_share(Job& job, int thread, int threads) {
  const std::int64_t begin = job.items * thread / threads;
  const std::int64_t end = job.items * (thread + 1) / threads;
  try {
    for (std::int64_t item = begin; item < end; ++item) job.call(job.body, item, thread);
  } catch (...) {
    if (!job.has_error.test_and_set()) job.error = std::current_exception();
  }
}

}  // namespace

void detail::run_parallel(int threads, std::int64_t items, void (*call)(void*, std::int64_t, int), void* body) {
  if (items <= 0) return;
  const int team = resolve_threads(threads);
  const int workers = static_cast<int>(std::min<std::int64_t>(team, items));
  Job job{items, call, body, nullptr};
  if (workers == 1) {
    run_share(job, 0, 1);
  } else {
    __tsan_release(&job.fork);
    Job* const shared = &job;
    // The team is as large for two items as for many: libgomp ends the threads that a smaller one leaves over, and
    // starts others for the next larger one.
#pragma omp parallel num_threads(team) firstprivate(shared)
    {
      __tsan_acquire(&shared->fork);
      const int thread = omp_get_thread_num();
      const int here = std::min(workers, omp_get_num_threads());  // may be fewer than asked for
      if (thread < here) run_share(*shared, thread, here);
      __tsan_release(&shared->join);
    }
    __tsan_acquire(&job.join);
  }
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace blockvec::kernels
