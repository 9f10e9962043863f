/*
 * The recorder's own loading of libraries, kept apart from fork.
 *
 * A child that is forked while another thread is within dlopen inherits a loader that is half done;
 * the C library ends it at its next dlopen. A program that loads nothing itself must not come to
 * that through us: fork waits until what the recorder loads is there, and the recorder does not
 * begin to load while a fork is under way. Nobody waits longer than a bounded time: somebody may
 * hold the loader's lock and wait for us.
 */
#ifndef XFS_LOADING_H
#define XFS_LOADING_H

/* Around everything that may load a library. May be nested. */
void xfs_loading_begin(void);
void xfs_loading_end(void);

#endif
