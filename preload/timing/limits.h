/*
 * A program that limits its own memory (setrlimit and prlimit are wrapped). CUPTI allocates while
 * the program copies, and throws where it gets nothing; the exception ends the program
 * (docs/timing.md, "Little room"). So where little is left below a new limit of the address space
 * or of the data, device times end before it is set.
 *
 * Not seen: limits that another process sets, or that a system call sets directly.
 */
#ifndef XFS_LIMITS_H
#define XFS_LIMITS_H

#include <stdbool.h>
#include <sys/resource.h>

#define XFS_LIMITS_ROOM_BYTES ((rlim_t)64 << 20) /* that CUPTI may need; it is a guess */

/* Does such a limit of memory, which is no RLIM_INFINITY, leave the process less than that, as
 * large as it is now? Of the process of this number; 0: of this one. Opens a file for a moment. */
bool xfs_limit_is_tight(int process, int resource, const struct rlimit *limit);

#endif
