# One test per interpreter. XFERSCOPE_PYTHONS: more of them, a list of paths.
set(XFERSCOPE_PYTHONS "" CACHE STRING "further Python interpreters to test call sites with")
set(pythons "${Python3_EXECUTABLE}" /usr/bin/python3 ${XFERSCOPE_PYTHONS})
foreach(folder IN ITEMS /usr/bin /usr/local/bin /opt/*/bin $ENV{HOME}/.pyenv/versions/*/bin)
  file(GLOB found "${folder}/python3.[0-9]*")
  list(APPEND pythons ${found})
endforeach()

set(environment "PYTHONDONTWRITEBYTECODE=1")
if(XFERSCOPE_SANITIZE MATCHES "address")
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE runtime
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${runtime}" runtime)
  set(lines_environment "${environment}" "LD_PRELOAD=${runtime}" "ASAN_OPTIONS=detect_leaks=0" "PYTHONMALLOC=malloc")
  list(APPEND environment "XFERSCOPE_ASAN_RUNTIME=${runtime}")
else()
  set(lines_environment "${environment}")
endif()

set(seen "")
set(versions "")
foreach(python IN LISTS pythons)
  file(REAL_PATH "${python}" program)
  if(program IN_LIST seen OR NOT EXISTS "${program}" OR program MATCHES "config$")
    continue()
  endif()
  list(APPEND seen "${program}")
  execute_process(COMMAND "${program}" -c "import ctypes, sys; print('%d.%d.%d' % sys.version_info[:3])"
                  OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR version VERSION_LESS 3.10 OR version VERSION_GREATER_EQUAL 3.15)
    continue()
  endif()
  if(TEST record.python-${version})
    continue()
  endif()
  xferscope_add_test(NAME record.python-${version}
           COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/python_test.py" "${program}"
                   $<TARGET_FILE:record_harness> $<TARGET_FILE:xferscope_command>
                   $<TARGET_FILE:python_finish>)
  set_tests_properties(record.python-${version} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 300)
  xferscope_add_test(NAME record.python-lines-${version}
           COMMAND "${program}" "${CMAKE_CURRENT_SOURCE_DIR}/python_lines_test.py"
                   $<TARGET_FILE:python_lines>)
  set_tests_properties(record.python-lines-${version} PROPERTIES ENVIRONMENT "${lines_environment}")
  list(APPEND versions ${version})
endforeach()
# Frames of other versions lie elsewhere, and are read by the same functions: sanitizers look at the
# oldest and the newest (label `plain`, cmake/Tests.cmake).
list(SORT versions COMPARE NATURAL)
list(POP_FRONT versions)
list(POP_BACK versions)
foreach(version IN LISTS versions)
  set_property(TEST record.python-${version} record.python-lines-${version} APPEND PROPERTY LABELS plain)
endforeach()
if(NOT seen)
  xferscope_left_out("tests of Python call sites (no Python 3.10 to 3.14 found)")
endif()
