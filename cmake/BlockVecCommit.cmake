# blockvec_find_commit(result): the commit of this tree, empty where it is not known. Used by the libraries and by the
# Python package.
function(blockvec_find_commit result)
  file(READ ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/commit.txt commit)  # git archive writes the commit into it
  string(STRIP "${commit}" commit)
  if(commit MATCHES "Format")
    set(commit "")
    execute_process(COMMAND git -C ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.. rev-parse --show-prefix --short HEAD
                    OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE status)
    # The first line is empty at the top of a repository: this one, and not one that holds it.
    if(status EQUAL 0 AND answer MATCHES "^\n([0-9a-f]+)\n$")
      set(commit ${CMAKE_MATCH_1})
    endif()
  endif()
  set(${result} "${commit}" PARENT_SCOPE)
endfunction()
