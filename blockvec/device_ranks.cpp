#include "blockvec/device_ranks.hpp"

#include <cuda_runtime.h>

#include <blockvec/kernels/error.hpp>
#include <blockvec/mpi.hpp>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

namespace blockvec::detail {
namespace {

void check(int status, const char* operation) {
  if (status != MPI_SUCCESS) throw Error(std::string(operation) + " failed between devices");
}

// The lowest rank of `communicator` on this rank's machine.
int first_rank_here(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm machine = MPI_COMM_NULL;
  check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
  check(MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MIN, machine), "MPI_Allreduce");
  MPI_Comm_free(&machine);
  return rank;
}

#if BLOCKVEC_HAVE_NCCL
void check(ncclResult_t status, const char* operation, ncclComm_t communicator) {
  if (status == ncclSuccess) return;
  throw Error(std::string(operation) + " failed: " + ncclGetErrorString(status) + " (" +
              ncclGetLastError(communicator) + ")");
}

ncclDataType_t nccl_type(WireType type) {
  return type == WireType::float32 ? ncclFloat32 : type == WireType::float64 ? ncclFloat64 : ncclInt64;
}

std::string nccl_version() {
  int code = 0;
  ncclGetVersion(&code);
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

// Multicast in NVLink switches (NVLS) is off up to NCCL 2.28, unless the user has set NCCL_NVLS_ENABLE. Returns whether
// it is off.
bool turn_multicast_off() {
  int code = 0;
  ncclGetVersion(&code);
  constexpr int first_trusted = 22900;
  if (code < first_trusted) setenv("NCCL_NVLS_ENABLE", "0", 0);
  const char* const enabled = std::getenv("NCCL_NVLS_ENABLE");
  return enabled != nullptr && std::strcmp(enabled, "0") == 0;
}
#endif

}  // namespace

DeviceRanks::DeviceRanks(MPI_Comm communicator, int device, DeviceTransport wish)
    : communicator_(communicator), device_(device) {
  const DeviceFacts mine = facts(wish);
  int size = 1;
  MPI_Comm_size(communicator_, &size);
  std::vector<DeviceFacts> all(static_cast<std::size_t>(size));
  check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, communicator_), "MPI_Allgather");
  choice_ = choose_device_transport(all);
  if (choice_.transport != DeviceTransport::nccl) return;
  const std::string failure = start_nccl();
  if (!failure.empty()) choice_ = choose_device_transport(all, failure);
}

DeviceFacts DeviceRanks::facts(DeviceTransport wish) const {
  DeviceFacts mine;
  mine.wish = wish;
  if (wish == DeviceTransport::automatic) read_wish(std::getenv("BLOCKVEC_DEVICE_TRANSPORT"), mine);
  mine.machine = first_rank_here(communicator_);
  mine.takes_device_pointers = mpi_takes_device_pointers() ? 1 : 0;
  mine.has_nccl = BLOCKVEC_HAVE_NCCL;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device_) == cudaSuccess) {
    std::memcpy(mine.uuid, properties.uuid.bytes, sizeof mine.uuid);
    std::snprintf(mine.pci, sizeof mine.pci, "%04x:%02x:%02x", static_cast<unsigned>(properties.pciDomainID),
                  static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  }
  return mine;
}

std::string DeviceRanks::describe() const {
  const std::string reason = choice_.reason.empty() ? "" : " (" + choice_.reason + ")";
#if BLOCKVEC_HAVE_NCCL
  if (nccl_ != nullptr) return "NCCL " + nccl_version() + (multicast_is_off_ ? ", multicast off" : "") + reason;
#endif
  return (choice_.transport == DeviceTransport::mpi ? "MPI with device pointers" : "MPI through host memory") + reason;
}

#if BLOCKVEC_HAVE_NCCL

