# Gives Kokkos and Kokkos Kernels (3.4 up to 5.x), which have been found already, one pair of names, whoever packaged
# them: BlockVec::kokkos and BlockVec::kokkoskernels. Headers count as system headers.
# Used by BlockVec's own build and by its installed package.
if(Kokkos_VERSION AND Kokkos_VERSION VERSION_LESS 3.4)
  message(FATAL_ERROR "BlockVec needs Kokkos 3.4 or newer, found ${Kokkos_VERSION}")
endif()

# Debian's Trilinos packages name an include directory that does not exist and leave out the one that does.
function(blockvec_mend_include_directories target)
  get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(directories)
    set(kept "")
    foreach(directory IN LISTS directories)
      if(directory MATCHES "\\$<" OR EXISTS "${directory}")
        list(APPEND kept "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
  endif()
endfunction()

if(NOT TARGET BlockVec::kokkos)
  blockvec_mend_include_directories(Kokkos::kokkos)
  # Trilinos's Kokkos Kernels work with the Kokkos beside them alone.
  if(KokkosKernels_FOUND AND NOT TARGET Kokkos::kokkoskernels)
    cmake_path(GET Kokkos_DIR PARENT_PATH kokkos_packages)
    cmake_path(GET KokkosKernels_DIR PARENT_PATH kokkoskernels_packages)
    if(NOT kokkos_packages STREQUAL kokkoskernels_packages)
      set(KokkosKernels_FOUND FALSE)
    endif()
  endif()
  add_library(BlockVec::kokkos INTERFACE IMPORTED)
  target_link_libraries(BlockVec::kokkos INTERFACE Kokkos::kokkos)
  if(KokkosKernels_FOUND)
    add_library(BlockVec::kokkoskernels INTERFACE IMPORTED)
  endif()
  if(TARGET Kokkos::kokkoskernels)
    target_link_libraries(BlockVec::kokkoskernels INTERFACE Kokkos::kokkoskernels BlockVec::kokkos)
  elseif(KokkosKernels_FOUND)
    target_link_libraries(BlockVec::kokkoskernels INTERFACE trilinos_kokkoskernels BlockVec::kokkos)
  endif()
  if(NOT TARGET Kokkos::kokkoskernels)
    foreach(directory IN LISTS Kokkos_INCLUDE_DIRS)
      target_include_directories(BlockVec::kokkos SYSTEM INTERFACE "${directory}")
    endforeach()
  endif()
endif()

# blockvec_compile_as_kokkos(target...): where Kokkos was built with CUDA as a language of CMake, what includes its headers
# is compiled as CUDA, for Kokkos's architectures.
function(blockvec_compile_as_kokkos)
  if(NOT Kokkos_COMPILE_LANGUAGE STREQUAL "CUDA")
    return()
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CUDA)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${Kokkos_CUDA_ARCHITECTURES}")
    # The compiler calls code after an `if constexpr` that returns a loop that is not reachable, and a result that is
    # assigned an ignored one.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--diag-suppress=128,2810>")
    # nvcc cannot run fmt's check of format strings at compile time.
    target_compile_definitions(${target} PRIVATE FMT_CONSTEVAL= FMT_USE_CONSTEXPR=1)
  endforeach()
endfunction()
