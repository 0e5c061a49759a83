#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/scalar.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace blockvec {

/// Scratch memory that is kept: a stack of bytes in one memory space. What a scope takes, its end gives back; memory is
/// asked of the system only while the high-water mark still rises, so a loop allocates nothing after its first turn.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Bytes held, and the most that were ever in use at once.
  std::size_t capacity() const;
  std::size_t high_water() const { return high_water_; }
  /// How often memory was asked of the system.
  std::int64_t allocations() const { return allocations_; }

 private:
  friend class WorkspaceScope;
  using Slab = Kokkos::View<std::byte*, DefaultSpace>;
  struct Position {
    std::size_t slab = 0;
    std::size_t offset = 0;
    std::size_t used = 0;
  };
  void* take(std::size_t bytes);
  void give_back(Position position);

  std::vector<Slab> slabs_;
  Position position_;
  std::size_t high_water_ = 0;
  std::int64_t allocations_ = 0;
};

/// Takes scratch memory from a Workspace and gives all of it back at its end. Scopes nest like the blocks of a program.
class WorkspaceScope {
 public:
  explicit WorkspaceScope(Workspace& workspace) : workspace_(workspace), start_(workspace.position_) {}
  ~WorkspaceScope() { workspace_.give_back(start_); }
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;

  /// Uninitialised storage for `count` objects of a trivial type, aligned to 128 bytes. Throws OutOfMemoryError naming
  /// the bytes.
  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(workspace_.take(count * sizeof(T)));
  }

 private:
  Workspace& workspace_;
  Workspace::Position start_;
};

}  // namespace blockvec