// Returns why it did not work, on every rank alike; empty where it did.
std::string DeviceRanks::start_nccl() {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator_, &rank);
  MPI_Comm_size(communicator_, &size);
  multicast_is_off_ = turn_multicast_off();
  struct {
    ncclUniqueId id;
    ncclResult_t status;
  } start{};
  if (rank == 0) start.status = ncclGetUniqueId(&start.id);
  check(MPI_Bcast(&start, sizeof start, MPI_BYTE, 0, communicator_), "MPI_Bcast");
  if (start.status != ncclSuccess) return std::string("ncclGetUniqueId: ") + ncclGetErrorString(start.status);

  char reason[256] = {};
  const cudaError_t selected = cudaSetDevice(device_);
  if (selected != cudaSuccess) std::snprintf(reason, sizeof reason, "cudaSetDevice: %s", cudaGetErrorString(selected));
  const ncclResult_t status = ncclCommInitRank(&nccl_, size, start.id, rank);
  if (status != ncclSuccess) {
    std::snprintf(reason, sizeof reason, "ncclCommInitRank on rank %d: %s", rank, ncclGetErrorString(status));
  }
  const auto give_up = [&] {  // closes the connections: ranks that still wait for this one fail, too
    if (nccl_ != nullptr) ncclCommAbort(nccl_);
    nccl_ = nullptr;
  };
  const bool failed = reason[0] != 0;
  if (failed) give_up();
  int failing = failed ? rank : size;
  check(MPI_Allreduce(MPI_IN_PLACE, &failing, 1, MPI_INT, MPI_MIN, communicator_), "MPI_Allreduce");
  if (failing == size) return {};
  give_up();
  check(MPI_Bcast(reason, sizeof reason, MPI_BYTE, failing, communicator_), "MPI_Bcast");
  return reason;
}

// Ranks that still use the communicator are waited for, unless an error ends this one: then they must not be.
DeviceRanks::~DeviceRanks() {
  if (nccl_ == nullptr) return;
  if (std::uncaught_exceptions() > 0) {
    ncclCommAbort(nccl_);
  } else {
    ncclCommDestroy(nccl_);
  }
}

void DeviceRanks::all_reduce(void* values, std::size_t count, WireType type, CUstream_st* stream) {
  check(ncclAllReduce(values, values, count, nccl_type(type), ncclSum, nccl_, stream), "ncclAllReduce", nccl_);
}

void DeviceRanks::exchange(std::span<const Message> sends, std::span<const Message> receives, CUstream_st* stream) {
  check(ncclGroupStart(), "ncclGroupStart", nccl_);
  for (const Message& message : receives) {
    check(ncclRecv(message.data, message.bytes, ncclInt8, message.rank, nccl_, stream), "ncclRecv", nccl_);
  }
  for (const Message& message : sends) {
    check(ncclSend(message.data, message.bytes, ncclInt8, message.rank, nccl_, stream), "ncclSend", nccl_);
  }
  check(ncclGroupEnd(), "ncclGroupEnd", nccl_);
}

#else

std::string DeviceRanks::start_nccl() { return "built without NCCL"; }
DeviceRanks::~DeviceRanks() = default;
void DeviceRanks::all_reduce(void*, std::size_t, WireType, CUstream_st*) {}
void DeviceRanks::exchange(std::span<const Message>, std::span<const Message>, CUstream_st*) {}

#endif

void DeviceRanks::all_gather(const void* mine, void* all, std::size_t bytes, [[maybe_unused]] CUstream_st* stream) {
#if BLOCKVEC_HAVE_NCCL
  if (nccl_ != nullptr) {
    return check(ncclAllGather(mine, all, bytes, ncclInt8, nccl_, stream), "ncclAllGather", nccl_);
  }
#endif
  if (bytes > INT_MAX) throw Error("MPI_Allgather between devices: more than 2 GiB a rank");
  const int length = static_cast<int>(bytes);
  check(MPI_Allgather(mine, length, MPI_BYTE, all, length, MPI_BYTE, communicator_), "MPI_Allgather");
}

}  // namespace blockvec::detail
