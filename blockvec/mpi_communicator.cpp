#include <algorithm>
#include <blockvec/kernels/double_double.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/mpi.hpp>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blockvec/mpi_world.hpp"
#include "blockvec/ranks_in_pairs.hpp"

#if BLOCKVEC_HAVE_CUDA_SPACE
#include "blockvec/device_ranks.hpp"
#endif
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace blockvec {
namespace {

bool mpi_is_running() {
  int started = 0;
  int stopped = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&stopped);
  return started != 0 && stopped == 0;
}

void check(int status, const char* operation) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(std::string(operation) + " failed: " + std::string(text, static_cast<std::size_t>(length)));
}

MPI_Datatype mpi_type(WireType type) {
  switch (type) {
    case WireType::float32:
      return MPI_FLOAT;
    case WireType::float64:
      return MPI_DOUBLE;
    case WireType::int64:
      return MPI_INT64_T;
    case WireType::double_double:
      break;
  }
  return MPI_DATATYPE_NULL;  // MpiBackend's own
}

// An MPI_Op. It commutes to the last bit, so that all ranks get the same bits where MPI lets them add in pairs.
extern "C" void add_double_doubles(void* from, void* to, int* count, MPI_Datatype*) {
  const auto* const terms = static_cast<const DoubleDouble*>(from);
  auto* const sums = static_cast<DoubleDouble*>(to);
  for (int i = 0; i < *count; ++i) sums[i] = sums[i] + terms[i];
}

MPI_Op mpi_operation(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::max:
      return MPI_MAX;
    case Reduction::min:
      break;
  }
  return MPI_MIN;
}

// A type of some adjacent elements, and an operation on it that commutes.
class TypeWithOperation {
 public:
  TypeWithOperation(int elements, MPI_Datatype element, MPI_User_function* function) {
    constexpr int commutes = 1;
    check(MPI_Type_contiguous(elements, element, &type_), "MPI_Type_contiguous");
    check(MPI_Type_commit(&type_), "MPI_Type_commit");
    check(MPI_Op_create(function, commutes, &operation_), "MPI_Op_create");
  }
  ~TypeWithOperation() {
    if (!mpi_is_running()) return;
    MPI_Op_free(&operation_);
    MPI_Type_free(&type_);
  }
  TypeWithOperation(const TypeWithOperation&) = delete;
  TypeWithOperation& operator=(const TypeWithOperation&) = delete;
  MPI_Datatype type() const { return type_; }
  MPI_Op operation() const { return operation_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op operation_ = MPI_OP_NULL;
};

int ranks_on_this_machine(MPI_Comm communicator) {
  MPI_Comm local = MPI_COMM_NULL;
  int size = 1;
  check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local), "MPI_Comm_split_type");
  MPI_Comm_size(local, &size);
  MPI_Comm_free(&local);
  return size;
}

// Of the whole job; 0 where that is not known: only all its ranks together can count.
int job_ranks_on_this_machine = 0;

// What the launcher says, for ranks that start with a part of the job; 0 where it says nothing.
int launched_on_this_machine() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const char* const text = std::getenv(name)) return std::max(0, std::atoi(text));
  }
  return 0;
}

// MPI counts are ints: longer transfers go in pieces.
template <class Transfer>
void in_pieces(void* data, std::size_t count, std::size_t element_bytes, Transfer transfer) {
  constexpr std::size_t largest = INT_MAX / 2;
  for (std::size_t done = 0; done < count; done += largest) {
    transfer(static_cast<char*>(data) + done * element_bytes, static_cast<int>(std::min(largest, count - done)));
  }
}

class MpiBackend final : public CommunicatorBackend {
 public:
  explicit MpiBackend(MPI_Comm parent) : double_doubles_(2, MPI_DOUBLE, add_double_doubles) {
    check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
    const int known = job_ranks_on_this_machine > 0 ? job_ranks_on_this_machine : launched_on_this_machine();
    local_size_ = std::max(known, ranks_on_this_machine(communicator_));
  }
  ~MpiBackend() override {
    if (mpi_is_running()) MPI_Comm_free(&communicator_);
  }
  std::string name() const override { return "MPI"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }

  bool same_ranks(const CommunicatorBackend& other) const override {
    const auto* const mpi = dynamic_cast<const MpiBackend*>(&other);
    if (mpi == nullptr) return size_ == 1 && other.size() == 1;
    int result = MPI_UNEQUAL;
    check(MPI_Comm_compare(communicator_, mpi->communicator_, &result), "MPI_Comm_compare");
    return result == MPI_IDENT || result == MPI_CONGRUENT;
  }

  void meet(Envelope& envelope) override {
    if (envelope.refusing == rank_) send_notices();
    merge_over_ranks(envelope);
    if (envelope.refusing == Envelope::nobody) return;
    finish_notices();
    ++refusals_;
  }

