# What the layers above the kernels need. Everything is found by package, nothing is fetched.
include(cmake/BlockVecKokkos.cmake)
if(NOT TARGET BlockVec::kokkos)
  blockvec_before_kokkos()
  find_package(Kokkos QUIET)
  if(NOT Kokkos_FOUND)
    message(FATAL_ERROR "Kokkos was not found. Install a package of it (Debian: libkokkos-dev or libtrilinos-kokkos-dev; "
                        "Spack: kokkos), or build it from source and set Kokkos_ROOT to where it was installed.")
  endif()
  find_package(KokkosKernels QUIET)
endif()
blockvec_name_kokkos()
# Sparse products of the solvers are those of Kokkos Kernels where that has the faster ones, else the library's own.
set(blockvec_have_kokkoskernels OFF)
if(TARGET BlockVec::kokkoskernels)
  set(blockvec_have_kokkoskernels ON)
endif()
option(BLOCKVEC_ENABLE_KOKKOSKERNELS "Use the sparse products of Kokkos Kernels" ${blockvec_have_kokkoskernels})
if(BLOCKVEC_ENABLE_KOKKOSKERNELS AND NOT TARGET BlockVec::kokkoskernels)
  message(FATAL_ERROR "Kokkos Kernels were not found beside the Kokkos in ${Kokkos_DIR}: set KokkosKernels_ROOT, or "
                      "BLOCKVEC_ENABLE_KOKKOSKERNELS=OFF.")
endif()

# Block vectors live on a CUDA device where Kokkos does. Its headers then suit the CUDA compiler alone.
set(BLOCKVEC_HAVE_CUDA_SPACE 0)
if(Kokkos_ENABLE_CUDA)
  if(NOT BLOCKVEC_ENABLE_CUDA)
    message(FATAL_ERROR "This Kokkos is built for CUDA devices: set BLOCKVEC_ENABLE_CUDA=ON, or name another Kokkos by "
                        "Kokkos_ROOT, or build the kernels alone with BLOCKVEC_KERNELS_ONLY=ON.")
  endif()
  set(BLOCKVEC_HAVE_CUDA_SPACE 1)
endif()

find_package(LAPACK REQUIRED)
include(cmake/BlockVecLapacke.cmake)

# Headers only, and used by BlockVec's sources alone.
find_path(BLOCKVEC_RANDOM123_INCLUDE_DIR Random123/philox.h REQUIRED)
mark_as_advanced(BLOCKVEC_RANDOM123_INCLUDE_DIR)
if(NOT TARGET Random123::Random123)
  add_library(Random123::Random123 INTERFACE IMPORTED)
  target_include_directories(Random123::Random123 SYSTEM INTERFACE "${BLOCKVEC_RANDOM123_INCLUDE_DIR}")
endif()

set(MPI_CXX_SKIP_MPICXX ON)  # only the C interface is used
find_package(MPI QUIET COMPONENTS CXX)
option(BLOCKVEC_ENABLE_MPI "Distribute block vectors over MPI ranks" ${MPI_CXX_FOUND})
if(BLOCKVEC_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()

# Between the GPUs of different ranks, which find one another by MPI.
set(blockvec_nccl_suits OFF)
if(BLOCKVEC_HAVE_CUDA_SPACE AND BLOCKVEC_ENABLE_MPI)
  list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
  find_package(NCCL QUIET)
  set(blockvec_nccl_suits ${NCCL_FOUND})
endif()
option(BLOCKVEC_ENABLE_NCCL "Sum over the GPUs of MPI ranks by NCCL" ${blockvec_nccl_suits})
if(BLOCKVEC_ENABLE_NCCL)
  if(NOT BLOCKVEC_HAVE_CUDA_SPACE OR NOT BLOCKVEC_ENABLE_MPI)
    message(FATAL_ERROR "BLOCKVEC_ENABLE_NCCL needs a Kokkos that is built for CUDA, and BLOCKVEC_ENABLE_MPI.")
  endif()
  find_package(NCCL REQUIRED)
endif()

# The solvers write messages by fmt, and read files that zlib packed.
find_package(fmt QUIET)
find_package(ZLIB QUIET)
set(blockvec_solvers_suit OFF)
if(fmt_FOUND AND ZLIB_FOUND)
  set(blockvec_solvers_suit ON)
endif()
option(BLOCKVEC_BUILD_SOLVERS "Build BlockVec::solvers" ${blockvec_solvers_suit})
if(BLOCKVEC_BUILD_SOLVERS)
  find_package(fmt REQUIRED)
  find_package(ZLIB REQUIRED)
elseif(BLOCKVEC_BUILD_EXAMPLES)
  message(FATAL_ERROR "The examples need BlockVec::solvers, which needs fmt and zlib (Debian: libfmt-dev and zlib1g-dev): "
                      "install them, or set BLOCKVEC_BUILD_EXAMPLES=OFF.")
endif()

# As a subdirectory, the targets that link BlockVec stand outside of this one and must see what BlockVec links.
set_target_properties(BlockVec::kokkos BlockVec::lapacke PROPERTIES IMPORTED_GLOBAL TRUE)
if(TARGET BlockVec::kokkoskernels)
  set_target_properties(BlockVec::kokkoskernels PROPERTIES IMPORTED_GLOBAL TRUE)
endif()

# What the headers need to know about this build, in a header of its own: <blockvec/config.hpp>.
set(BLOCKVEC_HAVE_MPI 0)
if(BLOCKVEC_ENABLE_MPI)
  set(BLOCKVEC_HAVE_MPI 1)
endif()
set(BLOCKVEC_HAVE_NCCL 0)
if(BLOCKVEC_ENABLE_NCCL)
  set(BLOCKVEC_HAVE_NCCL 1)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/config.hpp.in ${PROJECT_BINARY_DIR}/include/blockvec/config.hpp @ONLY)
