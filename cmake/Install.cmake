# What `cmake --install` puts beside the command and its libraries (those install themselves, the
# libraries in XFERSCOPE_LIB_DIR): pages, pages of the manual, completion, licences.
set(doc share/doc/xferscope)
install(FILES "${CMAKE_SOURCE_DIR}/README.md" "${CMAKE_SOURCE_DIR}/LICENSE" "${CMAKE_SOURCE_DIR}/CHANGES.md"
        DESTINATION ${doc})
install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs/" DESTINATION ${doc}/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "*.json" PATTERN "*.png" PATTERN "*.py" PATTERN "*.c" PATTERN "*.cu")

find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  xferscope_left_out("pages of the manual, completion, licences of others (no Python 3)")
  return()
endif()
set(made "${CMAKE_BINARY_DIR}/install")
set(tools "${CMAKE_SOURCE_DIR}/tools/install")
file(MAKE_DIRECTORY "${made}")

# A page of the manual for the command and each subcommand that has a page.
file(GLOB pages CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/docs/*.md")
set(manual "")
foreach(page IN LISTS pages)
  file(STRINGS "${page}" title LIMIT_COUNT 1)
  if(NOT title MATCHES "^# xferscope( [a-z]+)?$")
    continue()
  endif()
  string(REGEX REPLACE "^# (.*)$" "\\1" name "${title}")
  string(REPLACE " " "-" name "${name}")
  set(output "${made}/${name}.1.gz")
  add_custom_command(OUTPUT "${output}"
    COMMAND Python3::Interpreter "${tools}/man_page.py" "${page}" "${output}" --version ${PROJECT_VERSION}
            --changes "${CMAKE_SOURCE_DIR}/CHANGES.md"
    DEPENDS "${page}" "${tools}/man_page.py" "${CMAKE_SOURCE_DIR}/CHANGES.md" "${CMAKE_SOURCE_DIR}/docs/xferscope.md"
    COMMENT "Making ${name}(1)" VERBATIM)
  list(APPEND manual "${output}")
endforeach()

set(licences "${made}/licences/xxHash.txt")
add_custom_command(OUTPUT ${licences}
  COMMAND Python3::Interpreter "${tools}/licences.py" "${licences}" --xxhash "${XXHASH_INCLUDE_DIR}/xxhash.h"
  DEPENDS "${tools}/licences.py" COMMENT "Reading xxHash's licence" VERBATIM)

add_custom_target(xferscope_pages ALL DEPENDS ${manual} ${licences})
install(FILES ${manual} DESTINATION share/man/man1)
install(FILES ${licences} DESTINATION ${doc}/licences)

# Completion is made of what --help says; a sanitized build may say more than that.
if(TARGET xferscope_command)
  set(completion "${made}/xferscope.bash" "${made}/_xferscope" "${made}/xferscope.fish")
  set(templates "")
  foreach(shell IN ITEMS bash zsh fish)
    list(APPEND templates "${tools}/completion.${shell}")
  endforeach()
  add_custom_command(OUTPUT ${completion}
    COMMAND Python3::Interpreter "${tools}/completion.py" "$<TARGET_FILE:xferscope_command>" "${made}"
    DEPENDS xferscope_command "${tools}/completion.py" "${tools}/usage.py" ${templates}
    COMMENT "Making the completion for bash, zsh and fish" VERBATIM)
  add_custom_target(xferscope_completion ALL DEPENDS ${completion})
  install(FILES "${made}/xferscope.bash" DESTINATION share/bash-completion/completions RENAME xferscope)
  install(FILES "${made}/_xferscope" DESTINATION share/zsh/vendor-completions)
  install(FILES "${made}/xferscope.fish" DESTINATION share/fish/vendor_completions.d)
endif()

# All that is installed, without the tests.
add_custom_target(installed)
foreach(target IN ITEMS xferscope_command xferscope xferscope_net xferscope_symbols xfa_page xferscope_pages
                      xferscope_completion)
  if(TARGET ${target})
    add_dependencies(installed ${target})
  endif()
endforeach()