  void all_reduce(void* values, std::size_t count, WireType type, Reduction reduction) override {
    const bool pairs = type == WireType::double_double;
    const MPI_Datatype element = pairs ? double_doubles_.type() : mpi_type(type);
    const MPI_Op operation = pairs ? double_doubles_.operation() : mpi_operation(reduction);
    in_pieces(values, count, bytes_of(type), [&](void* piece, int length) {
      check(MPI_Allreduce(MPI_IN_PLACE, piece, length, element, operation, communicator_), "MPI_Allreduce");
    });
  }

  void broadcast(void* values, std::size_t bytes, int root) override {
    in_pieces(values, bytes, 1, [&](void* piece, int length) {
      check(MPI_Bcast(piece, length, MPI_BYTE, root, communicator_), "MPI_Bcast");
    });
  }

  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    const int tag = data_tag();
    requests_.clear();
    for (const Message& message : receives) {
      in_pieces(message.data, message.bytes, 1, [&](void* piece, int length) {
        check(MPI_Irecv(piece, length, MPI_BYTE, message.rank, tag, communicator_, &requests_.emplace_back()),
              "MPI_Irecv");
      });
    }
    const std::size_t received = requests_.size();
    for (const Message& message : sends) {
      in_pieces(message.data, message.bytes, 1, [&](void* piece, int length) {
        check(MPI_Isend(piece, length, MPI_BYTE, message.rank, tag, communicator_, &requests_.emplace_back()),
              "MPI_Isend");
      });
    }
    statuses_.resize(requests_.size());
    while (!all_done()) {
      if (!notice_came()) continue;
      // A rank that has done its part here may have met an error since: what it took and sent before is complete by
      // now.
      if (all_done()) break;
      abandon(received);
    }
    require_sizes(receives);
  }

#if BLOCKVEC_HAVE_CUDA_SPACE
  DeviceTransport device_transport(int device) const override {
    return devices_ && devices_->device() == device ? devices_->transport() : DeviceTransport::automatic;
  }
  void connect_device(int device) override {
    devices_ = std::make_unique<detail::DeviceRanks>(communicator_, device, wish_);
  }
  void wish_for(DeviceTransport wish) override {
    wish_ = wish;
    devices_.reset();
  }
  std::string describe_device_transport() const override { return devices_ ? devices_->describe() : "not yet chosen"; }
  void all_gather_on_device(const void* mine, void* all, std::size_t bytes, CUstream_st* stream) override {
    devices_->all_gather(mine, all, bytes, stream);
  }
  void all_reduce_on_device(void* values, std::size_t count, WireType type, CUstream_st* stream) override {
    if (devices_->transport() == DeviceTransport::nccl) return devices_->all_reduce(values, count, type, stream);
    all_reduce(values, count, type, Reduction::sum);
  }
  void exchange_on_device(std::span<const Message> sends, std::span<const Message> receives,
                          CUstream_st* stream) override {
    if (devices_->transport() == DeviceTransport::nccl) return devices_->exchange(sends, receives, stream);
    exchange(sends, receives);
  }
