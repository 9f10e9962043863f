/*
 * Keeps the recorder's own loading of libraries apart from fork.
 *
 * A child that is forked while another thread is inside dlopen inherits a loader in an unfinished
 * state; libc aborts the child at its next dlopen. A program that loads nothing itself must not get
 * there through the recorder: fork waits until the recorder has finished loading, and the recorder
 * does not begin to load during a fork. Each waits for a bounded time only, since another thread
 * may hold the loader's lock and wait for them.
 */
#ifndef XFS_LOADING_H
#define XFS_LOADING_H

/* These two enclose everything that may load a library. They may be nested. */
void xfs_loading_begin(void);
void xfs_loading_end(void);

#endif
