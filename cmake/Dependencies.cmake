# What is needed, where it is found, and what is left out without it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)       # JSON
pkg_check_modules(SMARTCOLS REQUIRED IMPORTED_TARGET smartcols)   # tables
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw)           # symbols and lines
pkg_check_modules(UNWIND REQUIRED IMPORTED_TARGET libunwind)      # what tests hold our call stacks against
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c) # export to Perfetto
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3) # export to SQLite
find_program(PROTOC_C protoc-c REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_path(IBERTY_INCLUDE_DIR libiberty/demangle.h REQUIRED)      # C++ names
# Its demangler may be linked "into combinations with other programs", these distributed "without any restriction".
find_library(IBERTY_LIBRARY NAMES libiberty.a REQUIRED)
find_path(NUMA_INCLUDE_DIR numa.h REQUIRED)
find_library(NUMA_LIBRARY numa REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)                   # used header-only

# Python where it is itself, not a script that looks for it, as pyenv's, which takes longer than it each time.
if(NOT DEFINED Python3_EXECUTABLE)
  find_program(XFERSCOPE_ANY_PYTHON NAMES python3)
  mark_as_advanced(XFERSCOPE_ANY_PYTHON)
  if(XFERSCOPE_ANY_PYTHON)
    execute_process(COMMAND "${XFERSCOPE_ANY_PYTHON}" -c "import sys; print(sys.executable)" OUTPUT_VARIABLE python
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(EXISTS "${python}")
      set(Python3_EXECUTABLE "${python}")
    endif()
  endif()
endif()

# The CUDA toolkit, where it usually is. Only programs that are themselves CUDA programs need it:
# the recorder, the analyzer, the probe and the simulated GPU do not.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND AND EXISTS /usr/local/cuda/include/cuda.h)
  set(CUDAToolkit_ROOT /usr/local/cuda)
  find_package(CUDAToolkit QUIET)
endif()
set(XFERSCOPE_HAVE_CUDA ${CUDAToolkit_FOUND})

set_property(GLOBAL PROPERTY XFERSCOPE_LEFT_OUT "")
function(xferscope_left_out what)
  set_property(GLOBAL APPEND PROPERTY XFERSCOPE_LEFT_OUT "${what}")
endfunction()

function(xferscope_print_summary)
  if(XFERSCOPE_HAVE_CUDA)
    message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION} in ${CUDAToolkit_TARGET_DIR}")
  else()
    message(STATUS "CUDA toolkit: none found (looked at CUDAToolkit_ROOT, nvcc on the path, /usr/local/cuda)")
  endif()
  get_property(left GLOBAL PROPERTY XFERSCOPE_LEFT_OUT)
  foreach(item IN LISTS left)
    message(STATUS "left out: ${item}")
  endforeach()
endfunction()
