#pragma once

#include <Kokkos_Core.hpp>
#include <blockvec/config.hpp>

/// @file
/// The memory spaces that block vectors can live in: the host's, and a CUDA device's where Kokkos and BlockVec::kernels
/// are built for CUDA (BLOCKVEC_HAVE_CUDA_SPACE).
namespace blockvec {

/// Where block vectors live unless told otherwise.
using DefaultSpace = Kokkos::HostSpace;

/// What goes with a memory space: the execution space that works there, and memory that both it and the host reach,
/// through which small results travel.
template <class Space>
struct SpaceTraits;

/// The host's memory: it is its own staging memory.
template <>
struct SpaceTraits<Kokkos::HostSpace> {
  using Execution = Kokkos::DefaultHostExecutionSpace;  ///< what works there
  using Staging = Kokkos::HostSpace;  ///< what both it and the host reach
  static constexpr bool is_host = true;  ///< the host reads it
};

#if BLOCKVEC_HAVE_CUDA_SPACE
/// A CUDA device's memory: results travel through pinned memory of the host.
template <>
struct SpaceTraits<Kokkos::CudaSpace> {
  using Execution = Kokkos::Cuda;  ///< what works there
  using Staging = Kokkos::CudaHostPinnedSpace;  ///< what both it and the host reach
  static constexpr bool is_host = false;  ///< the host does not read it
};
#endif

/// Whether block vectors can live there.
template <class Space>
inline constexpr bool is_block_space = requires { typename SpaceTraits<Space>::Execution; };

/// The execution space that works in a memory space.
template <class Space>
using ExecutionSpaceOf = typename SpaceTraits<Space>::Execution;
/// Memory that both a memory space's execution space and the host reach.
template <class Space>
using StagingSpaceOf = typename SpaceTraits<Space>::Staging;
/// Whether the host reads and writes there.
template <class Space>
inline constexpr bool is_host_space = SpaceTraits<Space>::is_host;

/// One execution-space instance for each memory space; operations of block vectors there are ordered on it.
struct ExecutionSpaces {
  ExecutionSpaceOf<Kokkos::HostSpace> host{};  ///< of the host
#if BLOCKVEC_HAVE_CUDA_SPACE
  ExecutionSpaceOf<Kokkos::CudaSpace> cuda{};  ///< of this rank's device
#endif

  /// The instance for a memory space.
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
