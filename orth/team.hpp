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
inline constexpr int threads_in_step = 32;  ///< of a team: those of one warp
/// Bytes of scratch memory that a team has in its multiprocessor, whatever the device.
inline constexpr std::size_t team_scratch_bytes = std::size_t{44} << 10;
inline constexpr std::size_t team_scratch_alignment = 16;

/// The number of a team's threads: on a device the compiler knows it.
template <class Team>
KOKKOS_INLINE_FUNCTION int threads_of(const Team& team) {
#ifdef __CUDA_ARCH__
  static_cast<void>(team);
  return team_threads;
#else
  return team.team_size();
#endif
}

/// How many of `things` things a thread of a team gets that takes every threads-th from its own number on; at most
/// most_shares, and on a device that many.
#ifdef __CUDA_ARCH__
template <int things>
inline constexpr int most_shares = (things + team_threads - 1) / team_threads;
template <int things>
KOKKOS_INLINE_FUNCTION constexpr int shares_of(int, int) {
  return most_shares<things>;
}
#define BLOCKVEC_UNROLL _Pragma("unroll")
#define BLOCKVEC_KEEP_LOOP _Pragma("unroll 1")  // a kernel that runs once a call waits for its code: short is fast
#else
template <int things>
inline constexpr int most_shares = things;
template <int things>
constexpr int shares_of(int thread, int threads) {
  return (things - thread + threads - 1) / threads;
}
#define BLOCKVEC_UNROLL
#define BLOCKVEC_KEEP_LOOP
#endif

/// A barrier for the threads of one warp, or for one thread.
KOKKOS_INLINE_FUNCTION void wait_for_those_in_step() {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

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
