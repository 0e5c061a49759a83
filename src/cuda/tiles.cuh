#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "src/dispatch/cuda_configuration.hpp"

/// Kernels by warp tile: each list of tiles in the configuration becomes a table of instantiations.
namespace blockvec::kernels::cuda {

template <class Shape, std::size_t count>
constexpr std::size_t index_of_tile(const Shape (&tiles)[count], int m, int n) {
  for (std::size_t i = 0; i < count; ++i) {
    if (tiles[i].m == m && tiles[i].n == n) return i;
  }
  return count;
}

template <std::size_t count>
constexpr std::size_t index_of_gram(const dispatch::GramShape (&shapes)[count], int blocks) {
  for (std::size_t i = 0; i < count; ++i) {
    if (shapes[i].blocks == blocks) return i;
  }
  return count;
}

}  // namespace blockvec::kernels::cuda
