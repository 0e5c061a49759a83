#pragma once

#include <blockvec/kernels/error.hpp>

namespace blockvec {

/// This build needs a device and found none. Nothing was started.
class NoDeviceError : public Error {
 public:
  using Error::Error;
};

/// Starts MPI (where BlockVec is built with it and nobody else has started it) and Kokkos, and stops what it started in
/// the reverse order. One object, first in main, outlives every block vector.
///
/// In builds with a Kokkos for CUDA, each rank takes a device of its machine by its number there, as Kokkos does
/// (KOKKOS_MAP_DEVICE_ID_BY); without any, the constructor throws NoDeviceError.
/// With more than one rank, an exception that leaves the scope of an Environment which started MPI ends all ranks with
/// status 2, since the others would wait for this one for ever. `guard` says besides which error it was.
class Environment {
 public:
  /// Takes the arguments that MPI and Kokkos know. Throws NoDeviceError as above.
  Environment(int& argc, char**& argv);
  /// Stops what the constructor started.
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// Runs body() and returns what it returns. An exception is printed to standard error with the rank that threw it,
  /// and ends all ranks: every rank's process exits with status 2 (by MPI_Abort where there are others), none is left
  /// waiting.
  template <class Body>
  static int guard(Body&& body) noexcept {
    auto call = [&] { return body(); };  // body may be a function, which has no address as an object
    return guard_erased([](void* function) { return (*static_cast<decltype(call)*>(function))(); }, &call);
  }

 private:
  static int guard_erased(int (*call)(void*), void* body) noexcept;
  int exceptions_before_;
  bool owns_mpi_ = false;
  bool owns_kokkos_ = false;
};

}  // namespace blockvec
