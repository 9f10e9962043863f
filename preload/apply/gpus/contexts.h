/*
 * Tables of what belongs to two contexts: access between them, a pipe, a relay. Each entry begins
 * with a struct xfs_contexts, and belongs to one thread at a time. A context that was made later in
 * the place of another is known by its number.
 */
#ifndef XFS_APPLY_CONTEXTS_H
#define XFS_APPLY_CONTEXTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "xferscope/cuda_abi.h"

struct xfs_contexts {
    atomic_bool taken;
    xcu_context context[2];   /* NULL: the place is free */
    unsigned long long id[2]; /* their numbers */
};

struct xfs_contexts_table {
    void *entries; /* zeroed */
    size_t bytes;  /* of one */
    unsigned most;
    bool any_order;    /* two contexts are the same the other way round */
    atomic_uint count; /* places that were ever used */
    atomic_flag adding;
};

/* The entry of two contexts, taken, and zeroed behind its struct xfs_contexts if it is new: of
 * contexts that ended unseen, what was theirs went with them. NULL: another thread has it, or there
 * are too many. */
void *xfs_contexts_take(struct xfs_contexts_table *table, xcu_context one, xcu_context other);
void xfs_contexts_give_back(struct xfs_contexts *of);

/* The same without taking it; NULL: there is none. */
void *xfs_contexts_find(struct xfs_contexts_table *table, xcu_context one, xcu_context other);

/* Of an entry that is taken: it becomes one of these contexts, as new; NULL: the place is free. */
void xfs_contexts_begin(const struct xfs_contexts_table *table, struct xfs_contexts *of,
                        xcu_context one, xcu_context other);

/* Are both contexts there still? */
bool xfs_contexts_alive(const struct xfs_contexts *of);

/* The n-th entry, if it has this context and could be taken; else NULL. */
void *xfs_contexts_take_of(struct xfs_contexts_table *table, unsigned n, xcu_context context);
unsigned xfs_contexts_count(struct xfs_contexts_table *table);

void xfs_contexts_after_fork(struct xfs_contexts_table *table);

#endif
