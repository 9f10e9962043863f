/*
 * Keeps the recorder's own loading of libraries apart from fork.
 *
 * A child that is forked while another thread is inside dlopen inherits a loader in an unfinished
 * state; libc aborts the child at its next dlopen. A program that loads nothing itself must not get
 * there through the recorder: fork waits until the recorder has finished loading, and the recorder
 * does not begin to load during a fork. Each waits for a bounded time only, since another thread
 * may hold the loader's lock and wait for them.
 *
 * The same holds for a walk through the loaded modules: dl_iterate_phdr holds a lock that a child
 * of fork never gets back (glibc 2.36 renews its other two in the child, not this one).
 */
#ifndef XFS_LOADING_H
#define XFS_LOADING_H

#include <stddef.h>

struct dl_phdr_info; /* link.h */

/* These two enclose everything that may load a library. They may be nested. */
void xfs_loading_begin(void);
void xfs_loading_end(void);

/* dl_iterate_phdr, kept apart from fork: for what is not within a load already. */
int xfs_walk_loaded(int (*visit)(struct dl_phdr_info *info, size_t size, void *user), void *user);

#endif
