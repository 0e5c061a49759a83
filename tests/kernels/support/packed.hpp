#pragma once

#include <blockvec/kernels/packed.hpp>
#include <vector>

#include "tests/kernels/support/dense.hpp"

/// Packed Hermitian matrices in host memory.
namespace blockvec::kernels::test {

/// A triangle of A, packed. Memory that holds no entry of the lower triangle holds NaN.
template <class T>
class Packed {
 public:
  Packed(Triangle triangle, const Matrix<const T>& a)
      : n_(a.rows), memory_(static_cast<std::size_t>(packed_entries<T>(n_))) {
    pack<T>(triangle, a, view());
    std::vector<T> entries(memory_.size(), poison<T>());
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const auto place = static_cast<std::size_t>(packed_place<T>(n_, i, j));
        entries[place] = memory_[place];
      }
    }
    memory_ = entries;
  }
  PackedHermitian<T> view() { return {memory_.data(), n_}; }
  const std::vector<T>& memory() const { return memory_; }

 private:
  std::int64_t n_;
  std::vector<T> memory_;
};

/// Sizes on both sides of the borders of strips and panels.
inline constexpr std::int64_t packed_sizes[] = {1, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1100};

}  // namespace blockvec::kernels::test
