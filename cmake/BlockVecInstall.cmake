# cmake --install: libraries, headers, and the package that find_package(BlockVec COMPONENTS ...) reads.
option(BLOCKVEC_INSTALL "Generate BlockVec's install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT BLOCKVEC_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

set(components kernels)
install(DIRECTORY include/blockvec/kernels DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/blockvec)
install(FILES include/blockvec/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/blockvec)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/BlockVec)
set(package_files "")
if(NOT BLOCKVEC_KERNELS_ONLY)
  list(APPEND components blockvec orth)
  if(BLOCKVEC_BUILD_SOLVERS)
    list(APPEND components solvers)
    install(DIRECTORY include/blockvec/solvers DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/blockvec)
  endif()
  install(DIRECTORY include/blockvec DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN solvers EXCLUDE)
  install(FILES ${PROJECT_BINARY_DIR}/include/blockvec/config.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/blockvec)
  list(APPEND package_files cmake/BlockVecCudaLanguage.cmake cmake/BlockVecKokkos.cmake
       cmake/BlockVecLapacke.cmake)
  if(BLOCKVEC_ENABLE_NCCL)
    list(APPEND package_files cmake/FindNCCL.cmake)
  endif()
endif()
if(TARGET eigensolve)
  if(NOT APPLE AND NOT CMAKE_INSTALL_RPATH)
    file(RELATIVE_PATH libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(eigensolve PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  endif()
  install(TARGETS eigensolve OPTIONAL)  # a build of single targets may lack it
  install(PROGRAMS examples/plot_history.py DESTINATION ${CMAKE_INSTALL_DATADIR}/blockvec)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/BlockVec)

# One export set a component, so that finding one asks only for what that one needs.
foreach(component IN LISTS components)
  install(TARGETS blockvec_${component} EXPORT BlockVec-${component})
  install(EXPORT BlockVec-${component} NAMESPACE BlockVec:: DESTINATION ${package_directory})
endforeach()

# A static library leaves its private dependencies to whoever links it.
get_target_property(library_type blockvec_kernels TYPE)
set(BLOCKVEC_IS_STATIC OFF)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(BLOCKVEC_IS_STATIC ON)
endif()

# The kernels for those who do not use CMake: pkg-config --cflags --libs blockvec-kernels.
list(JOIN BLAS_LIBRARIES " " libraries)
set(private " -lhwy -lgomp ${libraries}")
set(BLOCKVEC_PC_CFLAGS "")
if(BLOCKVEC_ENABLE_CUDA)
  set(BLOCKVEC_PC_CFLAGS " -DBLOCKVEC_HAVE_CUDA=1")
  string(APPEND private " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -lpthread -ldl")
endif()
if(BLOCKVEC_IS_STATIC)
  set(BLOCKVEC_PC_LIBS "${private} -lstdc++ -lm")
  set(BLOCKVEC_PC_PRIVATE "")
else()
  set(BLOCKVEC_PC_LIBS "")
  set(BLOCKVEC_PC_PRIVATE "${private}")
endif()
file(RELATIVE_PATH BLOCKVEC_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" BLOCKVEC_PC_TO_PREFIX ${BLOCKVEC_PC_TO_PREFIX})
configure_file(cmake/blockvec-kernels.pc.in ${PROJECT_BINARY_DIR}/blockvec-kernels.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/blockvec-kernels.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(BLOCKVEC_COMPONENTS ${components})
configure_package_config_file(cmake/BlockVecConfig.cmake.in ${PROJECT_BINARY_DIR}/BlockVecConfig.cmake
  INSTALL_DESTINATION ${package_directory} NO_SET_AND_CHECK_MACRO)
# Before 1.0 every minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/BlockVecConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/BlockVecConfig.cmake ${PROJECT_BINARY_DIR}/BlockVecConfigVersion.cmake
              ${package_files}
        DESTINATION ${package_directory})
