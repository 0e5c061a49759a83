# The tables of measured configurations as an array: a line of C++ for each line of each CSV file in this folder, in
# ${CMAKE_CURRENT_BINARY_DIR}/tuning_lines.inc.
file(GLOB tables CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.csv)
set(array "")
foreach(table IN LISTS tables)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  get_filename_component(name ${table} NAME)
  file(READ ${table} text)
  string(REPLACE ";" "," text "${text}")  # a comment's: they would be ends of lines
  string(REPLACE "\n" ";" text "${text}")
  set(number 0)
  foreach(line IN LISTS text)
    math(EXPR number "${number} + 1")
    if(line MATCHES "^[^#].*,.*[0-9]")
      string(APPEND array "    {\"${name}\", ${number}, \"${line}\"},\n")
    endif()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tuning_lines.inc CONTENT "${array}" @ONLY)
