#pragma once

#include <blockvec/scalar.hpp>
#include <blockvec/space.hpp>

/// @file
/// Lists of the template arguments that the library compiles; used for explicit instantiations only.

/// apply(Scalar) for every scalar type.
#define BLOCKVEC_FOR_SCALARS(apply) \
  apply(float) apply(double) apply(::blockvec::Complex<float>) apply(::blockvec::Complex<double>)

/// apply(arguments..., Space) for every memory space.
#if BLOCKVEC_HAVE_CUDA_SPACE
#define BLOCKVEC_FOR_SPACES(apply) apply(::Kokkos::HostSpace) apply(::Kokkos::CudaSpace)
#define BLOCKVEC_WITH_SPACES(apply, ...) apply(__VA_ARGS__, ::Kokkos::HostSpace) apply(__VA_ARGS__, ::Kokkos::CudaSpace)
#else
#define BLOCKVEC_FOR_SPACES(apply) apply(::Kokkos::HostSpace)
/// apply(arguments..., Space) for every memory space of this build.
#define BLOCKVEC_WITH_SPACES(apply, ...) apply(__VA_ARGS__, ::Kokkos::HostSpace)
#endif

/// apply(Scalar, Space): small matrices.
#define BLOCKVEC_FOR_SMALL_MATRICES(apply)                \
  BLOCKVEC_WITH_SPACES(apply, float)                      \
  BLOCKVEC_WITH_SPACES(apply, double)                     \
  BLOCKVEC_WITH_SPACES(apply, ::blockvec::Complex<float>) \
  BLOCKVEC_WITH_SPACES(apply, ::blockvec::Complex<double>)

/// apply(Scalar, Layout, Space): block vectors.
#define BLOCKVEC_WITH_LAYOUTS(apply, Scalar)                \
  BLOCKVEC_WITH_SPACES(apply, Scalar, ::blockvec::RowMajor) \
  BLOCKVEC_WITH_SPACES(apply, Scalar, ::blockvec::ColumnMajor)
/// apply(Scalar, Layout, Space) for every type of block vectors.
#define BLOCKVEC_FOR_BLOCK_VECTORS(apply)                  \
  BLOCKVEC_WITH_LAYOUTS(apply, float)                      \
  BLOCKVEC_WITH_LAYOUTS(apply, double)                     \
  BLOCKVEC_WITH_LAYOUTS(apply, ::blockvec::Complex<float>) \
  BLOCKVEC_WITH_LAYOUTS(apply, ::blockvec::Complex<double>)
