/*
 * The trace's file is mapped, and somebody may truncate it: whoever touches the mapping beyond the
 * new end is sent SIGBUS, as when a disk fails or cannot take a page. The program must not die of
 * that: a handler of SIGBUS puts memory of the process's own in place of what is gone, and the
 * thread goes on as if nothing had been.
 *
 * The program's own disposition of SIGBUS stays what it is in all that it can see:
 * sigaction(), signal() and their kin answer with it and change it, and every SIGBUS that is not of
 * this mapping goes to it, with its mask and flags, also where it is the default that ends the
 * process. There is no handler before a session starts, nor while the program ignores SIGBUS.
 *
 * What this cannot help: a thread that has SIGBUS blocked (the kernel ends the process), one that
 * may not call mmap() (a sandbox), and a program that sets a handler by a bare system call.
 */
#ifndef XFS_BUS_H
#define XFS_BUS_H

#include <stdbool.h>
#include <stddef.h>

/* When a session starts. */
void xfs_bus_watch(void);

/* Watched from here on, for as long as it is mapped: a shared mapping of the file, of pieces of
 * `unit` bytes; what is gone is replaced up to the end of a piece. Returns what xfs_bus_leave()
 * wants; NULL when memory is short. */
struct xfs_bus_region *xfs_bus_cover(void *start, size_t bytes, size_t unit);

/* Before it is unmapped. */
void xfs_bus_leave(struct xfs_bus_region *region);

/* What a SIGBUS is about is made good, if it is of the mapping. In a signal handler. */
bool xfs_bus_mend(const void *address);

/* In a thread of ours that has all signals blocked, at its start and now and then: it takes part. A
 * SIGBUS that somebody sent is left to the program's threads. */
void xfs_bus_own_thread(void);

#endif
