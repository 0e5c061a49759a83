#pragma once

#include "src/dispatch/cuda/constants.hpp"

/// The tile shapes of warps and threads for which kernels are compiled. Their lists stand in src/tuning/instances.json,
/// which also says what each list serves.
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

}  // namespace blockvec::kernels::dispatch
