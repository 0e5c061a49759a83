#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/communicator.hpp>
#include <blockvec/profile.hpp>
#include <blockvec/workspace.hpp>
#include <cstdint>
#include <memory>
#include <string>

namespace blockvec {

/// Where block vectors live and work: the ranks, the Kokkos execution-space instance that orders their operations, the
/// threads of this rank, scratch memory, counters. A handle: copies share everything. One thread of the program uses a
/// Context at a time.
class Context {
 public:
  using ExecutionSpace = Kokkos::DefaultHostExecutionSpace;

  Context() = default;  ///< an empty handle, to be assigned to
  /// All MPI ranks, or this process alone. threads = 0: OMP_NUM_THREADS where it is set, else the machine's cores
  /// divided by the ranks on it.
  static Context world(int threads = 0) { return Context(Communicator::world(), threads); }
  static Context self(int threads = 0) { return Context(Communicator::self(), threads); }
  explicit Context(Communicator communicator, int threads = 0, ExecutionSpace space = {});

  const Communicator& communicator() const;
  const ExecutionSpace& execution_space() const;
  int threads() const;
  Workspace& workspace() const;
  Profile& profile() const;

  /// Sums over all ranks so far; counted on one rank too, so that a method's count does not depend on the machine.
  std::int64_t reductions() const;
  /// Sums values over the ranks in place, with the same bits on each, as one reduction. `tag` names the operation and
  /// its shapes: if the ranks disagree on it (or on the count), every rank throws ShapeError instead of waiting or
  /// adding up what does not belong together. The tag travels with the first 1022 real words, in one message; words
  /// beyond those follow in a second.
  template <class Scalar>
  void sum(Scalar* values, std::int64_t count, std::uint64_t tag) const;

  /// Operations, calls, seconds, GB/s, GFLOP/s and the share of this machine's measured bandwidth, as a table of text.
  std::string report() const;
  /// The bandwidth that the report compares with, measured at the first call.
  const MachineBandwidth& bandwidth() const;

  bool same(const Context& other) const { return state_ == other.state_; }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace blockvec
