#pragma once

#include <blockvec/block_vector.hpp>
#include <vector>

#include "solvers/sparse/halo.hpp"

#if BLOCKVEC_HAVE_CUDA_SPACE
struct CUevent_st;

namespace blockvec::solvers {

/// The halo of block vectors in a device's memory. Rows that others need are packed there. They travel as sums do:
/// by NCCL on a stream beside the context's, by MPI that takes device pointers, or through pinned host memory. Memory
/// is kept from call to call.
template <class Scalar>
class DeviceHalo {
 public:
  using Space = Kokkos::CudaSpace;

  DeviceHalo(const Context& context, const RowDistribution& rows, const std::vector<std::int64_t>& ghosts);
  ~DeviceHalo();
  DeviceHalo(const DeviceHalo&) = delete;
  DeviceHalo& operator=(const DeviceHalo&) = delete;

  std::int64_t ghosts() const { return halo_.ghosts(); }

  /// Packs the rows of X that others need and, by NCCL, sends them. Waits for nothing. Collective.
  template <class Layout>
  void begin(const BlockVector<Scalar, Layout, Space>& x);
  /// The rows of the ghosts (ghosts x width, row-major without gaps), for what is ordered on the context's instance
  /// from here on. By MPI it waits for the packed rows and for the messages, while the device does what was ordered
  /// since begin(). Valid until the next begin().
  const Scalar* finish();

 private:
  template <class Where>
  using Array = Kokkos::View<Scalar*, Where>;
  using Staging = StagingSpaceOf<Space>;

  void reserve(std::int64_t width);

  Context context_;
  Halo halo_;
  DeviceTransport transport_ = DeviceTransport::automatic;
  std::int64_t width_ = 0;
  Kokkos::View<std::int32_t*, Space> sent_rows_;
  Array<Space> packed_, ghost_rows_;
  Array<Staging> staged_packed_, staged_ghost_rows_;
  Kokkos::View<unsigned*, Staging> word_;  // not zero: packed rows are where they are sent from
  CUstream_st* beside_ = nullptr;          // NCCL's
  CUevent_st *is_packed_ = nullptr, *has_arrived_ = nullptr;
};

}  // namespace blockvec::solvers
#endif
