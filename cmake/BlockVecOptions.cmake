include(GNUInstallDirs)

option(BLOCKVEC_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(BLOCKVEC_BUILD_EXAMPLES "Build the example programs" ${PROJECT_IS_TOP_LEVEL})
option(BLOCKVEC_BUILD_BENCH "Build the benchmarks" OFF)
option(BLOCKVEC_KERNELS_ONLY "Build BlockVec::kernels alone, without Kokkos, MPI and LAPACK" OFF)
option(BLOCKVEC_BUILD_FUZZERS "Build the fuzz targets of tests/fuzz instead of replaying their corpus (clang only)" OFF)
option(BLOCKVEC_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)
set(BLOCKVEC_SANITIZE "" CACHE STRING "Value of -fsanitize= for every target, e.g. address,undefined or thread")

if(BLOCKVEC_BUILD_FUZZERS AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "BLOCKVEC_BUILD_FUZZERS needs clang, whose libFuzzer it uses: set CMAKE_CXX_COMPILER=clang++, or "
                      "configure with --preset fuzz.")
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
# What is found here is seen by those who add BlockVec as a subdirectory, too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)

# Everything that BlockVec compiles uses this target privately.
add_library(blockvec_flags INTERFACE)
target_compile_features(blockvec_flags INTERFACE cxx_std_20)
target_compile_options(blockvec_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow>
                       $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion>  # GCC's -Wconversion has none
                       $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wshadow
                                                      --diag-suppress=554>)
if(BLOCKVEC_WARNINGS_AS_ERRORS)
  target_compile_options(blockvec_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                         $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(BLOCKVEC_SANITIZE)
  add_compile_options(-fsanitize=${BLOCKVEC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BLOCKVEC_SANITIZE})
endif()

# Before 1.0 every minor version may change the interface.
set(blockvec_soversion ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION VERSION_LESS 1.0)
  set(blockvec_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()

# blockvec_add_library(kernels SOURCES ...): the library BlockVec::kernels, from target blockvec_kernels.
function(blockvec_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES" ${ARGN})
  add_library(blockvec_${name} ${ARG_SOURCES})
  add_library(BlockVec::${name} ALIAS blockvec_${name})
  set_target_properties(blockvec_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON
    VERSION ${PROJECT_VERSION} SOVERSION ${blockvec_soversion})
  if(NOT APPLE AND NOT CMAKE_INSTALL_RPATH)  # a shared library finds its neighbours wherever they are installed
    set_target_properties(blockvec_${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
  target_compile_features(blockvec_${name} PUBLIC cxx_std_20)
  target_link_libraries(blockvec_${name} PRIVATE $<BUILD_INTERFACE:blockvec_flags>)
  target_include_directories(blockvec_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()
