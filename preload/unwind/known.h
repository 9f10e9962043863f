/*
 * Which memory of a thread's stacks can be read: known without a system call for the process's
 * first stack; for others queried once per page, as walks reach them. Each thread keeps a few
 * ranges.
 *
 * The query is rt_sigprocmask with a set at the address and an invalid `how`: the kernel returns
 * EFAULT if it cannot read the set, else EINVAL. Where threads may not make system calls
 * (sandbox.h) nothing is queried.
 *
 * A page that was readable is assumed to stay so. It may be unmapped if it was part of another
 * thread's stack; but then only a damaged frame of a neighbouring stack leads there.
 */
#ifndef XFS_KNOWN_H
#define XFS_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

struct xfs_known {
    uintptr_t low, high;    /* readable: from low, up to high */
    struct xfs_known *kept; /* what the thread has of it; NULL: the first stack */
};

/* Finds the first stack's end. */
void xfs_known_init(void);

/* The known range around a thread's stack pointer. */
void xfs_known_begin(struct xfs_known *known, uintptr_t sp);

enum xfs_reach {
    XFS_REACHED, /* the word now lies between known.low and known.high */
    XFS_UNREADABLE,
    XFS_NOT_ASKED, /* the kernel could not be queried */
};

/* For a word outside of `known`. May change errno. */
enum xfs_reach xfs_known_reach(struct xfs_known *known, uintptr_t word);

#endif
