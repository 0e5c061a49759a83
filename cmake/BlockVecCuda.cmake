# CUDA as a language, for the kernels' device side: by default wherever a compiler for it is found that works.
include(CheckLanguage)
include(${CMAKE_CURRENT_LIST_DIR}/BlockVecCudaArchitectures.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/BlockVecCudaLanguage.cmake)
set(blockvec_least_cuda 12.4)

# Sets `result` to whether a CUDA compiler is there, works with the host's, and is new enough.
function(blockvec_find_cuda_compiler result)
  set(${result} OFF PARENT_SCOPE)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(STATUS "BlockVec: the CUDA compiler that is here does not work; building without CUDA")
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(NOT version MATCHES "release ([0-9.]+)" OR CMAKE_MATCH_1 VERSION_LESS blockvec_least_cuda)
    message(STATUS "BlockVec: ${CMAKE_CUDA_COMPILER} is not nvcc ${blockvec_least_cuda} or newer; building without CUDA")
    return()
  endif()
  set(${result} ON PARENT_SCOPE)
endfunction()

if(NOT DEFINED BLOCKVEC_ENABLE_CUDA)
  blockvec_find_cuda_compiler(blockvec_cuda_works)
endif()
option(BLOCKVEC_ENABLE_CUDA "Build the kernels for CUDA devices" ${blockvec_cuda_works})
if(NOT BLOCKVEC_ENABLE_CUDA)
  return()
endif()

# Code for 9.0a or 10.0a serves that device alone, with all of its instructions; code for 8.0 any newer one, too.
set(blockvec_usual_architectures OFF)
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(blockvec_usual_architectures ON)
  set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
endif()
blockvec_enable_cuda_language()
if(blockvec_usual_architectures AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND CMAKE_CUDA_ARCHITECTURES 100a-real)
endif()
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
  set(CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
endif()
blockvec_complete_architectures(CMAKE_CUDA_ARCHITECTURES)
find_package(CUDAToolkit ${blockvec_least_cuda} REQUIRED)

# Every driver that runs programs of CUDA 13 reads device code in its smallest form: a third of the usual one's size.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(blockvec_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>)
endif()

# The study of the papers' kernels has thousands of them: minutes of compilation, for a few benchmarks.
option(BLOCKVEC_BUILD_STUDY "Build bench/cuda_sweep, sgemm, tiled and tsm2, and the kernels that they measure" OFF)
