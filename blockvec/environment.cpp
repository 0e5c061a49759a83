#include <Kokkos_Core.hpp>
#include <blockvec/config.hpp>
#include <blockvec/environment.hpp>
#include <blockvec/kernels/error.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "blockvec/mpi_world.hpp"

namespace blockvec {
namespace {

// A Kokkos that is built for CUDA cannot start without a device.
void require_device() {
#if BLOCKVEC_HAVE_CUDA_SPACE
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return;
  throw NoDeviceError(std::string("Environment: no CUDA device, which this build's Kokkos needs to start: ") +
                      cudaGetErrorString(status));
#endif
}

// The status of every rank's process where an error has ended one of them.
constexpr int error_status = 2;

void print_error(const std::string& message) {
  const int rank = detail::mpi_world_rank();
  if (rank < 0) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
  } else {
    std::fprintf(stderr, "error on rank %d: %s\n", rank, message.c_str());
  }
  std::fflush(nullptr);
}

}  // namespace

Environment::Environment(int& argc, char**& argv) : exceptions_before_(std::uncaught_exceptions()) {
  if (!Kokkos::is_initialized()) require_device();
  owns_mpi_ = detail::start_mpi(argc, argv);
  if (!Kokkos::is_initialized()) {
    Kokkos::initialize(argc, argv);
    owns_kokkos_ = true;
  }
}

Environment::~Environment() {
  // mpiexec ends all ranks when the first one leaves with a nonzero status: what others have to say must be out before.
  std::cout.flush();
  std::fflush(nullptr);
  if (owns_mpi_ && std::uncaught_exceptions() > exceptions_before_ && detail::mpi_world_rank() >= 0) {
    // Whoever catches the exception can say what it was, but MPI ends with all ranks or with none.
    print_error("an exception left the scope of the Environment while other ranks work");
    detail::abort_all_ranks(error_status);
  }
  detail::forget_mpi_world_backend();
  if (owns_kokkos_) Kokkos::finalize();
  if (owns_mpi_) detail::stop_mpi();
}

int Environment::guard_erased(int (*call)(void*), void* body) noexcept {
  std::string message;
  try {
    return call(body);
  } catch (const std::bad_alloc&) {
    message = "out of memory";
  } catch (const std::exception& error) {
    message = error.what();
  } catch (...) {
    message = "unknown error";
  }
  print_error(message);
  detail::abort_all_ranks(error_status);
  return error_status;
}

}  // namespace blockvec
