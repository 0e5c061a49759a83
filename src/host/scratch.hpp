#pragma once

#include <blockvec/kernels/error.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>

namespace blockvec::kernels::host {

/// Aligned scratch memory of one call: the caller's workspace if there is one, else allocated.
class Scratch {
 public:
  /// `bytes` includes `alignment` bytes to align the start.
  Scratch(const char* product, std::span<std::byte> workspace, std::size_t bytes) {
    if (workspace.empty()) {
      owned_.reset(new (std::nothrow) std::byte[bytes]);
      if (!owned_) {
        throw OutOfMemoryError(std::string(product) + ": workspace of " + std::to_string(bytes) +
                               " bytes could not be allocated");
      }
      workspace = {owned_.get(), bytes};
    }
    void* start = workspace.data();
    std::size_t space = workspace.size();
    start_ = std::align(alignment, bytes - alignment, start, space);
  }

  template <class T>
  T* data() const {
    return static_cast<T*>(start_);
  }

 private:
  static constexpr std::size_t alignment = 64;
  std::unique_ptr<std::byte[]> owned_;
  void* start_ = nullptr;
};

}  // namespace blockvec::kernels::host
