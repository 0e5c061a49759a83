#pragma once

#include <cstddef>
#include <vector>

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

/// Some plain kernels of each kind, each run several times: the one with the best median is kept and can be sampled
/// again, right beside what is held against it.
class Roofs {
 public:
  Roofs(const Memory& from, const Memory& to);

  double read() const;        ///< GB/s of reading alone, a new sample
  double copy() const;        ///< GB/s read + written; the output goes around the caches, or memcpy decides
  double plain_copy() const;  ///< the same through the caches, where a line is read before it is written

  double first_read = 0;  ///< medians at the start
  double first_copy = 0;
  double first_plain_copy = 0;
  double fma_double = 0;  ///< GFLOP/s
  double fma_float = 0;

 private:
  struct Variant {
    std::size_t streams_or_block = 0;  // 0: memcpy
    std::size_t ahead = 0;
  };
  const Memory& from_;
  const Memory& to_;
  Variant read_, copy_, plain_copy_;
};

/// The middle of some samples.
double median(std::vector<double> samples);

}  // namespace bench
