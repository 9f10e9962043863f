/*
 * The end of a process whose first thread has left (pthread_exit): libc ends it when its last
 * thread does, with exit(0), which runs the exit handlers. The library's own threads must not be
 * the ones that keep it.
 *
 * One of them, which leaves the program's table of descriptors (descriptors.h), looks from time to
 * time whether there are none but the library's. By then the program's table would be gone, which
 * exit handlers need: so another is made when the first thread leaves, shares that table, and does
 * what the program's last would have done. Other libraries' threads keep a process, as ever.
 *
 * Where the process has set up a sandbox nothing is done, and the process goes on.
 */
#ifndef XFS_LAST_THREAD_H
#define XFS_LAST_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread is the library's, for good. False: there are too many. */
bool xfs_last_thread_own(void);

/* The calling thread of the library will look. */
void xfs_last_thread_watched(void);

/* By a thread of the program, when the one that looks has begun. */
void xfs_last_thread_begun(void);

/* The calling thread ends: is it the first? */
void xfs_thread_leaves(void);

/* By the one that looks, as often as it likes; `now_ns` is a clock that goes on. */
void xfs_last_thread_look(uint64_t now_ns);

#endif
