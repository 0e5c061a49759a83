# What the layers above the kernels need. Everything is found by package, nothing is fetched.
include(cmake/BlockVecKokkos.cmake)
find_package(LAPACK REQUIRED)

find_package(MPI QUIET COMPONENTS CXX)
option(BLOCKVEC_ENABLE_MPI "Distribute block vectors over MPI ranks" ${MPI_CXX_FOUND})
if(BLOCKVEC_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()

# What the headers need to know about this build, in a header of its own: <blockvec/config.hpp>.
set(BLOCKVEC_HAVE_MPI 0)
if(BLOCKVEC_ENABLE_MPI)
  set(BLOCKVEC_HAVE_MPI 1)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/config.hpp.in ${PROJECT_BINARY_DIR}/include/blockvec/config.hpp @ONLY)
