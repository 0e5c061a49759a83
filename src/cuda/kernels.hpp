#pragma once

#include "src/dispatch/cuda/constants.hpp"

namespace blockvec::kernels::cuda {

using dispatch::Neighbours;

template <class Arguments>
using Kernel = void (*)(Arguments);

// NAME_kernel_of<Real> returns the kernel for a tile of the list NAME of src/tuning/instances.json, or null if the list
// has no such tile. src/generator/instances.py writes the declarations and the definitions into the build tree.
//
//   by_columns  the operands are column-major
//   wide        the result is wider than one CTA tile
//   parts       real numbers per scalar
//   aligned     lanes can read pairs of neighbours in a row at once, like the complex numbers of columns
//   paired      the rows of A begin a multiple of two numbers apart
//   updates     beta may differ from zero
//   columns     columns of B
#include "cuda_kernels.inc"

}  // namespace blockvec::kernels::cuda
