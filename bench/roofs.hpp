#pragma once

#include <cstddef>

/// What the machine can do, measured where the kernels are measured: in the same process, on the same memory.
namespace bench {

/// Memory on huge pages where the system grants them, first touched by the threads that will use it.
class Memory {
 public:
  explicit Memory(std::size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(start_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t mapped_;
  void* map_;
  void* start_;
};

/// GB/s and GFLOP/s on all threads; the best of several plain kernels each.
struct Roofs {
  double read;         ///< reading alone
  double copy;         ///< read + written bytes; the output goes around the caches or comes from memcpy
  double plain_copy;   ///< the same through the caches, where a line is read before it is written
  double fma_double;
  double fma_float;
};
Roofs measure_roofs(const Memory& from, const Memory& to);


}  // namespace bench
