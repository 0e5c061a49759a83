#pragma once

#include <blockvec/context.hpp>

namespace blockvec::python {

/// Starts Kokkos, if nobody has. It happens at the first call, not at import, and prints nothing. MPI is not started.
/// Throws Error after stop().
void start();
/// At the end of the process, with the interpreter's lock: asks calls of other threads to end, waits for them a few
/// seconds, and stops what start() started unless one is still at work.
void stop();
/// Whether calls are asked to end.
bool is_stopping() noexcept;

/// A Context for one call: calls of several Python threads may run side by side, and each needs its own. It goes back
/// to a pool, so that its scratch memory is warm in the next call.
class Lease {
 public:
  explicit Lease(int threads);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const Context& operator*() const { return context_; }

 private:
  int threads_;
  Context context_;
};

}  // namespace blockvec::python
