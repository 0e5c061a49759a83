#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/communicator.hpp>
#include <blockvec/history.hpp>
#include <blockvec/profile.hpp>
#include <blockvec/space.hpp>
#include <blockvec/workspace.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace blockvec {

template <class Space>
class WorkspaceScope;

/// How inner products, column dots and norms sum over rows.
enum class Summation {
  fast,  ///< each rank in parts of its own, then by pairs of ranks: the same bits for any number of threads
  /// The same bits for any number of ranks and threads and any distribution of rows: chunks of 8192 global rows are
  /// multiplied one by one, each in one fixed order, and their shares added exactly. On a device chunks consist of
  /// shares of 2048 rows, whose rows threads take by turns, in double precision: its bits are not the host's, where
  /// vector units take the rows of a chunk in another order, and sums of single precision are kept in that.
  /// Cost: two reductions instead of one, of four words in all for each (six in double-double), and at every boundary
  /// between ranks that is not a multiple of 8192 rows a message with the chunk's rows, fewer than 8192, of all
  /// operands; a pass over the operands as ever. Inner products take up to a fifth longer, solvers up to a seventh
  /// (bench/results/cpu/reproducible.csv). On a device it is one reduction, an all-gather of these words, where sums
  /// cross ranks on devices (sum_in); results that stay there are waited for by nobody on one rank or with NCCL, unless
  /// a chunk's rows lie on several ranks. Staged sums wait.
  /// Error beside that of a chunk: 2^-80 of the largest share in size for each share (2^-160 in double-double), and one
  /// rounding at the end. NaN and Inf come out as in any sum; what overflows only on the way does not.
  /// What it takes besides: the same processor family (kernels round alike where their vectors are as long) or model of
  /// device, layout and widths; fewer than 2^23 chunks, 6.8e10 rows (half of that in double-double, a quarter of each
  /// on a device). Row- and column-major differ by rounding. Every other operation of block vectors treats each row by
  /// itself and alike, in this mode or not. Source: limbs relative to a largest exponent as in Demmel, Nguyen 2015
  /// (IEEE Trans. Comput. 64, 2060).
  reproducible
};

/// Cores that this process may use at once: those that it may run on, and no more than the processor time that a
/// container or another control group grants it (`docker run --cpus`), rounded up. That time is read once.
int available_cores();

/// Where block vectors live and work: the ranks, the Kokkos execution-space instances that order their operations (one
/// for each memory space, so that one Context serves block vectors on the host and on a device), the threads of this
/// rank, scratch memory, counters. A handle: copies share everything. One thread of the program uses a Context at a
/// time.
/// On a device, operations return before their work is done; what reads a value on the host waits for it, nothing else
/// does, except for a reduction over more than one rank that is not NCCL's.
class Context {
 public:
  Context() = default;  ///< an empty handle, to be assigned to
  /// All MPI ranks, or this process alone. threads = 0: OMP_NUM_THREADS where it is set, else the machine's cores, or
  /// what a container grants of them, divided by the ranks on it.
  static Context world(int threads = 0, Summation summation = Summation::fast) {
    return Context(Communicator::world(), threads, {}, summation);
  }
  /// This process alone. threads as for world().
  static Context self(int threads = 0, Summation summation = Summation::fast) {
    return Context(Communicator::self(), threads, {}, summation);
  }
  /// On instances of the caller's: Context(Communicator::world(), 0, {.cuda = Kokkos::Cuda(stream)}).
  explicit Context(Communicator communicator, int threads = 0, const ExecutionSpaces& instances = {},
                   Summation summation = Summation::fast);

