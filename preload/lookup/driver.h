/*
 * libcuda.so.1, once the process has loaded it: its functions by name, past the hooks, which code
 * is its own, and what stands in place of its functions.
 *
 * All of it is thread-safe, allocates nothing of its own and keeps errno.
 */
#ifndef XFS_DRIVER_H
#define XFS_DRIVER_H

#include <stdbool.h>

typedef void (*xfs_function)(void);

/* Handle of libcuda.so.1 if the process has loaded it, else NULL. Never loads it. */
void *xfs_driver_handle(void);

/* Any function of libcuda by its exported name; NULL when it has none. */
void *xfs_driver_symbol(const char *name);

/* True when the code at this address belongs to the driver or to a profiler, whose own look-ups
 * are left alone. */
bool xfs_is_driver_code(const void *address);

/*
 * What wrappers call in place of a driver function; `real` itself for most. Set before the first
 * driver function is looked up (by a constructor), and called once for each; NULL: nothing stands
 * in place of any.
 */
extern xfs_function (*xfs_in_place)(const char *symbol, xfs_function real);

#endif
