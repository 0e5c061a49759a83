#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace blockvec::kernels {

/// The number of threads that `threads` asks for: itself if positive, else what OpenMP would take.
int resolve_threads(int threads);

namespace detail {
void run_parallel(int threads, std::int64_t items, void (*call)(void* body, std::int64_t item, int thread), void* body);
}

/// Calls body(item, thread) once for every item in [0, items), on at most `threads` threads (0: as many as OpenMP would take).
/// Thread t takes a contiguous range of items, so that the same items meet the same memory on every call. Items must not
/// depend on one another. The first exception thrown by a body is rethrown when all threads are done. No allocation.
template <class Body>
void parallel_for(int threads, std::int64_t items, Body&& body) {
  using Function = std::remove_reference_t<Body>;
  detail::run_parallel(
      threads, items,
      [](void* function, std::int64_t item, int thread) { (*static_cast<Function*>(function))(item, thread); },
      const_cast<std::remove_const_t<Function>*>(std::addressof(body)));
}

}  // namespace blockvec::kernels
