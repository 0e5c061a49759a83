# CUDA as a language, for the kernels' device side: by default wherever a compiler for it is found that works.
include(CheckLanguage)
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

# CMake itself looks on the path alone.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(BLOCKVEC_NVCC nvcc PATHS /usr/local/cuda/bin)
  mark_as_advanced(BLOCKVEC_NVCC)
  if(BLOCKVEC_NVCC)
    set(ENV{CUDACXX} ${BLOCKVEC_NVCC})
  endif()
endif()
if(NOT DEFINED BLOCKVEC_ENABLE_CUDA)
  blockvec_find_cuda_compiler(blockvec_cuda_works)
endif()
option(BLOCKVEC_ENABLE_CUDA "Build the kernels for CUDA devices" ${blockvec_cuda_works})
if(NOT BLOCKVEC_ENABLE_CUDA)
  return()
endif()

# Code for 9.0a serves that device alone, with all of its instructions; code for 8.0 any newer one, too.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
endif()
enable_language(CUDA)
find_package(CUDAToolkit ${blockvec_least_cuda} REQUIRED)
# CMake 3.25 knows no C++20 in CUDA; the compiler does.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

# The study of the paper's kernels has thousands of them: minutes of compilation, for one benchmark.
option(BLOCKVEC_BUILD_STUDY "Build bench/cuda_sweep and the kernels that it measures" OFF)
