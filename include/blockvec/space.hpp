#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/config.hpp>

/// The memory spaces that block vectors can live in: the host's, and a CUDA device's where Kokkos and BlockVec::kernels
/// are built for CUDA (BLOCKVEC_HAVE_CUDA_SPACE).
namespace blockvec {

/// Where block vectors live unless told otherwise.
using DefaultSpace = Kokkos::HostSpace;

/// What goes with a memory space: the execution space that works there, and memory that both it and the host reach,
/// through which small results travel.
template <class Space>
struct SpaceTraits;

template <>
struct SpaceTraits<Kokkos::HostSpace> {
  using Execution = Kokkos::DefaultHostExecutionSpace;
  using Staging = Kokkos::HostSpace;
  static constexpr bool is_host = true;
};

#if BLOCKVEC_HAVE_CUDA_SPACE
template <>
struct SpaceTraits<Kokkos::CudaSpace> {
  using Execution = Kokkos::Cuda;
  using Staging = Kokkos::CudaHostPinnedSpace;
  static constexpr bool is_host = false;
};
#endif

/// Whether block vectors can live there.
template <class Space>
inline constexpr bool is_block_space = requires { typename SpaceTraits<Space>::Execution; };

template <class Space>
using ExecutionSpaceOf = typename SpaceTraits<Space>::Execution;
template <class Space>
using StagingSpaceOf = typename SpaceTraits<Space>::Staging;
template <class Space>
inline constexpr bool is_host_space = SpaceTraits<Space>::is_host;

/// One execution-space instance for each memory space; operations of block vectors there are ordered on it.
struct ExecutionSpaces {
  ExecutionSpaceOf<Kokkos::HostSpace> host{};
#if BLOCKVEC_HAVE_CUDA_SPACE
  ExecutionSpaceOf<Kokkos::CudaSpace> cuda{};
#endif

  template <class Space>
  const ExecutionSpaceOf<Space>& of() const {
    if constexpr (is_host_space<Space>) {
      return host;
    } else {
#if BLOCKVEC_HAVE_CUDA_SPACE
      return cuda;
#endif
    }
  }
};

}  // namespace blockvec
