/*
 * Who asked: a place in the program, known by the return addresses above this library, with what is
 * known of its copies.
 */
#ifndef XFS_APPLY_SITE_H
#define XFS_APPLY_SITE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/apply/state/classes.h"
#include "preload/apply/site/proof.h"
#include "preload/apply/state/report.h"
#include "xferscope/plan.h"
#include "xferscope/terms.h"

#define XFS_SITE_SIZES 8 /* from 1 MiB on, powers of two; the last has all larger ones */

/* Of a site of leave_out.h. Times are of a MiB, ns; 0: not known. */
#define XFS_ASKED 4
struct xfs_leave_out_site {
    uint64_t begun_ns;         /* its first upload; 0: none */
    int64_t balance_ns;        /* what was saved, less what finding out took */
    float asked_ns[XFS_ASKED]; /* of the latest uploads as asked */
    float hash_ns, verify_ns;  /* the latest */
    uint32_t asked;            /* uploads as asked */
    uint32_t in_a_row;         /* uploads left out since one was copied */
    uint32_t verify_at;        /* hits before the next is verified */
    uint32_t hits, misses;     /* uploads left out; contents that changed, one after the other */
    uint32_t rest, rest_next;  /* uploads that are still left alone; how many the next time */
    bool remembered;           /* the last upload was hashed, and is there */
};

/* Of a site of placed.h. */
struct xfs_placed_site {
    uint64_t moved_bytes, spent_ns; /* by moving them */
    uint64_t gained_ns;             /* by copies of what was moved */
    bool refused;                   /* the kernel moved less than half of it */
};

struct xfs_site {
    _Atomic uint64_t key; /* of addresses, class and direction; 0: free */
    atomic_bool held;     /* by the thread that uses what follows */
    bool off;             /* by XFERSCOPE_APPLY_OFF, or since a copy of it was different */
    struct xfs_proof proofs[XFS_SITE_SIZES];
    struct xfs_proof *after; /* of the last copy, if it was timed: the gap behind it is its */
    enum xfs_way after_way;
    uint64_t returned_ns;
    pthread_t after_thread;
    struct xfs_report_site *report;      /* NULL: it finds no place there */
    const struct xft_plan_site *planned; /* NULL: the plan has none of this class here */
    struct xfs_leave_out_site leave_out;
    struct xfs_placed_site placed;
};

/* The site of the calling stack; NULL: there are too many, or it is another thread's at the moment.
 * Given back with xfs_site_release(), before the program's memory is touched. */
struct xfs_site *xfs_site_here(enum xfs_apply_class class, enum xft_direction direction);
bool xfs_site_hold(struct xfs_site *site);
void xfs_site_release(struct xfs_site *site);

struct xfs_proof *xfs_site_proof(struct xfs_site *site, uint64_t bytes);

/* Tells the command of one operation of a held site, whose call it has counted (`asked`) or will.
 * took_ns 0: it was not timed, and took the median of its way. */
void xfs_site_report(struct xfs_site *site, const struct xfs_proof *proof, enum xfs_way way,
                     uint64_t bytes, uint64_t took_ns);

void xfs_sites_after_fork(void);

#endif
