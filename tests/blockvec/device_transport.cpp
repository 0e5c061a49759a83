// How sums on devices travel: the choice, and the sums themselves as far as the host can try them.
#include "blockvec/device_transport.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

#include "blockvec/add_ranks.hpp"
#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using detail::choose_device_transport;
using detail::DeviceFacts;

/// Ranks of one machine with a GPU each, and all libraries.
std::vector<DeviceFacts> ranks_with_gpus(int count) {
  std::vector<DeviceFacts> ranks(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    DeviceFacts& rank = ranks[static_cast<std::size_t>(i)];
    rank.takes_device_pointers = rank.has_nccl = 1;
    rank.uuid[0] = static_cast<char>(i);
    std::snprintf(rank.pci, sizeof rank.pci, "0000:%02x:00", i);
  }
  return ranks;
}

TEST(DeviceTransport, IsNcclWhereEveryRankHasAGpuOfItsOwn) {
  for (const int count : {1, 2, 8}) {
    const auto choice = choose_device_transport(ranks_with_gpus(count));
    EXPECT_EQ(choice.transport, DeviceTransport::nccl);
    EXPECT_EQ(choice.reason, "");
  }
  auto machines = ranks_with_gpus(2);
  std::snprintf(machines[1].pci, sizeof machines[1].pci, "%s", machines[0].pci);
  machines[1].machine = 1;
  EXPECT_EQ(choose_device_transport(machines).transport, DeviceTransport::nccl) << "the same place in other machines";
}

TEST(DeviceTransport, IsMpiWhereRanksShareAGpu) {
  auto ranks = ranks_with_gpus(3);
  ranks[2].uuid[0] = ranks[1].uuid[0];
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::mpi);
  EXPECT_EQ(choose_device_transport(ranks).reason, "ranks 1 and 2 share the GPU 0000:02:00");
  ranks[0].takes_device_pointers = 0;
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::staged);
  auto parts = ranks_with_gpus(2);  // two instances of a GPU that is divided
  std::snprintf(parts[1].pci, sizeof parts[1].pci, "%s", parts[0].pci);
  EXPECT_EQ(choose_device_transport(parts).reason, "ranks 0 and 1 share the GPU 0000:00:00");
}

TEST(DeviceTransport, IsMpiWhereNcclIsMissingOrFails) {
  auto ranks = ranks_with_gpus(2);
  const auto failed = choose_device_transport(ranks, "ncclCommInitRank on rank 1: system error");
  EXPECT_EQ(failed.transport, DeviceTransport::mpi);
  EXPECT_EQ(failed.reason, "ncclCommInitRank on rank 1: system error");
  ranks[1].has_nccl = 0;
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::mpi);
  EXPECT_EQ(choose_device_transport(ranks).reason, "built without NCCL");
}

TEST(DeviceTransport, FollowsTheWishOfAllRanks) {
  auto ranks = ranks_with_gpus(2);
  const auto wish = [&](const char* first, const char* second) {
    ranks = ranks_with_gpus(2);
    detail::read_wish(first, ranks[0]);
    detail::read_wish(second, ranks[1]);
  };
  const auto refused = [&] { return testing::message_of<Error>([&] { choose_device_transport(ranks); }); };
  wish("staged", "staged");
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::staged);
  wish("mpi", "mpi");
  ranks[0].takes_device_pointers = 0;
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::mpi) << "the user knows better";
  wish("nccl", "nccl");
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::nccl);
  ranks[1].uuid[0] = ranks[0].uuid[0];
  testing::expect_parts(refused(), {"NCCL was wished for", "ranks 0 and 1 share the GPU"});
  wish("nccl", nullptr);
  testing::expect_parts(refused(), {"rank 0 wishes for nccl", "rank 1 for automatic"});
  wish(nullptr, "NCCL");
  testing::expect_parts(refused(), {"BLOCKVEC_DEVICE_TRANSPORT on rank 1", "automatic, staged, mpi or nccl"});
  wish("automatic", nullptr);
  EXPECT_EQ(choose_device_transport(ranks).transport, DeviceTransport::nccl);
}

// What a device does with the parts that an all-gather brings gives the bits that meetings of MPI's ranks give.
TEST(DeviceTransport, GatheredPartsAddUpToWhatMpiSums) {
  const Context context = Context::world(1);
  const int ranks = context.communicator().size();
  constexpr std::int64_t count = 300;
  const auto value = [](int rank, std::int64_t i) {
    return std::ldexp(std::sin(1.0 + 3.0 * rank + static_cast<double>(i)), 5 * rank % 13);
  };
  const auto check = [&]<class Real>(Real, bool double_double) {
    const std::int64_t words = double_double ? 2 * count : count;
    std::vector<Real> parts(static_cast<std::size_t>(ranks * words)), sums(static_cast<std::size_t>(words));
    for (int rank = 0; rank < ranks; ++rank) {
      Real* const part = parts.data() + rank * words;
      for (std::int64_t i = 0; i < count; ++i) part[i] = static_cast<Real>(value(rank, i));
      for (std::int64_t i = count; i < words; ++i) part[i] = static_cast<Real>(1e-9 * value(rank + 1, i));
    }
    std::vector<Real> expected(parts.begin() + context.communicator().rank() * words,
                               parts.begin() + (context.communicator().rank() + 1) * words);
    context.sum_in<Kokkos::HostSpace>(expected.data(), count, 7, double_double);
    if (ranks == 1) return;
    detail::add_ranks<Kokkos::HostSpace>(context, parts.data(), ranks, count, double_double, sums.data());
    EXPECT_EQ(sums, expected) << (double_double ? "double-double" : "plain");
  };
  for (const bool double_double : {false, true}) {
    check(1.0f, double_double);
    check(1.0, double_double);
  }
}

}  // namespace
}  // namespace blockvec
