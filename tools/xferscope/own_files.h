/*
 * Where the recorder's files lie: in ../lib of the command in a build folder, in ../lib/xferscope
 * where it is installed. Found from the command's own place, links followed, so that either may be
 * moved or copied as a whole.
 */
#ifndef XFERSCOPE_OWN_FILES_H
#define XFERSCOPE_OWN_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The folder that holds libxferscope.so; where none does, the first that was looked at. False, and
 * errno set, when this command's own place cannot be told or the path has no room. */
bool xferscope_library_folder(char *folder, size_t bytes);

#endif
