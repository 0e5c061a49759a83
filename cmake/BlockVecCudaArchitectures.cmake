# CUDA architectures as the kernels want them.

# blockvec_complete_architectures(variable): gives the list `variable` code with all instructions of compute
# capabilities 9.0 and 10.0 where it names code without: plain `90` has no products of whole warpgroups, and neither
# `90` nor `100` hands registers from loading warps to computing ones. What newer devices run (PTX) stays.
function(blockvec_complete_architectures variable)
  set(complete "")
  set(lacking OFF)
  foreach(architecture IN LISTS ${variable})
    if(architecture MATCHES "^(90|100)(-real)?$")
      set(lacking ON)
      list(APPEND complete ${CMAKE_MATCH_1}a-real)
      if(NOT CMAKE_MATCH_2)
        list(APPEND complete ${CMAKE_MATCH_1}-virtual)
      endif()
    else()
      list(APPEND complete ${architecture})
    endif()
    if(architecture MATCHES "^all(-major)?$")
      message(WARNING "BlockVec: CUDA architectures \"${architecture}\" include no 90a and no 100a, without which kernels "
                      "are slower there. CMAKE_CUDA_ARCHITECTURES=\"80;90a-real;100a-real\" includes both.")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES complete)
  if(lacking)
    message(WARNING "BlockVec: code for CUDA architectures \"${${variable}}\" lacks instructions that the kernels use: "
                    "taking \"${complete}\"")
  endif()
  set(${variable} "${complete}" PARENT_SCOPE)
endfunction()
