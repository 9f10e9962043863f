# The Debian package: `cpack -G DEB` in the build folder. Its dependencies come from
# dpkg-shlibdeps; CUDA is not among it, since driver and runtime are the program's.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME xferscope)
set(CPACK_PACKAGE_VENDOR "xferscope")
set(CPACK_PACKAGE_CONTACT "xferscope maintainers <maintainers@xferscope.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "what CUDA transfers achieve, and what to change")
set(CPACK_PACKAGE_DESCRIPTION
"xferscope profiles the data transfers of CUDA programs, unmodified: it records
a run, measures what the machine's transfers can reach, and tells for each
place in the source what it achieved, what it could have, what to change, and
what the run would save with that.

Recording needs an NVIDIA driver, as the programs themselves do; traces are
read on any machine.")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bash-completion")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/DebianFiles.cmake")
set(CPACK_XFERSCOPE_CHANGES "${CMAKE_SOURCE_DIR}/CHANGES.md")
# Not the component `net`: a package cannot know which MPI there will be, and would depend on one.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};${PROJECT_NAME};Unspecified;/")
include(CPack)
