# How tests are added: what each needs, how long it takes, whether it is one of those before a push.

# Tests that take long: of these tools/check --quick runs none.
set(XFERSCOPE_SLOW_TESTS
    "^(e2e|install|page|pairs|bench|unbreakable|hostile|export|data)\\.|^simgpu\\.probe|^net\\.(ranks|hosts|messages)|^record\\.(python|bus|guarded|life)"
    "^probe\\.(coverage|described|families|profiles|recover|records|streams|command|concurrent|staged|profile-replay)"
    "^contracts\\.(tidy|npm)|^gpu\\.(with_cupti|overlap_models|scripts|compare)"
    "^apply\\.(all|beside|bounds|command|failures|lazy|locked|peers|prefetch|same|trials)$"
    "^analyzer-(commands|hostile_input|html|page_build|replay.*|whatif_sample_test)$")
list(JOIN XFERSCOPE_SLOW_TESTS "|" XFERSCOPE_SLOW_TESTS)

# Label `plain`: sanitizers can see nothing there that they do not see in another test, and the build
# with them leaves these out (ctest -LE plain).
set(XFERSCOPE_PLAIN_TESTS
    # figures of the simulated GPU for one more machine: probe.described runs every benchmark,
    # probe.profiles and probe.recover.sim-h200 read every kind of profile
    "^probe\\.(families|coverage|recover\\.(made|sim-2socket-4gpu))$|^simgpu\\.probe$"
    # what docs/walk-*.md shows, word for word: e2e.run has the same programs recorded, analysed, changed
    # and compared, e2e.docs reads the pages
    "^e2e\\.walks$"
    # the same ranks as in net.ranks, with a link of known speed between them
    "^net\\.hosts$"
    # what is said of simulated machines: e2e.programs has the recording, analyzer-findings_* the findings
    "^e2e\\.places$"
    # no code of ours in C: headers, pages, scripts, the page in a browser, a build
    "^contracts\\.(alone|components|npm|schemas|words|tidy)|^mutations\\.|^pairs\\.run$|^gpu\\.(scripts|compare-)"
    "^page\\.|^analyzer-page_build$")
list(JOIN XFERSCOPE_PLAIN_TESTS "|" XFERSCOPE_PLAIN_TESTS)

# Tests that start ranks with mpirun: one at a time, since ranks that wait do so in a loop, and take the processor
# from each other. The locked ones follow each other, so all of them are at the top of the costs.
set(XFERSCOPE_RANKS_TESTS "^net\\.(ranks|hosts|team|messages)$|^e2e\\.walks$")

# Tests that take long, in s on idle processors: ctest begins with them, so that none of them is alone at the end.
# The first pattern counts. With sanitizers others take long.
if(XFERSCOPE_SANITIZE)
  set(XFERSCOPE_COSTS
      "net\\.team=50" "net\\.ranks=33" "apply\\.launched=45" "apply\\.(placement|streams)=40" "e2e\\.budget=40"
      "apply\\.prefetch=25" "analyzer-survey_test=20" "unbreakable\\.(places|sandboxes)=30"
      "probe\\.profiles=30" "e2e\\.(run|cost)=25" "unbreakable\\.(ends|family)=20"
      "analyzer-(html|goldens|replay-.*|report_screen|view|commands)=18" "apply\\.plan=15"
      "export\\.(sums|timeline|lines|sqlite)=15" "e2e\\.(ranks|programs|periods|summary)=12" "unbreakable\\.=8"
      "probe\\.(described|records|command)=8" "analyzer-(hostile_input|compare|replay)=8" "e2e\\.=5"
      "record\\.(life|guarded|bus)=5" "record\\.python=5" "export\\.=4" "probe\\.recover=4")
else()
  set(XFERSCOPE_COSTS
      "pairs\\.random=100" "apply\\.surroundings=60"
      "net\\.(team|messages)=53" "e2e\\.walks=52" "net\\.ranks=35" "pairs\\.(sleeping|drawn|planned)=40"
      "apply\\.(attacks|pipeline)=40" "page\\.chromium=40" "page\\.fuzz=30"
      "install\\.(release|debian)=35" "unbreakable\\.places=30" "e2e\\.(budget|run)=25" "net\\.hosts=25"
      "bench\\.instructions=30" "apply\\.(relay|launched)=30" "unbreakable\\.(sandboxes|family)=15"
      "unbreakable\\.(corpus_read|threads|versions|ends)=10" "probe\\.(profiles|described|coverage|families)=12"
      "pairs\\.programs=12" "apply\\.peers=20" "apply\\.(all|failures|lazy|locked|prefetch|same|beside|trials)=12"
      "apply\\.(bounds|command|plan)=6"
      "analyzer-(commands|html|whatif_sample_test|page_build|replay-.*)=8" "bench\\.scale=8"
      "export\\.(command|timeline|sums)=7" "unbreakable\\.=6" "e2e\\.=4" "record\\.(life|guarded|bus)=4"
      "analyzer-hostile_input=3" "record\\.python=3" "probe\\.recover=5" "simgpu\\.probe=5")
endif()

# What recording a program on the simulated GPU takes.
set(XFERSCOPE_RECORDER xferscope_command xferscope xferscope_symbols simgpu_cuda simgpu_cudart)

add_custom_target(quick COMMENT "What the tests of tools/check --quick need")

# Targets that have to be built before `test` can run. Where one is not, ctest says "Unable to find
# required file" and "Not Run"; without this the test would fail like one that finds a mistake.
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

# For tests that take less with sanitizers.
set(XFERSCOPE_SANITIZED 0)
if(XFERSCOPE_SANITIZE)
  set(XFERSCOPE_SANITIZED 1)
endif()

# Appends to the list of that name where the sanitizer's runtime is, for programs that are built without it
# (tests/e2e/lab.py).
function(xferscope_add_asan_runtime name_of_list)
  if(NOT XFERSCOPE_SANITIZE MATCHES "address")
    return()
  endif()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE runtime
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(REAL_PATH "${runtime}" runtime)
  set(${name_of_list} ${${name_of_list}} "XFERSCOPE_ASAN_RUNTIME=${runtime}" PARENT_SCOPE)
endfunction()

# add_test(NAME ... COMMAND ...), of a test that needs what its command names: its program, and each
# $<TARGET_FILE:...> and $<TARGET_FILE_DIR:...>. No argument may be empty. xferscope_test_needs() names what else it needs.
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
  if(ARG_NAME MATCHES "${XFERSCOPE_PLAIN_TESTS}")
    set_property(TEST ${ARG_NAME} APPEND PROPERTY LABELS plain)
  endif()
  if(ARG_NAME MATCHES "${XFERSCOPE_RANKS_TESTS}")
    set_property(TEST ${ARG_NAME} PROPERTY RESOURCE_LOCK ranks)
  endif()
  foreach(cost IN LISTS XFERSCOPE_COSTS)
    string(REGEX REPLACE "^(.*)=([0-9]+)$" "\\1;\\2" cost "${cost}")
    list(GET cost 0 pattern)
    if(ARG_NAME MATCHES "^${pattern}")
      list(GET cost 1 seconds)
      set_property(TEST ${ARG_NAME} PROPERTY COST ${seconds})
      break()
    endif()
  endforeach()
endfunction()
