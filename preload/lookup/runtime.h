/*
 * A function of the runtime, of MPI or of NCCL, of which a process may have several: the one that
 * the loader would have bound for a caller, else the next one after this library in the global
 * scope, else that of any library. Found anew at every call.
 *
 * All of it is thread-safe, allocates nothing of its own and keeps errno.
 */
#ifndef XFS_RUNTIME_H
#define XFS_RUNTIME_H

#include <stdbool.h>

/* What is looked for: a runtime function under a version node (0 = any), and what it must not be.
 */
struct xfs_wanted {
    const char *symbol;
    unsigned version;
    const void *wrapper;
    const void *caller;
    void *found;
    bool next;       /* the global scope comes before the caller's library */
    bool found_next; /* and had it */
};

/* Fills in what was found: NULL when there is none. */
void xfs_find_wanted(struct xfs_wanted *wanted);

/* The same for a name alone; NULL when there is none. */
void *xfs_real_runtime_special(const char *symbol, const void *wrapper, const void *caller);

#endif
