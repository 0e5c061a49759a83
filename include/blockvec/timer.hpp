#pragma once

#include <blockvec/context.hpp>

namespace blockvec {

/// Profile::Timer for an operation in Space. Where the profile is on, it waits for the device before and after: what it
/// measures is then the operation's own time.
template <class Space>
class OperationTimer {
 public:
  /// Begins to measure. Costs nothing while the profile is off.
  OperationTimer(const Context& context, Operation operation, double bytes, double flops)
      : context_(waited(context)), timer_(context.profile(), operation, bytes, flops, !is_host_space<Space>) {}
  /// Waits as the constructor did and adds what it measured.
  ~OperationTimer() {
    try {
      waited(context_);
    } catch (...) {
      // A device that has failed says so again to whoever asks next, and a destructor has nobody to tell.
    }
  }
  OperationTimer(const OperationTimer&) = delete;
  OperationTimer& operator=(const OperationTimer&) = delete;

 private:
  static const Context& waited(const Context& context) {
    if (context.profile().enabled()) context.fence<Space>();
    return context;
  }
  const Context& context_;
  Profile::Timer timer_;
};

}  // namespace blockvec
