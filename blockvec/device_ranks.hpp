#pragma once

#include <mpi.h>

#include <blockvec/config.hpp>
#include <cstddef>
#include <span>
#include <string>

#include "blockvec/device_transport.hpp"

#if BLOCKVEC_HAVE_NCCL
#include <nccl.h>
#endif

namespace blockvec::detail {

/// The GPUs of an MPI communicator's ranks and how values in their memory get from one to the others. NCCL sends in the
/// order of a stream; MPI sends what is there when it is called.
class DeviceRanks {
 public:
  /// Collective; `device` is the CUDA runtime's number of this rank's GPU. Throws on every rank alike.
  DeviceRanks(MPI_Comm communicator, int device, DeviceTransport wish);
  ~DeviceRanks();
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;

  int device() const { return device_; }
  DeviceTransport transport() const { return choice_.transport; }
  /// In words, with the reason.
  std::string describe() const;

  /// Every rank's `bytes` bytes, one rank after the other, on every rank. Not where the transport is staged.
  void all_gather(const void* mine, void* all, std::size_t bytes, CUstream_st* stream);
  /// The sum, in place. With NCCL alone.
  void all_reduce(void* values, std::size_t count, WireType type, CUstream_st* stream);
  /// Messages between pairs of ranks. With NCCL alone.
  void exchange(std::span<const Message> sends, std::span<const Message> receives, CUstream_st* stream);

 private:
  DeviceFacts facts(DeviceTransport wish) const;
  std::string start_nccl();

  MPI_Comm communicator_;
  int device_;
  DeviceChoice choice_;
#if BLOCKVEC_HAVE_NCCL
  ncclComm_t nccl_ = nullptr;
  bool multicast_is_off_ = false;
#endif
};

}  // namespace blockvec::detail
