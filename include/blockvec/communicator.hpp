#pragma once

#include <blockvec/kernels/double_double.hpp>
#include <blockvec/scalar.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace blockvec {

enum class Reduction { sum, max, min };
enum class WireType {
  float32,
  float64,
  int64,
  double_double  ///< two float64, as DoubleDouble; sum only
};

/// A contiguous piece of memory that goes to, or comes from, another rank.
struct Message {
  int rank = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// What a way of communication has to offer. A new one (NCCL, say) is one more class behind Communicator.
class CommunicatorBackend {
 public:
  virtual ~CommunicatorBackend() = default;
  virtual std::string name() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks that share this rank's machine, itself included.
  virtual int local_size() const = 0;
  /// In place over all ranks, with the same bits everywhere afterwards.
  virtual void all_reduce(void* values, std::size_t count, WireType type, Reduction reduction) = 0;
  virtual void broadcast(void* values, std::size_t bytes, int root) = 0;
  /// Posts all receives, then all sends, and waits for them.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives) = 0;
  virtual void barrier() = 0;
};

/// The ranks that share a block vector: this process alone, or an MPI communicator. A handle: copies share the ranks.
/// Every operation is collective; a failure of the transport is an Error that names the operation.
class Communicator {
 public:
  /// This process alone.
  static Communicator self();
  /// All ranks of MPI if it is running with more than one, else this process alone.
  static Communicator world();
  explicit Communicator(std::shared_ptr<CommunicatorBackend> backend) : backend_(std::move(backend)) {}

  int rank() const { return backend_->rank(); }
  int size() const { return backend_->size(); }
  int local_size() const { return backend_->local_size(); }
  std::string name() const { return backend_->name(); }

  /// Reduces `values` in place over all ranks; complex values count as pairs of reals (sum only). One message in the
  /// machine's sense.
  void sum(std::span<float> values) const;
  void sum(std::span<double> values) const;
  void sum(std::span<Complex<float>> values) const;
  void sum(std::span<Complex<double>> values) const;
  void sum(std::span<std::int64_t> values) const;
  void sum(std::span<DoubleDouble> values) const;
  void max(std::span<double> values) const;
  void max(std::span<std::int64_t> values) const;
  void min(std::span<std::int64_t> values) const;

  /// The root's bytes to everybody.
  void broadcast(std::span<std::byte> values, int root) const {
    backend_->broadcast(values.data(), values.size(), root);
  }
  /// One message per entry and direction; both sides name the same sizes.
  void exchange(std::span<const Message> sends, std::span<const Message> receives) const {
    backend_->exchange(sends, receives);
  }
  void barrier() const { backend_->barrier(); }

  /// Throws Error with `message` on every rank if `ok` is false on any; the message of the lowest such rank is used.
  /// Two small reductions.
  void agree(bool ok, const std::string& message) const;

  bool same_ranks(const Communicator& other) const { return backend_ == other.backend_; }

 private:
  std::shared_ptr<CommunicatorBackend> backend_;
};

}  // namespace blockvec
