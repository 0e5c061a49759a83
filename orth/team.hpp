#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/context.hpp>
#include <cstddef>
#include <string>
#include <utility>

/// Kernels of one team of threads, for what is too small to be spread over a device. Bodies are objects of named types
/// with a KOKKOS_FUNCTION template operator()(const Team&, std::byte* scratch), as in orth/dense/loops.hpp.
namespace blockvec::orth {

/// The team of the host's loops.
struct OneThread {
  KOKKOS_FUNCTION int team_rank() const { return 0; }
  KOKKOS_FUNCTION int team_size() const { return 1; }
  KOKKOS_FUNCTION void team_barrier() const {}
};

/// What the calling thread has written reaches the host before what is written after this by a thread that knows of it.
KOKKOS_INLINE_FUNCTION void fence_for_host() {
#ifdef __CUDA_ARCH__
  __threadfence_system();  // Kokkos has one for the device alone
#endif
}

/// Allows the next kernel to start now, if it was launched to start early and to wait for what it reads.
KOKKOS_INLINE_FUNCTION void release_next_kernel() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

inline constexpr int team_threads = 256;
/// Bytes of scratch memory that a team has in its multiprocessor, whatever the device.
inline constexpr std::size_t team_scratch_bytes = std::size_t{44} << 10;
inline constexpr std::size_t team_scratch_alignment = 16;

template <class Body>
struct InTeam {
  Body body;
  std::size_t bytes;
  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    release_next_kernel();  // one team leaves the device to those who come next
    body(team, static_cast<std::byte*>(team.team_scratch(0).get_shmem_aligned(bytes, team_scratch_alignment)));
  }
};

/// Runs body(team, scratch) with `bytes` bytes of scratch memory, at most team_scratch_bytes on a device: by one
/// thread, at once, on the host; by one team of team_threads threads, in the order of the context's instance, on a
/// device.
template <class Space, class Body>
void run_in_team(const Context& context, std::size_t bytes, Body body) {
  if constexpr (is_host_space<Space>) {
    WorkspaceScope<Space> scope(context);
    body(OneThread{}, scope.template take<std::byte>(bytes));
  } else {
    using Policy = Kokkos::TeamPolicy<ExecutionSpaceOf<Space>, Kokkos::LaunchBounds<team_threads, 1>>;
    static const std::string label("BlockVec::orth::team");  // kept: a call allocates nothing
    Policy policy(context.execution_space<Space>(), 1, team_threads);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes + team_scratch_alignment)));
    Kokkos::parallel_for(label, policy, InTeam<Body>{std::move(body), bytes});
  }
}

}  // namespace blockvec::orth
