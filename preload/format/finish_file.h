/*
 * Completing the files of processes that are dead.
 */
#ifndef XFS_FINISH_FILE_H
#define XFS_FINISH_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct xfs_known; /* symbols/symbols.h */

/*
 * Finishes the file of a process that is dead: slabs become EVENTS, stacks get their symbols, the
 * file is replaced as a whole (rewrite.h). A file that is closed and has symbols, or wants none, is
 * left alone. Returns 0, or -1 with one line in `error`; the file is then as it was. A file whose
 * process still maps it is an error, and so is one that others cut or complete meanwhile. What is
 * damaged in the file is left behind, and counted in the new one's header. Holes are stepped over
 * where the file system can tell them. Not in two threads at once.
 */
int xfs_finish_file(const char *path, bool symbols, char *error, size_t error_bytes);

/* The same for one of many files; NULL: no names are wanted. */
int xfs_finish_file_known(const char *path, struct xfs_known *known, char *error,
                          size_t error_bytes);

#endif