  /// The ranks.
  const Communicator& communicator() const;
  /// Threads of this rank.
  int threads() const;
  /// How sums over rows are formed.
  Summation summation() const;
  /// Whether sums have the same bits on any number of ranks and threads.
  bool is_reproducible() const { return summation() == Summation::reproducible; }
  /// The instance that orders operations of block vectors in Space.
  template <class Space = DefaultSpace>
  const ExecutionSpaceOf<Space>& execution_space() const {
    return execution_spaces().template of<Space>();
  }
  /// Waits until everything ordered on that instance is done. Nothing on the host, whose operations have then returned.
  template <class Space>
  void fence() const;
  /// Waits until *word is not zero. The word lies in staging memory and is written by what is ordered on that instance,
  /// so what comes after that may go on. Throws CudaError where the device has failed, or has done all that is ordered
  /// and the word is zero. Nothing on the host.
  template <class Space>
  void await(const unsigned* word) const;
  /// How often the host has waited for a device so far.
  std::int64_t waits() const;
  /// Scratch memory in a space that block vectors can live in, or in its staging space.
  template <class Space = DefaultSpace>
  Workspace<Space>& workspace() const;
  /// A number on the device that is zero between operations: what kernels take their work by (CudaExecution::ticket).
  /// Space is a device's. Allocates at the first call.
  template <class Space>
  unsigned* ticket() const;
  /// Operations that ran, and how long they took. Off until started.
  Profile& profile() const;
  /// What was asked of the methods above this layer, and what they did. Off until started.
  History& history() const;

  /// Reductions over all ranks so far; counted on one rank too, so that a method's count does not depend on the
  /// machine.
  std::int64_t reductions() const;
  /// One that was queued together with what it was for has turned out needless: it does not count.
  void discount_reduction() const;
  /// Sums values over the ranks in place, with the same bits on each, as one reduction. `tag` names the operation and
  /// its shapes: if the ranks disagree on it, on the type or on the count, every rank throws DisagreementError instead
  /// of waiting or adding up what does not belong together. That is found out by the message that carries the first 64
  /// KiB; what lies beyond follows in a second.
  /// Scalar is a block vector's; DoubleDouble: then the sum over the ranks is in double-double, too; or std::int64_t,
  /// whose sums are exact. Others are added by pairs of ranks, in a reproducible Context too.
  template <class Scalar>
  void sum(Scalar* values, std::int64_t count, std::uint64_t tag) const;
  /// The same for the largest value.
  void max(std::int64_t* values, std::int64_t count, std::uint64_t tag) const;
  /// The same as sum for values in the memory of Space: on a device in the order of its instance. In double-double
  /// `count` high parts are followed by as many low parts.
  /// Cost on a device, beside a message of 32 bytes between hosts that finds out what sum does: by NCCL an all-gather
  /// and one small kernel, or ncclAllReduce for sums in plain precision of more than 1 MiB over all ranks, and no wait;
  /// by MPI with device pointers one wait before that; staged in pinned host memory one wait and a copy each way. See
  /// DeviceTransport. Up to 64 KiB, and 1 MiB over all ranks, every way gives the same bits.
  /// In a CUDA graph, by NCCL only, ranks agree when it is captured; then all of them launch it equally often.
  template <class Space, class Scalar>
  void sum_in(Scalar* values, std::int64_t count, std::uint64_t tag, bool double_double = false) const;
  /// Every rank's `count` whole numbers in the memory of Space, one rank after the other, on every rank: what sums are
  /// made of that no library knows. In memory of the scope, or on one rank `mine` itself. One reduction, and a message
  /// between hosts as above. On a device, and only where sums_on_device(); by NCCL no wait, by MPI one.
  template <class Space>
  const std::int64_t* gathered_in(WorkspaceScope<Space>& scope, const std::int64_t* mine, std::int64_t count,
                                  std::uint64_t tag) const;
  /// Whether sum_in adds on the device. Collective at the first call, which chooses the way.
  template <class Space>
  bool sums_on_device() const;
  /// Whether sum_in is ordered on the instance as a whole, without a wait of the host: on one rank, and by NCCL.
  /// Collective at the first call.
  template <class Space>
  bool sums_in_order() const;

