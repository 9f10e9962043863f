/*
 * Whether a process still writes to a trace file, for others who would complete or replace it.
 *
 * The recorder holds a lock on its file (file.c), which ends with its thread, or when the program
 * closes all descriptors where they are shared; the mapping stays until the process ends or becomes
 * another program. Both are asked for, and what dies with the process is not there any more.
 */
#ifndef XFS_IN_USE_H
#define XFS_IN_USE_H

#include <stdbool.h>
#include <sys/types.h>

/* Somebody holds the recorder's lock on the file, or has it open or mapped for writing. `fd` is
 * open for reading only. Also in other containers of this machine, where the kernel can tell. */
bool xfs_is_open_for_writing(int fd);

/* The process of this number maps a file of this name; true when it is alive and cannot be looked
 * into. For file systems that do not know who writes. */
bool xfs_is_mapped_by(pid_t pid, const char *path);

#endif
