/*
 * A trace file that another process may be using: whether it still writes to it, for commands that
 * would complete or replace it, and reading what it may truncate.
 *
 * The recorder holds a lock on its file (file.c), which ends with its thread, or when the program
 * closes all descriptors where they are shared; the mapping stays until the process ends or
 * executes another program. Both are checked, and neither outlives the process.
 */
#ifndef XFS_IN_USE_H
#define XFS_IN_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True when a process holds the recorder's lock on the file, or has it open or mapped for writing,
 * also in another container of this machine. `fd` is open for reading only. */
bool xfs_is_open_for_writing(int fd);

/* True when the process maps a file of this name, or is alive and its mappings cannot be read. For
 * file systems without locks and leases. */
bool xfs_is_mapped_by(pid_t pid, const char *path);

/*
 * Runs `work`, which reads a mapped file that others may truncate meanwhile: touching bytes that
 * are gone is SIGBUS. False when it was broken off at such bytes; what it had opened and allocated
 * by then is its caller's affair. For commands: the handler of SIGBUS is the process's, and one
 * call at a time sets it. Another SIGBUS takes its usual course.
 */
bool xfs_while_there(const void *file, size_t size, void (*work)(void *context), void *context);

#endif
