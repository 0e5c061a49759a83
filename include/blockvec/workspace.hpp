#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/space.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockvec {

/// Scratch memory that is kept: a stack of bytes in one memory space. What a scope takes, its end gives back; memory is
/// asked of the system only while the high-water mark still rises, so a loop allocates nothing after its first turn.
/// What works there runs in the order of one execution-space instance: pieces are reused without waiting for it.
/// Space is one that block vectors can live in, or the staging memory of one.
template <class Space = DefaultSpace>
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Bytes held for scopes.
  std::size_t capacity() const;
  /// The most bytes that were ever in use at once.
  std::size_t high_water() const { return high_water_; }
  /// How often memory was asked of the system.
  std::int64_t allocations() const { return allocations_; }

 private:
  template <class>
  friend class WorkspaceScope;
  template <class>
  friend class KeptMemory;
  using Slab = Kokkos::View<std::byte*, Space>;
  struct Position {
    std::size_t slab = 0;
    std::size_t offset = 0;
    std::size_t used = 0;
  };
  void* take(std::size_t bytes);
  void give_back(const Position& position) noexcept;
  void join_slabs();
  Slab take_kept(std::size_t bytes);
  void give_back_kept(Slab slab) noexcept;

  std::vector<Slab> slabs_;
  std::vector<Slab> spare_;  // what KeptMemory has given back
  std::size_t kept_ = 0;     // pieces of KeptMemory, here and in use
  Position position_;
  std::size_t high_water_ = 0;
  std::int64_t allocations_ = 0;
};

}  // namespace blockvec
