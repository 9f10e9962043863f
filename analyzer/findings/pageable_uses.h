/*
 * Which pageable memory a run copies from and to: the sums of an observer, for the kinds of finding
 * that advise to page-lock it; and what that would cost.
 */
#ifndef XFA_PAGEABLE_USES_H
#define XFA_PAGEABLE_USES_H

#include "analyzer/findings/finding.h"
#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/changes/costs.h"

/* Copies of some size (sums/figures.h: size classes), and those of them that used memory for the
 * first time, with so many bytes that were new. */
struct xfa_pageable_size {
    struct xfa_pageable_key {
        uint32_t class, size;
    } key;
    uint64_t copies, bytes, firsts, new_bytes;
    uint64_t rows;    /* that are not contiguous */
    uint64_t threads; /* that made them: a bit for each, of which two may have the same */
    uint64_t made;    /* in whose calls page faults made the memory */
};

struct xfa_pageable_uses { /* zeroed at first */
    struct xfa_table sizes;
    struct xfa_table *answers; /* costs of rows that were asked for; NULL: none is kept */
    struct xfw_buffers buffers;
    uint64_t kernels_ns;        /* of all kernels, on the device */
    struct xfw_buffers fetched; /* host memory of any kind that copies have brought results to */
    uint64_t sent_fetched;      /* copies to a device of such memory */
    struct xfw_marks made;      /* copies whose calls made the memory, where none had before */
    struct xfw_buffers made_at;
    uint32_t process;   /* of the last transfer, */
    uint64_t transfers; /* and so many of it */
};
/* What has these sums: other kinds of finding share them (finding.h: sums_of). */
extern const struct xfa_finding_kind xfa_kind_pageable;

/* Copies of it between pageable memory of the host and a device. */
static inline bool xfa_is_pageable_row(const struct xfa_row *row)
{
    const struct xfa_row_key *key = &row->key;
    return (key->direction == XFT_DIR_H2D && key->src_mem == XFT_MEM_PAGEABLE) ||
           (key->direction == XFT_DIR_D2H && key->dst_mem == XFT_MEM_PAGEABLE);
}

struct xfa_observer xfa_pageable_observer(void *uses);
void xfa_pageable_free(void *uses);
/* As a kind of finding's (finding.h). */
void xfa_pageable_give(const void *uses, struct xfa_parcel *parcel);
void xfa_pageable_take(void *uses, const struct xfa_analysis *analysis, struct xfa_unpacking *from);

/* What all copies of a row would take; NAN: not known. */
struct xfa_pageable_costs {
    uint64_t copies, firsts;
    double pinned_ns;       /* blocking, from page-locked memory */
    double once_ns;         /* in addition, to page-lock each buffer once */
    struct xfw_pinned once; /* how, those that take the most of it, and how long these */
    double per_use_ns;
    double staged_ns; /* through a ring of page-locked buffers, with so many threads */
    unsigned threads;
};
/* When all transfers have come. Answers are kept: for one thread. */
struct xfa_pageable_costs xfa_pageable_costs_of(const struct xfa_pageable_uses *uses,
                                                const struct xfa_analysis *analysis,
                                                const struct xfa_row *row);

/* Are buffers used again, so that it pays to page-lock each once? */
bool xfa_pageable_again(const struct xfa_pageable_costs *costs);

/* Which of PIN, PIN_PER_USE and STAGE takes the least time; XFA_REMEDY_KINDS: none takes less than
 * the copies did. */
enum xfa_remedy_kind xfa_pageable_way(const struct xfa_pageable_costs *costs, double achieved_ns);

/* The change of a finding's pageable copies; NULL: the profile has no page-locked ones. terms:
 * without buffers. */
struct xfw_change *xfa_pageable_change(const struct xfa_pageable_uses *uses,
                                       const struct xfa_analysis *analysis,
                                       const struct xfa_finding *finding,
                                       struct xfw_times_terms terms);

#endif
