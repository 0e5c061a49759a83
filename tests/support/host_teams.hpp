#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define BLOCKVEC_TEAMS_OF_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BLOCKVEC_TEAMS_OF_THREADS 1
#endif
#endif

#if BLOCKVEC_TEAMS_OF_THREADS
#include <barrier>
#include <thread>
#else
#include <ucontext.h>
#endif

/// Teams of the host's, in which the kernels that a device runs in teams are tested in the host's memory.
namespace blockvec::testing {

#if BLOCKVEC_TEAMS_OF_THREADS
/// Members are threads, which the sanitizer compares.
class HostTeam {
 public:
  explicit HostTeam(int size) : size_(size), barrier_(size) {}
  /// member(rank) of all ranks.
  void run(const std::function<void(int)>& member) {
    std::vector<std::jthread> members;
    for (int rank = 0; rank < size_; ++rank) members.emplace_back([&member, rank] { member(rank); });
  }
  void meet() { barrier_.arrive_and_wait(); }

 private:
  int size_;
  std::barrier<> barrier_;
};
#else
/// Members take turns on the caller's thread, from barrier to barrier: first in one order, then in the other, so that
/// one of them shows a barrier that is missing. Threads would do little but wait for one another.
class HostTeam {
 public:
  explicit HostTeam(int size) : members_(static_cast<std::size_t>(size)) {}

  /// member(rank) of all ranks.
  void run(const std::function<void(int)>& member) {
    member_ = &member;
    for (Member& one : members_) {
      getcontext(&one.context);
      one.context.uc_stack.ss_sp = one.stack.get();
      one.context.uc_stack.ss_size = stack_bytes;
      one.context.uc_link = &caller_;
      one.is_done = false;
      makecontext(&one.context, &HostTeam::enter, 0);
    }
    for (std::size_t open = members_.size(), turn = 0; open > 0; ++turn) {
      for (std::size_t i = 0; i < members_.size(); ++i) {
        rank_ = turn % 2 == 0 ? i : members_.size() - 1 - i;
        if (members_[rank_].is_done) continue;
        running_ = this;
        swapcontext(&caller_, &members_[rank_].context);
        open -= members_[rank_].is_done ? 1 : 0;
      }
    }
  }
  void meet() { swapcontext(&members_[rank_].context, &caller_); }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 17;
  struct Member {
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    bool is_done;
  };

  // A context's function takes no pointer.
  static void enter() {
    HostTeam& team = *running_;
    const std::size_t rank = team.rank_;
    (*team.member_)(static_cast<int>(rank));
    team.members_[rank].is_done = true;
  }
  inline static HostTeam* running_ = nullptr;

  std::vector<Member> members_;
  ucontext_t caller_;
  const std::function<void(int)>* member_ = nullptr;
  std::size_t rank_ = 0;
};
#endif

/// A member of a team.
struct HostMember {
  int rank, size;
  HostTeam* team;
  KOKKOS_FUNCTION int team_rank() const { return rank; }
  KOKKOS_FUNCTION int team_size() const { return size; }
  KOKKOS_FUNCTION void team_barrier() const {
#ifndef __CUDA_ARCH__
    team->meet();
#endif
  }
};

/// body(member, team, scratch) in `teams` teams of `threads` members, one team after the other.
template <class Body>
void run_host_teams(int teams, int threads, std::size_t bytes, const Body& body) {
  std::vector<double> scratch((bytes + sizeof(double) - 1) / sizeof(double));
  HostTeam members(threads);
  members.run([&](int rank) {
    const HostMember member{rank, threads, &members};
    for (int team = 0; team < teams; ++team) {
      body(member, team, reinterpret_cast<std::byte*>(scratch.data()));
      member.team_barrier();
    }
  });
}

}  // namespace blockvec::testing
