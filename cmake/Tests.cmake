# How tests are added: what each needs, how long it takes, whether it is one of those before a push.

# Tests that take long: of these tools/check --quick runs none.
set(XFERSCOPE_SLOW_TESTS
    "^(e2e|install|page|pairs|bench|unbreakable|hostile|export|data)\\.|^simgpu\\.probe|^record\\.(python|bus|guarded|life)"
    "^probe\\.(coverage|described|families|profiles|recover|records|streams|command|concurrent|staged|profile-replay)"
    "^contracts\\.(tidy|npm)|^gpu\\.(with_cupti|overlap_models|scripts|compare)"
    "^analyzer-(commands|html|page_build|replay.*|whatif_sample_test)$")
list(JOIN XFERSCOPE_SLOW_TESTS "|" XFERSCOPE_SLOW_TESTS)

# What recording a program on the simulated GPU takes.
set(XFERSCOPE_RECORDER xferscope_command xferscope xferscope_symbols simgpu_cuda simgpu_cudart)

add_custom_target(quick COMMENT "What the tests of tools/check --quick need")

# Targets that have to be built before `test` can run. Where one is not, ctest says "Not Run (Required
# Files Missing)" and names the file; without this the test would fail like one that finds a mistake.
function(xferscope_test_needs test)
  foreach(target IN LISTS ARGN)
    if(TARGET ${target})
      set_property(TEST ${test} APPEND PROPERTY REQUIRED_FILES "$<TARGET_FILE:${target}>")
      if(NOT test MATCHES "${XFERSCOPE_SLOW_TESTS}")
        add_dependencies(quick ${target})
      endif()
    endif()
  endforeach()
endfunction()

# add_test(NAME ... COMMAND ...), of a test that needs what its command names: its program, and each
# $<TARGET_FILE:...> and $<TARGET_FILE_DIR:...>. No argument may be empty. What else it needs is told to xferscope_test_needs().
function(xferscope_add_test)
  cmake_parse_arguments(ARG "" "NAME" "COMMAND" ${ARGN})
  add_test(${ARGN})
  list(GET ARG_COMMAND 0 program)
  foreach(word IN LISTS ARG_COMMAND)
    if(word MATCHES "^\\$<TARGET_(SONAME_)?FILE(_DIR)?:([^>]+)>$")
      xferscope_test_needs(${ARG_NAME} ${CMAKE_MATCH_3})
    endif()
  endforeach()
  if(TARGET ${program})
    get_target_property(imported ${program} IMPORTED)
    if(NOT imported)
      xferscope_test_needs(${ARG_NAME} ${program})
    endif()
  endif()
  if(NOT ARG_NAME MATCHES "${XFERSCOPE_SLOW_TESTS}")
    set_property(TEST ${ARG_NAME} APPEND PROPERTY LABELS quick)
  endif()
endfunction()
