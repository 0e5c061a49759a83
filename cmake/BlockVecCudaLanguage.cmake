# CUDA as a language of CMake, with C++20. Used by BlockVec's own build and by its installed package.

# CMake itself looks for a compiler on the path alone.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(BLOCKVEC_NVCC nvcc PATHS /usr/local/cuda/bin)
  mark_as_advanced(BLOCKVEC_NVCC)
  if(BLOCKVEC_NVCC)
    set(ENV{CUDACXX} ${BLOCKVEC_NVCC})
  endif()
endif()

macro(blockvec_enable_cuda_language)
  enable_language(CUDA)
  # CMake 3.25 knows no C++20 in CUDA; the compiler does.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
endmacro()
