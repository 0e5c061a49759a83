#pragma once

#include <mpi.h>

#include <blockvec/communicator.hpp>

namespace blockvec {

/// The ranks of `communicator`, which is duplicated: BlockVec's messages never meet the caller's. Collective.
/// Only in builds with BLOCKVEC_ENABLE_MPI; including this header needs MPI.
Communicator mpi_communicator(MPI_Comm communicator);

/// What this MPI says of itself at run time (MPIX_Query_cuda_support); false where it says nothing.
bool mpi_takes_device_pointers();

}  // namespace blockvec
