#pragma once

#include <blockvec/communicator.hpp>
#include <blockvec/config.hpp>
#include <memory>

/// What the MPI-free files of this folder need of MPI; without MPI it says that there is none.
namespace blockvec::detail {

#if BLOCKVEC_HAVE_MPI
std::shared_ptr<CommunicatorBackend> mpi_world_backend();  ///< null unless MPI runs with more than one rank; shared
void forget_mpi_world_backend();                           ///< the next one is another
bool start_mpi(int& argc, char**& argv);                   ///< true if this call started it
void stop_mpi();
void abort_all_ranks(int status);  ///< returns only where there is nobody else
int mpi_world_rank();              ///< -1 where MPI is not running or alone
#else
inline std::shared_ptr<CommunicatorBackend> mpi_world_backend() { return nullptr; }
inline void forget_mpi_world_backend() {}
inline bool start_mpi(int&, char**&) { return false; }
inline void stop_mpi() {}
inline void abort_all_ranks(int) {}
inline int mpi_world_rank() { return -1; }
#endif

}  // namespace blockvec::detail
