# CUDA as a language: the kernels' device side, where it is asked for.
option(BLOCKVEC_ENABLE_CUDA "Build the kernels for CUDA devices" OFF)
if(BLOCKVEC_ENABLE_CUDA)
  # Code for 9.0a serves that device alone, with all of its instructions; code for 8.0 any newer one, too.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12.4 REQUIRED)
  # CMake 3.25 knows no C++20 in CUDA; the compiler does.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
endif()