  /// Runs body(), the part of an operation that leads to a reduction and ends with its last one, and returns what it
  /// returns. If it throws on some ranks, these take part in the reduction that the others wait in, or come to next:
  /// the others throw RefusedError, which names the lowest such rank and its reason. So the operation ends on every
  /// rank, and all may go on with the next one. Costs nothing where nothing fails. These calls nest; the outermost one
  /// acts.
  template <class Body>
  decltype(auto) collective(Body&& body) const {
    return staged(true, std::forward<Body>(body));
  }
  /// Runs a collective function of the caller's inside of such a body. It is on its own there: what it throws, it has
  /// to throw on every rank.
  template <class Body>
  decltype(auto) callers(Body&& body) const {
    return staged(false, std::forward<Body>(body));
  }

  /// Operations, calls, seconds, GB/s, GFLOP/s and the share of the measured bandwidth of this machine, or of the
  /// device where they ran there, as a table of text. With more than one rank it says how sums on devices travel.
  /// `compare`: false leaves the shares out, and the bandwidth need not be measured.
  std::string report(bool compare = true) const;
  /// The bandwidth that the report compares with, measured at the first call; on a device with 2 x 1 GiB.
  template <class Space = DefaultSpace>
  const MachineBandwidth& bandwidth() const;

  /// Whether both are handles of one Context.
  bool same(const Context& other) const { return state_ == other.state_; }

 private:
  struct State;
  const ExecutionSpaces& execution_spaces() const;
  void count_reduction() const;

  // A stage of a collective operation, from construction to destruction.
  class Stage {
   public:
    Stage(State* state, bool is_collective) noexcept;
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    void fail() const noexcept;  // what is being handled leaves it

   private:
    State* state_;
    bool is_collective_;
    int depth_before_ = 0;
  };
  template <class Body>
  decltype(auto) staged(bool is_collective, Body&& body) const {
    const Stage stage(state_.get(), is_collective);
    try {
      return std::forward<Body>(body)();
    } catch (...) {
      stage.fail();
      throw;
    }
  }

  std::shared_ptr<State> state_;
};

/// Takes scratch memory from a Context's Workspace and gives all of it back at its end. Scopes nest like the blocks of
/// a program.
template <class Space = DefaultSpace>
class WorkspaceScope {
 public:
  /// Begins a scope in the Context's scratch memory.
  explicit WorkspaceScope(const Context& context)
      : context_(context), workspace_(context.workspace<Space>()), start_(workspace_.position_) {}
  /// Gives back all that was taken.
  ~WorkspaceScope() { workspace_.give_back(start_); }
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;

  /// Whose scratch memory it is.
  const Context& context() const { return context_; }

  /// Uninitialised storage for `count` objects of a trivial type, aligned to 128 bytes. Throws OutOfMemoryError naming
  /// the bytes.
  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(workspace_.take(count * sizeof(T)));
  }

 private:
  Context context_;
  Workspace<Space>& workspace_;
  typename Workspace<Space>::Position start_;
};

/// Scratch memory that outlives scopes: a piece of a Context's Workspace that is given back at any time, and is then
/// kept for the next who asks for as much. What the device still does with a piece that is given back comes before what
/// is ordered later on the same instance; the host must not write to a piece of staging memory that a device still
/// uses.
template <class Space = DefaultSpace>
class KeptMemory {
 public:
  KeptMemory() = default;  ///< none
  /// Uninitialised, aligned to 128 bytes. Throws OutOfMemoryError naming the bytes.
  KeptMemory(const Context& context, std::size_t bytes);
  /// Takes the piece from the other one, which has none afterwards.
  KeptMemory(KeptMemory&& other) noexcept : context_(other.context_), slab_(std::exchange(other.slab_, Slab())) {}
  /// Gives back its own piece and takes the other's.
  KeptMemory& operator=(KeptMemory&& other) noexcept {
    give_back();
    context_ = other.context_;
    slab_ = std::exchange(other.slab_, Slab());
    return *this;
  }
  /// Gives the piece back.
  ~KeptMemory() { give_back(); }

  /// The piece; null: none.
  std::byte* data() const;
  /// Whether there is a piece.
  explicit operator bool() const { return slab_.data() != nullptr; }

 private:
  using Slab = typename Workspace<Space>::Slab;
  void give_back() noexcept;

  Context context_;
  Slab slab_;
};

}  // namespace blockvec
