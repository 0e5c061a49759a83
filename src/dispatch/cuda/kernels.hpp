#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "src/dispatch/cuda/shapes.hpp"

/// Which kernels are compiled: src/generator/instances.py writes the lists, one for each family of kernels.
namespace blockvec::kernels::dispatch {

#include "cuda_compiled.inc"

/// Whether a list has a kernel for real numbers of this size whose key begins with these numbers. Zeros follow.
template <std::size_t count, class... Numbers>
bool is_among(const CompiledKernel (&compiled)[count], int real_bytes, Numbers... numbers) {
  const std::array<int, 4> key{static_cast<int>(numbers)...};
  return std::any_of(compiled, compiled + count, [&](const CompiledKernel& kernel) {
    return kernel.real_bytes == real_bytes && std::equal(key.begin(), key.end(), kernel.key);
  });
}

}  // namespace blockvec::kernels::dispatch
