/*
 * One operation in a stream of the program at a site: which way it goes, and how long it takes on
 * the GPU, by events around it. For classes whose operations return before they are over.
 */
#ifndef XFS_APPLY_TRIED_H
#define XFS_APPLY_TRIED_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/gpus/between.h"

/* What a class knows of operations of one kind, of who has taken it: one of them is timed at a
 * time. */
struct xfs_tries {
    struct xfs_proof proof; /* of those before apply starts */
    uint64_t spent_bytes;   /* of all as asked */
    struct xfs_timed last;  /* whose time is not known yet */
};

struct xfs_tried {
    enum xfs_apply_class class;
    enum xft_direction direction;
    uint64_t bytes;
    xcu_stream stream;
    struct xfs_tries *tries;

    /* Of xfs_tried_plan(). */
    struct xfs_site *site; /* NULL: not known */
    enum xfs_way way;
    bool is_timed;
    struct xfs_timed timed;
};

/* Which way it is to go: as asked before 30 ms were spent so, then by the site's trials. False: it
 * is not known, for want of a stack of our own. */
bool xfs_tried_plan(struct xfs_tried *tried);

/* Around the program's own call, which is timed only if that was its turn. */
void xfs_tried_before_call(struct xfs_tried *tried);
void xfs_tried_after_call(struct xfs_tried *tried, int status);

/* Our way, on a stack of our own, captures not disturbed (relaxed): the copy is queued, waited for
 * if that has to be, and compared. `copy` is what the functions are given. False: it is to be made
 * as asked; *failed: since it could not be queued or did not arrive. */
struct xfs_tried_steps {
    bool (*queue)(void *copy);
    bool (*wait)(void *copy);
    bool (*is_right)(void *copy); /* with --check; else true */
};
bool xfs_tried_carry_out(struct xfs_tried *tried, const struct xfs_tried_steps *steps, void *copy,
                         bool waits, bool *failed);

/* Our way cannot be gone. */
void xfs_tried_give_up(struct xfs_tried *tried);

/* Other bytes arrived: never again at this site. */
void xfs_tried_wrong(struct xfs_tried *tried);

#endif
