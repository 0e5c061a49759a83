#pragma once

#include <blockvec/envelope.hpp>
#include <blockvec/kernels/double_double.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/scalar.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace blockvec {

/// How sums of values in a device's memory cross ranks.
enum class DeviceTransport : std::int32_t {
  automatic,  ///< the last of these that ranks and libraries allow; what BLOCKVEC_DEVICE_TRANSPORT says, if it is set
  staged,     ///< through pinned host memory, by MPI
  mpi,        ///< by MPI, which takes device pointers; whether it does is asked of it at run time
  nccl        ///< by NCCL in the order of a stream: nothing waits. Every rank needs a GPU of its own
};

/// The ranks met in different operations, or with different shapes. Every rank throws it.
class DisagreementError : public ShapeError {
 public:
  using ShapeError::ShapeError;
};

/// A rank met an error and took no part in the operation: the message names that rank and its reason. It throws its own
/// error, all others throw this one.
class RefusedError : public Error {
 public:
  /// With the rank that refused, and the whole message.
  RefusedError(int rank, const std::string& message) : Error(message), rank_(rank) {}
  /// From what arrived in place of the operation.
  explicit RefusedError(const Envelope& refusal)
      : RefusedError(refusal.refusing,
                     "rank " + std::to_string(refusal.refusing) + " refused: " + std::string(refusal.reason())) {}
  /// The lowest rank that refused.
  int rank() const { return rank_; }

 private:
  int rank_;
};

/// A contiguous piece of memory that goes to, or comes from, another rank.
struct Message {
  int rank = 0;           ///< the other side
  void* data = nullptr;   ///< read by the sender, written by the receiver
  std::size_t bytes = 0;  ///< as many on both sides
};

/// What a way of communication has to offer. A new one is one more class behind Communicator.
class CommunicatorBackend {
 public:
  virtual ~CommunicatorBackend() = default;
  /// For people: "MPI", "self".
  virtual std::string name() const = 0;
  /// This rank's number, from 0 on.
  virtual int rank() const = 0;
  /// The number of ranks.
  virtual int size() const = 0;
  /// Ranks of the whole job that share this rank's machine, itself included, whether they belong to this or not.
  virtual int local_size() const = 0;
  /// Whether the other one has the same processes, in the same order.
  virtual bool same_ranks(const CommunicatorBackend& other) const = 0;
  /// Merges the envelopes of all ranks, with the same bits everywhere afterwards. Where this rank's one refuses, ranks
  /// that wait in exchange() come here, too.
  virtual void meet(Envelope& envelope) = 0;
  /// In place over all ranks, with the same bits everywhere afterwards. Ranks have met and mean the same.
  virtual void all_reduce(void* values, std::size_t count, WireType type, Reduction reduction) = 0;
  /// The root's bytes to everybody. Ranks have met and mean the same.
  virtual void broadcast(void* values, std::size_t bytes, int root) = 0;
  /// Posts all receives, then all sends, and waits for them. Throws RefusedError where a rank refuses meanwhile.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives) = 0;

  // ---- values in a device's memory; a backend that knows nothing of it leaves them to be staged
  /// What is used for the GPU with this number; automatic where that has not been chosen yet.
  virtual DeviceTransport device_transport(int) const { return DeviceTransport::staged; }
  /// Chooses it. Ranks have met and mean the same; what it throws, it throws on every rank.
  virtual void connect_device(int) {}
  /// Replaces the default choice for what follows. The same on all ranks.
  virtual void wish_for(DeviceTransport) {}
  /// What was chosen, for people.
  virtual std::string describe_device_transport() const { return "host memory"; }
  /// Every rank's bytes, one rank after the other, to everybody. With NCCL in the order of the stream; by MPI at once.
  virtual void all_gather_on_device(const void*, void*, std::size_t, CUstream_st*) {}
  /// The sum, in place, in the library's order.
  virtual void all_reduce_on_device(void*, std::size_t, WireType, CUstream_st*) {}
  /// Does what exchange() does with messages in device memory.
  virtual void exchange_on_device(std::span<const Message>, std::span<const Message>, CUstream_st*) {}
};

/// The ranks that share a block vector: this process alone, or an MPI communicator. A handle: copies share the ranks.
/// Every operation is collective. Its first 64 KiB travel in one message, which says what the rank is about: if ranks
/// disagree on the operation, its type, the count or the tag, every rank throws DisagreementError, and nothing is
/// changed. If a rank refuses, the others throw RefusedError. A failure of the transport is an Error that names the
/// operation.
class Communicator {
 public:
  /// This process alone.
  static Communicator self();
  /// All ranks of MPI if it is running with more than one, else this process alone. The same at each call.
  static Communicator world();
  /// The ranks of a backend of the caller's.
  explicit Communicator(std::shared_ptr<CommunicatorBackend> backend) : backend_(std::move(backend)) {}

