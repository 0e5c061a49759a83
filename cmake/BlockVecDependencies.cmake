# What the layers above the kernels need. Everything is found by package, nothing is fetched.
include(cmake/BlockVecKokkos.cmake)
find_package(LAPACK REQUIRED)

find_package(MPI QUIET COMPONENTS CXX)
option(BLOCKVEC_ENABLE_MPI "Distribute block vectors over MPI ranks" ${MPI_CXX_FOUND})
if(BLOCKVEC_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()
