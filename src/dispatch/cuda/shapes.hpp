#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "src/dispatch/cuda/constants.hpp"

/// The tile shapes of warps and threads for which kernels are compiled, and which kernels these become. The lists stand
/// in src/tuning/instances.json, which also says what each list serves; src/generator/instances.py writes them as
/// arrays.
namespace blockvec::kernels::dispatch {

/// A shape for Gram matrices: 8-column blocks, and warps that share the MMA tiles on and above the diagonal.
struct GramShape {
  int blocks, warps;
};

/// A shape of tsmttsm's direct kernel: 8-column blocks of A and of B, and warps of a thread block.
struct DirectShape {
  int m, n, warps;
};

/// A shape for kernels whose tile has one free side.
struct Columns {
  int n;
};

/// A shape of tsmm's direct kernel: a thread's rows x columns of B, and the columns of A that it loads at a time.
struct ThreadShape {
  int rows, columns, panel;
};

/// A compiled kernel: the bytes of its real numbers, and a key that tells the kernels of a list apart. The key holds
/// the tile and other values in the order of src/generator/instances.py; zeros follow.
struct CompiledKernel {
  int real_bytes;
  int key[4];
};

#include "cuda_shapes.inc"

// The kernels that are compiled: a list for each family.
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
