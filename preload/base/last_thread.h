/*
 * The end of a process whose first thread has left (pthread_exit): libc ends the process with its
 * last thread, by exit(0), which runs the exit handlers. The library's own threads must not keep
 * such a process alive.
 *
 * The background thread, which has left the program's descriptor table (descriptors.h), checks from
 * time to time whether only the library's threads are left. By then the program's table would be
 * gone, which exit handlers need: so another thread is made when the first one leaves. It shares
 * that table, and ends the process as the program's last thread would have. Threads of other
 * libraries keep a process alive, as they always do.
 *
 * Where the process has set up a sandbox nothing is done, and the process goes on.
 */
#ifndef XFS_LAST_THREAD_H
#define XFS_LAST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the calling thread as one of the library's, for its whole life. False: too many. */
bool xfs_last_thread_own(void);

/* The calling thread is the one that checks. */
void xfs_last_thread_watched(void);

/* In a thread of the program, once the checking one has begun. */
void xfs_last_thread_begun(void);

/* The calling thread ends: makes the thread described above if it is the first. */
void xfs_thread_leaves(void);

/* In the checking thread, as often as it likes; `now_ns` is of a monotonic clock. */
void xfs_last_thread_look(uint64_t now_ns);

#endif
