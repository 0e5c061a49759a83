#pragma once

#include <blockvec/context.hpp>
#include <cstdint>
#include <optional>

#include "call.hpp"
#include "space.hpp"

namespace blockvec::python {

/// Starts Kokkos, if nobody has. It happens at the first call, not at import, and prints nothing. MPI is not started.
/// Throws Error after stop(), NoDeviceError where Kokkos needs a device and there is none.
void start();
/// At the end of the process, with the interpreter's lock: asks calls of other threads to end, waits for them a few
/// seconds, and gives back all memory unless one is still at work.
void stop();
/// After stop(): stops what start() started, unless a call is still at work. (Modules may share a Kokkos.)
void finish();
/// Whether calls are asked to end.
bool is_stopping() noexcept;

#ifdef BLOCKVEC_PYTHON_DEVICE
/// Chooses the device at the first call. Throws NoDeviceError for another one later, and where there is none.
void use_device(int number);

/// While it lives, a Context's stream continues what is queued on the caller's; afterwards the caller's stream
/// continues what was queued on the Context's. Nobody waits. Where both are one there is nothing to do.
class StreamOrder {
 public:
  StreamOrder(const Context& context, const Call& call);
  ~StreamOrder();
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;

 private:
  static void follow(cudaStream_t first, cudaStream_t second);
  cudaStream_t own_, callers_;
};
#endif

/// A Context for one call: calls of several Python threads may run side by side, and each needs its own. One of a
/// single rank goes back to a pool, so that its scratch memory is warm in the next call. On a device it works on the
/// default stream if that is the caller's. Else it has a stream of its own, which is ordered with the caller's: callers
/// may destroy their streams, and contexts last.
class Lease {
 public:
  explicit Lease(const Call& call, Summation summation = Summation::fast);
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const Context& operator*() const { return context_; }
  /// Runs body(), which queues work on arrays that Python has made during the call: after what their stream was given,
  /// before what it is given next.
  template <class Body>
  void in_callers_order(Body&& body) const {
#ifdef BLOCKVEC_PYTHON_DEVICE
    const StreamOrder order(context_, call_);
#endif
    body();
  }

 private:
  // Keeps Kokkos.
  struct Presence {
    Presence();
    ~Presence();
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;
  };
  static Context context_of(const Call& call, Summation summation);

  Presence presence_;  // the last one to leave
  Call call_;
  Context context_;
#ifdef BLOCKVEC_PYTHON_DEVICE
  std::optional<StreamOrder> order_;
#endif
};

}  // namespace blockvec::python
