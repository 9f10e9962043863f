/*
 * Finds the recorder's files: in ../lib of the command in a build directory, in ../lib/xferscope
 * where it is installed. Relative to the command's own path, with links resolved, so that either
 * may be moved or copied as a whole.
 */
#ifndef XFERSCOPE_OWN_FILES_H
#define XFERSCOPE_OWN_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The directory of libxferscope.so; if it is in none, the first that was tried. False, and errno
 * set, when the command's own path is not known or the path does not fit. */
bool xferscope_library_folder(char *folder, size_t bytes);

#endif
