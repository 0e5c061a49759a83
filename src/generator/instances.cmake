# The list of instantiations and the measured rows, written into the build tree whenever CMake runs; a change of what they
# are made from makes it run again. Sets blockvec_cuda_kernels_any, _bulk and _wgmma, the files with instantiations by what
# their kernels need of a device.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(FATAL_ERROR "The list of BlockVec's CUDA kernels is written by a program in Python 3, which was not found: "
                      "install it (Debian: python3), name it by Python3_EXECUTABLE, or build without CUDA "
                      "(BLOCKVEC_ENABLE_CUDA=OFF).")
endif()

set(generator ${CMAKE_CURRENT_LIST_DIR}/instances.py)
set(instances ${CMAKE_CURRENT_LIST_DIR}/../tuning/instances.json)
file(GLOB rows CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/../tuning/*.csv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${generator} ${CMAKE_CURRENT_LIST_DIR}/files.py ${instances} ${rows})
execute_process(COMMAND ${Python3_EXECUTABLE} -B ${generator} ${instances} ${generated} ${rows}
                OUTPUT_VARIABLE sources ERROR_VARIABLE error RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${error}")
endif()
foreach(needs any bulk wgmma)
  string(REGEX MATCHALL "${needs} [^\n]+" blockvec_cuda_kernels_${needs} "${sources}")
  list(TRANSFORM blockvec_cuda_kernels_${needs} REPLACE "${needs} " "${generated}/")
endforeach()
