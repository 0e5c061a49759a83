# BlockVec::lapacke: LAPACK through its C interface, as a library of its own or inside the BLAS library (OpenBLAS from source).
# Used by BlockVec's own build and by its installed package.
find_path(BLOCKVEC_LAPACKE_INCLUDE_DIR lapacke.h PATH_SUFFIXES openblas lapacke)
find_library(BLOCKVEC_LAPACKE_LIBRARY NAMES lapacke openblas)
mark_as_advanced(BLOCKVEC_LAPACKE_INCLUDE_DIR BLOCKVEC_LAPACKE_LIBRARY)
if(NOT BLOCKVEC_LAPACKE_INCLUDE_DIR OR NOT BLOCKVEC_LAPACKE_LIBRARY)
  message(FATAL_ERROR "BlockVec needs LAPACKE: set BLOCKVEC_LAPACKE_INCLUDE_DIR to the directory of lapacke.h and "
                      "BLOCKVEC_LAPACKE_LIBRARY to the library (Debian: liblapacke-dev)")
endif()

if(NOT TARGET BlockVec::lapacke)
  add_library(BlockVec::lapacke INTERFACE IMPORTED)
  target_include_directories(BlockVec::lapacke SYSTEM INTERFACE "${BLOCKVEC_LAPACKE_INCLUDE_DIR}")
  target_link_libraries(BlockVec::lapacke INTERFACE "${BLOCKVEC_LAPACKE_LIBRARY}" LAPACK::LAPACK)
endif()
