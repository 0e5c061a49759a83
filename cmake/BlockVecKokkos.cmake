# Kokkos and Kokkos Kernels (3.4 up to 5.x) by one pair of names, whoever packaged them: BlockVec::kokkos and
# BlockVec::kokkoskernels. Used by BlockVec's own build and by its installed package:
#   blockvec_before_kokkos(), find_package(Kokkos), find_package(KokkosKernels), blockvec_name_kokkos().

# Debian's package of Kokkos 5.2 names two libraries that it leaves out, and CMake ends where one is missing. Nothing is
# in them: these parts of Kokkos are headers only. CMake from 3.28 on does not look for the file of a target that it
# takes for a framework of Apple's.
macro(blockvec_before_kokkos)
  foreach(blockvec_part kokkosalgorithms kokkossimd)
    set("_cmake_import_check_xcframework_for_Kokkos::${blockvec_part}" "${CMAKE_CURRENT_LIST_DIR}")
  endforeach()
endmacro()

# Takes the parts out of Kokkos::kokkos whose files do not exist.
function(blockvec_mend_parts)
  get_target_property(parts Kokkos::kokkos INTERFACE_LINK_LIBRARIES)
  set(kept "")
  foreach(part IN LISTS parts)
    set(file "")
    if(TARGET ${part})
      get_target_property(type ${part} TYPE)
      get_target_property(is_imported ${part} IMPORTED)
      if(is_imported AND type STREQUAL "STATIC_LIBRARY")
        get_target_property(file ${part} LOCATION)
      endif()
    endif()
    if(NOT file OR EXISTS "${file}")
      list(APPEND kept ${part})
    endif()
  endforeach()
  if(parts AND NOT parts STREQUAL kept)
    set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_LINK_LIBRARIES "${kept}")
  endif()
endfunction()

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

# Makes the two targets, whose headers count as system headers. KokkosKernels_FOUND is false afterwards where those that
# were found do not suit.
macro(blockvec_name_kokkos)
  if(Kokkos_VERSION AND Kokkos_VERSION VERSION_LESS 3.4)
    message(FATAL_ERROR "BlockVec needs Kokkos 3.4 or newer, found ${Kokkos_VERSION}")
  endif()
  if(NOT TARGET BlockVec::kokkos)
    blockvec_mend_parts()
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
      # The names in its own package, in newer Trilinos and in older ones.
      foreach(blockvec_name Kokkos::kokkoskernels KokkosKernels::trilinos_kokkoskernels trilinos_kokkoskernels)
        if(TARGET ${blockvec_name})
          target_link_libraries(BlockVec::kokkoskernels INTERFACE ${blockvec_name} BlockVec::kokkos)
          break()
        endif()
      endforeach()
    endif()
    if(NOT TARGET Kokkos::kokkoskernels)
      foreach(directory IN LISTS Kokkos_INCLUDE_DIRS)
        target_include_directories(BlockVec::kokkos SYSTEM INTERFACE "${directory}")
      endforeach()
    endif()
  endif()
endmacro()

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
