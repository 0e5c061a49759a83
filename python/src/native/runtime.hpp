#pragma once

#include <blockvec/context.hpp>

#include "call.hpp"

namespace blockvec::python {

/// Starts Kokkos, if nobody has. It happens at the first call, not at import, and prints nothing. MPI is not started.
/// Throws Error after stop(), NoDeviceError where Kokkos needs a device and there is none.
void start();
/// At the end of the process, with the interpreter's lock: asks calls of other threads to end, waits for them a few
/// seconds, and stops what start() started unless one is still at work.
void stop();
/// Whether calls are asked to end.
bool is_stopping() noexcept;

/// A Context for one call: calls of several Python threads may run side by side, and each needs its own. One of a
/// single rank goes back to a pool, so that its scratch memory is warm in the next call.
class Lease {
 public:
  explicit Lease(const Call& call);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const Context& operator*() const { return context_; }

 private:
  Call call_;
  Context context_;
};

/// Keeps Kokkos while a call works with a Context of its own.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

/// A Context for a call, on its ranks and its stream.
Context context_for(const Call& call, Summation summation = Summation::fast);

}  // namespace blockvec::python
