#include <algorithm>
#include <blockvec/kernels/double_double.hpp>
#include <blockvec/kernels/error.hpp>
#include <blockvec/mpi.hpp>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "blockvec/mpi_world.hpp"

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

std::size_t bytes_of(WireType type) {
  return type == WireType::float32 ? 4 : type == WireType::double_double ? sizeof(DoubleDouble) : 8;
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
  explicit MpiBackend(MPI_Comm parent) {
    check(MPI_Comm_dup(parent, &communicator_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
    MPI_Comm local = MPI_COMM_NULL;
    check(MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
          "MPI_Comm_split_type");
    MPI_Comm_size(local, &local_size_);
    MPI_Comm_free(&local);
    constexpr int commutes = 1;
    check(MPI_Type_contiguous(2, MPI_DOUBLE, &double_double_), "MPI_Type_contiguous");
    check(MPI_Type_commit(&double_double_), "MPI_Type_commit");
    check(MPI_Op_create(add_double_doubles, commutes, &double_double_sum_), "MPI_Op_create");
  }
  ~MpiBackend() override {
    if (!mpi_is_running()) return;
    MPI_Op_free(&double_double_sum_);
    MPI_Type_free(&double_double_);
    MPI_Comm_free(&communicator_);
  }
  std::string name() const override { return "MPI"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }

  void all_reduce(void* values, std::size_t count, WireType type, Reduction reduction) override {
    const bool pairs = type == WireType::double_double;
    const MPI_Datatype element = pairs ? double_double_ : mpi_type(type);
    const MPI_Op operation = pairs ? double_double_sum_ : mpi_operation(reduction);
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
    constexpr int tag = 1;
    requests_.clear();
    for (const Message& message : receives) {
      in_pieces(message.data, message.bytes, 1, [&](void* piece, int length) {
        check(MPI_Irecv(piece, length, MPI_BYTE, message.rank, tag, communicator_, &requests_.emplace_back()),
              "MPI_Irecv");
      });
    }
    for (const Message& message : sends) {
      in_pieces(message.data, message.bytes, 1, [&](void* piece, int length) {
        check(MPI_Isend(piece, length, MPI_BYTE, message.rank, tag, communicator_, &requests_.emplace_back()),
              "MPI_Isend");
      });
    }
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  void barrier() override { check(MPI_Barrier(communicator_), "MPI_Barrier"); }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  MPI_Datatype double_double_ = MPI_DATATYPE_NULL;
  MPI_Op double_double_sum_ = MPI_OP_NULL;
  int rank_ = 0;
  int size_ = 1;
  int local_size_ = 1;
  std::vector<MPI_Request> requests_;
};

}  // namespace

Communicator mpi_communicator(MPI_Comm communicator) {
  if (!mpi_is_running()) throw Error("mpi_communicator: MPI is not running");
  return Communicator(std::make_shared<MpiBackend>(communicator));
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
  return std::make_shared<MpiBackend>(MPI_COMM_WORLD);
}

bool start_mpi(int& argc, char**& argv) {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return false;
  int provided = 0;
  // Threads work between MPI calls only.
  check(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
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
