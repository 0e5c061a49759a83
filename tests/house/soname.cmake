# Installs shared libraries of several versions below `build`, and looks at the name by which programs ask for each:
# versions that may differ in the interface have different names.
function(check_soname version expected)
  set(prefix ${build}/${version}/prefix)
  foreach(step IN ITEMS "-S;${CMAKE_CURRENT_LIST_DIR}/soname;-B;${build}/${version};-G;${generator};-DVERSION=${version}"
                        "--build;${build}/${version}" "--install;${build}/${version};--prefix;${prefix}")
    set(options "")
    if(step MATCHES "^-S")
      set(options -DBLOCKVEC_SOURCE_DIR=${source} -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_LIBDIR=lib
          -DCMAKE_CXX_COMPILER=${compiler})
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} ${step} ${options} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  endforeach()
  execute_process(COMMAND ${readelf} -d ${prefix}/lib/libblockvec_kernels.so COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_VARIABLE section)
  string(REGEX MATCH "SONAME[^[]*\\[([^]]*)\\]" found "${section}")
  if(NOT CMAKE_MATCH_1 STREQUAL expected)
    message(SEND_ERROR "Version ${version} is asked for as \"${CMAKE_MATCH_1}\": expected \"${expected}\"")
  endif()
endfunction()

check_soname(0.1.0 libblockvec_kernels.so.0.1)
check_soname(0.2.3 libblockvec_kernels.so.0.2)
check_soname(1.0.0 libblockvec_kernels.so.1)
check_soname(1.2.3 libblockvec_kernels.so.1)
