/*
 * The trace file is mapped. A thread that touches the mapping beyond the file's end gets SIGBUS
 * when another process has truncated the file, and also when the disk fails or a network file
 * system is gone. The program must not die of that: a handler of SIGBUS maps private memory in
 * place of the pages that are gone, and the thread continues.
 *
 * The program does not see that handler: sigaction(), signal() and their variants return and change
 * the program's own disposition of SIGBUS, and each SIGBUS that is not of this mapping is passed to
 * it, with its mask and flags; the default still ends the process. There is no handler before a
 * session starts, nor while the program ignores SIGBUS. docs/interception.md says why this is worth
 * its risk.
 *
 * Not covered: a thread that has SIGBUS blocked (the kernel ends the process), one that may not
 * call mmap() (a sandbox), and a program that sets its handler by a bare system call.
 */
#ifndef XFS_BUS_H
#define XFS_BUS_H

#include <stdbool.h>
#include <stddef.h>

/* When a session starts. */
void xfs_bus_watch(void);

/* Covers a shared mapping of the file from here on. It consists of pieces of `unit` bytes; pages
 * that are gone are replaced up to the end of their piece. Returns the argument for
 * xfs_bus_leave(); NULL when memory is short. */
struct xfs_bus_region *xfs_bus_cover(void *start, size_t bytes, size_t unit);

/* Before it is unmapped. */
void xfs_bus_leave(struct xfs_bus_region *region);

/* In a signal handler: replaces the page at the address if it is of a covered mapping; else false.
 */
bool xfs_bus_mend(const void *address);

/* In a thread of the recorder that has all signals blocked, at its start and in each round:
 * unblocks SIGBUS. A SIGBUS that another process sent is left to the program's threads. */
void xfs_bus_own_thread(void);

#endif