  /// This rank's number, from 0 on. Local.
  int rank() const { return backend_->rank(); }
  /// The number of ranks. Local.
  int size() const { return backend_->size(); }
  /// Ranks of the whole job that share this rank's machine: what its cores are divided by.
  int local_size() const { return backend_->local_size(); }
  /// For people: the backend's name.
  std::string name() const { return backend_->name(); }

  ///@{
  /// Reduces `values` in place over all ranks; complex values count as pairs of reals (sum only). One message in the
  /// machine's sense, of 32 bytes and the values, and a second one for what lies beyond 64 KiB. Up to there values are
  /// added by pairs of ranks, then pairs of pairs; beyond, as MPI likes to. `tag` is anything that the ranks must agree
  /// on besides.
  void sum(std::span<float> values, std::uint64_t tag = 0) const;
  void sum(std::span<double> values, std::uint64_t tag = 0) const;
  void sum(std::span<Complex<float>> values, std::uint64_t tag = 0) const;
  void sum(std::span<Complex<double>> values, std::uint64_t tag = 0) const;
  void sum(std::span<std::int64_t> values, std::uint64_t tag = 0) const;
  void sum(std::span<DoubleDouble> values, std::uint64_t tag = 0) const;
  ///@}
  ///@{
  /// The largest, or the smallest, in place of the sum. Otherwise as sum().
  void max(std::span<double> values, std::uint64_t tag = 0) const;
  void max(std::span<std::int64_t> values, std::uint64_t tag = 0) const;
  void min(std::span<std::int64_t> values, std::uint64_t tag = 0) const;
  ///@}

  /// The root's bytes to everybody.
  void broadcast(std::span<std::byte> values, int root) const;
  /// One message per entry and direction; both sides name the same sizes. Throws Error where one differs.
  void exchange(std::span<const Message> sends, std::span<const Message> receives) const {
    backend_->exchange(sends, receives);
  }
  /// Returns when all ranks have called it. One message of 32 bytes.
  void barrier() const;

  /// Throws RefusedError with `message` on every rank if `ok` is false on any; the message of the lowest such rank is
  /// used, and the rank named. One message. (This process alone throws Error.)
  void agree(bool ok, std::string_view message) const;

  /// Takes this rank's part in whatever the other ranks wait for, or come to next: they throw RefusedError with this
  /// reason. Returns when they all have learnt so, and what follows is a fresh start for every rank.
  void refuse(std::string_view reason) const;

  /// Sums of values in device memory: Context::sum_in consists of these. `device` is the CUDA runtime's number of this
  /// rank's GPU. The first call chooses how such values travel, in one meeting of all ranks; NCCL then takes about a
  /// second and some hundred MiB of the GPU. Throws Error on every rank where what they wish for cannot be had.
  DeviceTransport connect_device(int device) const;
  /// Replaces `automatic` for what follows. Collective: the same on all ranks, while no such sum is under way.
  void set_device_transport(DeviceTransport wish) const { backend_->wish_for(wish); }
  /// What was chosen, in words, and why it is not NCCL: "NCCL 2.28.9, multicast off".
  std::string describe_device_transport() const { return backend_->describe_device_transport(); }
  /// All ranks are about to sum as many values of one type on their devices; else every rank throws
  /// DisagreementError, or RefusedError. One message of 32 bytes, on the host.
  void agree_on_device_sum(WireType type, std::size_t count, std::uint64_t tag) const;
  /// Every rank's bytes, one rank after the other, to everybody. Ranks have agreed. NCCL does it in the order of the
  /// stream; for MPI the caller has waited for it.
  void all_gather_on_device(const void* mine, void* all, std::size_t bytes, CUstream_st* stream) const {
    backend_->all_gather_on_device(mine, all, bytes, stream);
  }
  /// The sum in place, in the order that NCCL or MPI likes. As above.
  void all_reduce_on_device(void* values, std::size_t count, WireType type, CUstream_st* stream) const {
    backend_->all_reduce_on_device(values, count, type, stream);
  }
  /// exchange() of messages in device memory, not where the transport is staged. NCCL does it in the order of the
  /// stream, and ranks have agreed before; for MPI the caller has waited for it.
  void exchange_on_device(std::span<const Message> sends, std::span<const Message> receives,
                          CUstream_st* stream) const {
    backend_->exchange_on_device(sends, receives, stream);
  }

  /// Whether both have the same processes in the same order: copies, or duplicates of one MPI communicator. Local.
  bool same_ranks(const Communicator& other) const {
    return backend_ == other.backend_ || backend_->same_ranks(*other.backend_);
  }

 private:
  std::shared_ptr<CommunicatorBackend> backend_;
};

}  // namespace blockvec