#endif

 private:
  // ---- meetings

  void send(const Envelope& envelope, int rank) {
    check(MPI_Send(&envelope, static_cast<int>(envelope.bytes()), MPI_BYTE, rank, meeting_tag, communicator_),
          "MPI_Send");
  }
  void receive(Envelope& envelope, int rank) {
    check(MPI_Recv(&envelope, sizeof envelope, MPI_BYTE, rank, meeting_tag, communicator_, MPI_STATUS_IGNORE),
          "MPI_Recv");
  }

  // In the order of ranks_in_pairs.hpp: by pairs of ranks, then pairs of pairs, each time with a message both ways.
  // MPI_Allreduce would do the same but for the lengths, which must be one on all ranks there; here each message is as
  // long as its sender has something to say.
  void merge_over_ranks(Envelope& envelope) {
    const int paired = paired_ranks(size_);
    if (rank_ >= paired) {
      send(envelope, rank_ - paired);
      return receive(envelope, rank_ - paired);
    }
    const bool has_follower = rank_ + paired < size_;
    if (has_follower) {
      receive(incoming_, rank_ + paired);
      envelope.merge(incoming_);
    }
    Envelope *merged = &envelope, *other = &incoming_;
    for (int distance = 1; distance < paired; distance *= 2) {
      const int partner = rank_ ^ distance;
      check(MPI_Sendrecv(merged, static_cast<int>(merged->bytes()), MPI_BYTE, partner, meeting_tag, other,
                         sizeof(Envelope), MPI_BYTE, partner, meeting_tag, communicator_, MPI_STATUS_IGNORE),
            "MPI_Sendrecv");
      if (partner < rank_) std::swap(merged, other);  // the lower ranks' values come first on both sides
      merged->merge(*other);
    }
    if (merged != &envelope) envelope.assign(*merged);
    if (has_follower) send(envelope, rank_ + paired);
  }

  // ---- refusals: a rank that refuses tells all others by a message of its own, for the sake of those in exchange()
  // ---- Tags count refusals, so that what an abandoned exchange has left behind never meets a later one.

  static constexpr int tags = 8192;  // MPI has at least four times as many
  int data_tag() const { return static_cast<int>(refusals_ % tags); }
  int notice_tag() const { return tags + data_tag(); }
  static constexpr int meeting_tag = 2 * tags;

  void send_notices() {
    notices_.clear();
    for (int rank = 0; rank < size_; ++rank) {
      if (rank == rank_) continue;
      check(MPI_Isend(nullptr, 0, MPI_BYTE, rank, notice_tag(), communicator_, &notices_.emplace_back()), "MPI_Isend");
    }
  }

  bool notice_came() {
    int came = 0;
    check(MPI_Iprobe(MPI_ANY_SOURCE, notice_tag(), communicator_, &came, MPI_STATUS_IGNORE), "MPI_Iprobe");
    return came != 0;
  }

  // All ranks have met: what they told one another is taken from the queues, as far as it has come.
  void finish_notices() {
    MPI_Status status;
    for (int came = 1; came != 0;) {
      check(MPI_Iprobe(MPI_ANY_SOURCE, notice_tag(), communicator_, &came, &status), "MPI_Iprobe");
      if (came == 0) break;
      check(MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, notice_tag(), communicator_, MPI_STATUS_IGNORE),
            "MPI_Recv");
    }
    for (MPI_Request& notice : notices_) MPI_Request_free(&notice);  // without data: there is nothing to be kept
    notices_.clear();
  }

  bool all_done() {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data()), "MPI_Testall");
    return done != 0;
  }

  // Leaves an exchange that some rank will not take part in. A receive that has met its message is finished, others
  // are cancelled; sends keep their memory until all ranks have met, and so have nobody left who takes them.
  [[noreturn]] void abandon(std::size_t receives) {
    for (std::size_t i = 0; i < receives; ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&requests_[i]);
      MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
    }
    Envelope envelope;
    meet(envelope);
    for (std::size_t i = receives; i < requests_.size(); ++i) {
      if (requests_[i] != MPI_REQUEST_NULL) MPI_Request_free(&requests_[i]);
    }
    throw RefusedError(envelope);
  }

  // A message that is too long is an error of MPI_Testall.
  void require_sizes(std::span<const Message> receives) const {
    std::size_t next = 0;
    for (const Message& message : receives) {
      in_pieces(message.data, message.bytes, 1, [&](void*, int length) {
        int bytes = 0;
        MPI_Get_count(&statuses_[next++], MPI_BYTE, &bytes);
        if (bytes == length) return;
        throw Error("exchange: rank " + std::to_string(message.rank) + " sent " + std::to_string(bytes) +
                    " bytes, expected " + std::to_string(length));
      });
    }
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  TypeWithOperation double_doubles_;
  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
  std::uint64_t refusals_ = 0;
  std::vector<MPI_Request> requests_, notices_;
  std::vector<MPI_Status> statuses_;
  Envelope incoming_;
#if BLOCKVEC_HAVE_CUDA_SPACE
  DeviceTransport wish_ = DeviceTransport::automatic;
  std::unique_ptr<detail::DeviceRanks> devices_;
#endif
};

// Of all ranks: one for all contexts, since forming a communicator of NCCL takes its time. It is never destroyed at the
// program's end, when MPI and CUDA are gone.
std::shared_ptr<MpiBackend>& world_backend() {
  static auto* const backend = new std::shared_ptr<MpiBackend>();
  return *backend;
}

}  // namespace

Communicator mpi_communicator(MPI_Comm communicator) {
  if (!mpi_is_running()) throw Error("mpi_communicator: MPI is not running");
  return Communicator(std::make_shared<MpiBackend>(communicator));
}

bool mpi_takes_device_pointers() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

namespace detail {

int mpi_world_rank() {
  if (!mpi_is_running()) return -1;
  int size = 1;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return size > 1 ? rank : -1;
}

std::shared_ptr<CommunicatorBackend> mpi_world_backend() {
  if (mpi_world_rank() < 0) return nullptr;
  if (job_ranks_on_this_machine == 0) job_ranks_on_this_machine = ranks_on_this_machine(MPI_COMM_WORLD);
  if (!world_backend()) world_backend() = std::make_shared<MpiBackend>(MPI_COMM_WORLD);
  return world_backend();
}

void forget_mpi_world_backend() { world_backend().reset(); }

bool start_mpi(int& argc, char**& argv) {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return false;
  int provided = 0;
  // Threads work between MPI calls only.
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  job_ranks_on_this_machine = ranks_on_this_machine(MPI_COMM_WORLD);
  return true;
}

void stop_mpi() {
  if (mpi_is_running()) MPI_Finalize();
}

void abort_all_ranks(int status) {
  if (mpi_world_rank() >= 0) MPI_Abort(MPI_COMM_WORLD, status);
}

}  // namespace detail
}  // namespace blockvec
