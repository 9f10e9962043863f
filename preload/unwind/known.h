/*
 * Which memory of the stacks that a thread runs on can be read: known without a question to the
 * kernel for the process's first stack, for others asked once, page by page, as walks reach them.
 * Each thread keeps a few ranges.
 *
 * The question is rt_sigprocmask with a set at the address and an order that does not exist: the
 * kernel says either that it cannot read the set or that there is no such order. Where threads may
 * not call the kernel (sandbox.h) nothing is asked.
 *
 * A page that was readable is taken to be so from then on. It may be gone, if a stack that was not
 * the thread's own was unmapped; but then nothing leads there except a damaged frame of another
 * stack next to it.
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

/* What is known around a thread's own stack pointer. */
void xfs_known_begin(struct xfs_known *known, uintptr_t sp);

enum xfs_reach {
    XFS_REACHED, /* known.low and known.high have the word among them now */
    XFS_UNREADABLE,
    XFS_NOT_ASKED, /* the kernel could not be asked */
};

/* For a word outside of `known`. May change errno. */
enum xfs_reach xfs_known_reach(struct xfs_known *known, uintptr_t word);

#endif
