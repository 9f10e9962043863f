/*
 * Completes the files of processes that have ended.
 */
#ifndef XFS_FINISH_FILE_H
#define XFS_FINISH_FILE_H

#include <stddef.h>

struct xfs_known; /* symbols/symbols.h */

/*
 * Completes the file of a process that has ended: slabs become EVENTS, stacks get their symbols
 * and the lines of source around them (sources.h), the file is replaced as a whole (rewrite.h). A
 * file that is closed and has symbols, or for which none are wanted, is left alone. `known`: names
 * of modules, for any number of files; NULL: no names are wanted. Returns 0, or -1 with one line in
 * `error`; the file is then as it was. A file that its process still maps is an error, and so is
 * one that another process truncates or completes meanwhile. Damaged parts are left out, and
 * counted in the new file's header. Holes are stepped over where the file system can tell them. Not
 * in two threads at once.
 */
int xfs_finish_file(const char *path, struct xfs_known *known, char *error, size_t error_bytes);

#endif
