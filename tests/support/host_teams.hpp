#pragma once

#include <Kokkos_Core.hpp>
#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

/// Teams of the host's threads, in which the kernels that a device runs in teams are tested in the host's memory.
namespace blockvec::testing {

/// A thread of a team.
struct HostMember {
  int rank, size;
  std::barrier<>* barrier;
  KOKKOS_FUNCTION int team_rank() const { return rank; }
  KOKKOS_FUNCTION int team_size() const { return size; }
  KOKKOS_FUNCTION void team_barrier() const {
#ifndef __CUDA_ARCH__
    barrier->arrive_and_wait();
#endif
  }
};

/// body(member, team, scratch) in `teams` teams of `threads` threads, one team after the other.
template <class Body>
void run_host_teams(int teams, int threads, std::size_t bytes, const Body& body) {
  std::vector<double> scratch((bytes + sizeof(double) - 1) / sizeof(double));
  std::barrier<> barrier(threads);
  std::vector<std::jthread> members;
  for (int rank = 0; rank < threads; ++rank) {
    members.emplace_back([&, rank] {
      const HostMember member{rank, threads, &barrier};
      for (int team = 0; team < teams; ++team) {
        body(member, team, reinterpret_cast<std::byte*>(scratch.data()));
        member.team_barrier();
      }
    });
  }
}

}  // namespace blockvec::testing
