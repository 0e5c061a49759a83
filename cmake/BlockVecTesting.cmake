# How a test program is built and registered with ctest.

# mpiexec's flags: more ranks than cores are welcome, and none is tied to a core.
set(blockvec_mpiexec_flags "")
if(BLOCKVEC_ENABLE_MPI)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE mpiexec_version ERROR_QUIET)
  if(mpiexec_version MATCHES "Open MPI|OpenRTE|PRRTE")
    set(blockvec_mpiexec_flags --oversubscribe --bind-to none)
  endif()
endif()

# Environment of every test. Variables of one MPI are ignored by the others.
# Threads that wait must not spin: there are more of them than cores.
# Open MPI looks up "localhost" again and again; a bare root has no /etc/hosts and asks a name server, which may lose one.
set(blockvec_test_environment OMP_PROC_BIND=false OMP_WAIT_POLICY=passive RES_OPTIONS=timeout:1)
set(blockvec_mpi_environment
  OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_rmaps_base_oversubscribe=1)

# Where Kokkos is built for CUDA, nothing above the kernels starts without a device: such tests count as skipped.
set(blockvec_no_device "Environment: no CUDA device|libcuda.so.1: cannot open shared object file")

# blockvec_mpi_command(result ranks command...): the command line that runs `command` on that many ranks.
function(blockvec_mpi_command result ranks)
  set(${result} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${blockvec_mpiexec_flags} ${MPIEXEC_PREFLAGS}
      ${ARGN} ${MPIEXEC_POSTFLAGS} PARENT_SCOPE)
endfunction()

# blockvec_register_test(name [TIMEOUT seconds] [LABELS ...] [MPI_RANKS 1 2 ...] COMMAND program arguments...)
# One ctest entry called `name`; with MPI_RANKS and an MPI build, one entry `name.ranks<n>` for each count instead.
function(blockvec_register_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT" "LABELS;MPI_RANKS;COMMAND")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(BLOCKVEC_SANITIZE)
    math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
  endif()
  set(entries ${name})
  if(ARG_MPI_RANKS AND BLOCKVEC_ENABLE_MPI)
    set(entries "")
    # mpiexec gives up first: it ends the ranks and says why, which ctest's own limit would not.
    math(EXPR mpi_timeout "${ARG_TIMEOUT} - 10")
    foreach(ranks IN LISTS ARG_MPI_RANKS)
      blockvec_mpi_command(command ${ranks} ${ARG_COMMAND})
      add_test(NAME ${name}.ranks${ranks} COMMAND ${command})
      set_tests_properties(${name}.ranks${ranks} PROPERTIES
        PROCESSORS ${ranks} LABELS "${ARG_LABELS};mpi" TIMEOUT ${ARG_TIMEOUT}
        SKIP_REGULAR_EXPRESSION "${blockvec_no_device}"
        ENVIRONMENT "${blockvec_test_environment};${blockvec_mpi_environment};MPIEXEC_TIMEOUT=${mpi_timeout}")
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${ARG_COMMAND})
    set_tests_properties(${name} PROPERTIES
      LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
      SKIP_REGULAR_EXPRESSION "${blockvec_no_device}"
      ENVIRONMENT "${blockvec_test_environment};OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
  endif()
endfunction()

# blockvec_add_test(name SOURCES ... [LIBRARIES ...] [MPI_RANKS 1 2 ...] [LABELS ...] [TIMEOUT seconds])
# One GoogleTest program, target test_<name>, labelled with its folder. A program that links nothing above
# BlockVec::kernels gets GoogleTest's own main(); any other gets support/main.cpp, which starts Kokkos and MPI.
function(blockvec_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;MPI_RANKS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "blockvec_add_test(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(target test_${name})
  add_executable(${target} ${ARG_SOURCES})
  set(above_kernels ${ARG_LIBRARIES})
  list(REMOVE_ITEM above_kernels BlockVec::kernels OpenMP::OpenMP_CXX hwy::hwy CUDA::cudart_static)
  if(above_kernels)
    set(main blockvec_test_main)
    blockvec_compile_as_kokkos(${target})
  else()
    set(main GTest::gtest_main)
  endif()
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} ${main} GTest::gtest blockvec_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  # Tests compile in half of the time so. What they test lies in the libraries.
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(timeout "")
  if(ARG_TIMEOUT)
    set(timeout TIMEOUT ${ARG_TIMEOUT})
  endif()
  blockvec_register_test(${name} ${timeout} LABELS ${folder} ${ARG_LABELS} MPI_RANKS ${ARG_MPI_RANKS}
                         COMMAND $<TARGET_FILE:${target}>)
endfunction()
