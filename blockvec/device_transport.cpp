#include "blockvec/device_transport.hpp"

#include <blockvec/kernels/error.hpp>
#include <cstring>

namespace blockvec::detail {
namespace {

bool share_a_gpu(const DeviceFacts& a, const DeviceFacts& b) {
  if (std::memcmp(a.uuid, b.uuid, sizeof a.uuid) == 0) return true;
  return a.machine == b.machine && std::strcmp(a.pci, b.pci) == 0;
}

// Why these ranks cannot form a communicator of NCCL: empty where nothing is known against it.
std::string against_nccl(std::span<const DeviceFacts> ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].has_nccl == 0) return "built without NCCL";
    for (std::size_t j = 0; j < i; ++j) {
      if (share_a_gpu(ranks[i], ranks[j])) {
        return "ranks " + std::to_string(j) + " and " + std::to_string(i) + " share the GPU " + ranks[i].pci;
      }
    }
  }
  return {};
}

void require_one_wish(std::span<const DeviceFacts> ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string rank = "rank " + std::to_string(i);
    if (ranks[i].is_wish_known == 0) {
      throw Error("BLOCKVEC_DEVICE_TRANSPORT on " + rank + ": expected automatic, staged, mpi or nccl");
    }
    if (ranks[i].wish != ranks[0].wish) {
      throw Error(std::string("device transport: rank 0 wishes for ") + name_of(ranks[0].wish) + ", " + rank + " for " +
                  name_of(ranks[i].wish) + "; expected one on all ranks");
    }
  }
}

}  // namespace

const char* name_of(DeviceTransport transport) {
  switch (transport) {
    case DeviceTransport::staged:
      return "staged";
    case DeviceTransport::mpi:
      return "mpi";
    case DeviceTransport::nccl:
      return "nccl";
    case DeviceTransport::automatic:
      break;
  }
  return "automatic";
}

void read_wish(const char* text, DeviceFacts& facts) {
  if (text == nullptr) return;
  for (const auto known :
       {DeviceTransport::automatic, DeviceTransport::staged, DeviceTransport::mpi, DeviceTransport::nccl}) {
    if (std::strcmp(text, name_of(known)) == 0) {
      facts.wish = known;
      return;
    }
  }
  facts.is_wish_known = 0;
}

DeviceChoice choose_device_transport(std::span<const DeviceFacts> ranks, std::string_view nccl_failure) {
  require_one_wish(ranks);
  const DeviceTransport wish = ranks[0].wish;
  if (wish == DeviceTransport::staged || wish == DeviceTransport::mpi) return {wish, "as wished"};
  const std::string reason = nccl_failure.empty() ? against_nccl(ranks) : std::string(nccl_failure);
  if (reason.empty()) return {DeviceTransport::nccl, {}};
  if (wish == DeviceTransport::nccl) throw Error("device transport: NCCL was wished for and cannot be used: " + reason);
  for (const DeviceFacts& rank : ranks) {
    if (rank.takes_device_pointers == 0) return {DeviceTransport::staged, reason};
  }
  return {DeviceTransport::mpi, reason};
}

}  // namespace blockvec::detail
