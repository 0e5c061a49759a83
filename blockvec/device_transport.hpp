#pragma once

#include <blockvec/communicator.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// How sums of values in device memory cross ranks is chosen from what all ranks say of themselves: a function of
/// values, the same on every rank.
namespace blockvec::detail {

/// What one rank says of itself. A message.
struct DeviceFacts {
  DeviceTransport wish = DeviceTransport::automatic;
  std::int32_t is_wish_known = 1;          ///< 0: BLOCKVEC_DEVICE_TRANSPORT has a value that is none
  std::int32_t machine = 0;                ///< the lowest rank on the same machine
  std::int32_t takes_device_pointers = 0;  ///< its MPI does
  std::int32_t has_nccl = 0;
  char uuid[16] = {};  ///< of the GPU
  char pci[32] = {};   ///< its place in the machine, as text with a zero at the end
};

struct DeviceChoice {
  DeviceTransport transport = DeviceTransport::staged;
  std::string reason;  ///< why it is not NCCL; empty where it is, or where nobody expected it
};

/// NCCL where it is and every rank has a GPU of its own; else MPI with device pointers where all ranks' MPI takes them;
/// else MPI through host memory. A wish decides; for MPI with device pointers it is believed to know better.
/// nccl_failure, unless empty, says why NCCL cannot be used after all.
/// Throws Error where ranks wish for different things, or for NCCL that cannot be.
DeviceChoice choose_device_transport(std::span<const DeviceFacts> ranks, std::string_view nccl_failure = {});

/// What BLOCKVEC_DEVICE_TRANSPORT says: automatic, staged, mpi or nccl. Automatic where it is not set.
void read_wish(const char* text, DeviceFacts& facts);

const char* name_of(DeviceTransport transport);

}  // namespace blockvec::detail
