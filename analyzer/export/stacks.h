/*
 * Transfers summed up by call stack, for formats of stacks: a sum for each stack and row (class.h),
 * over all processes of the run; and for each stack and function of calls of MPI and NCCL. Stacks
 * are equal if all their frames are.
 *
 * Bounded: beyond XFA_MOST_STACKS stacks, or XFA_MOST_SUMS sums, transfers count to the stack
 * "(other stacks)", and beyond XFA_MOST_STACK_FRAMES only the chosen frame of a stack is kept.
 */
#ifndef XFA_STACKS_H
#define XFA_STACKS_H

#include "analyzer/export/export.h"

#define XFA_MOST_STACKS 65536
#define XFA_MOST_SUMS 131072
#define XFA_MOST_STACK_FRAMES (1u << 18)
#define XFA_NO_ROW UINT32_MAX /* not of transfers: `what` says what of */

struct xfa_stack_key {
    uint32_t stack; /* number */
    uint32_t row;
};

struct xfa_stack_sum {
    struct xfa_stack_key key;
    const char *what;            /* as long as the run is there; NULL: the row says it */
    double weights[XFA_WEIGHTS]; /* bytes, then ns */
    double lost_ns;              /* of those whose loss is known */
    uint64_t transfers;
};

/* Begins a format's self. */
struct xfa_stacks {
    struct xfa_shelf shelf;
    struct xfa_table stacks, known, sums; /* stacks.c; known: of the process at hand, by its ids */
    size_t frames;
};

/* The functions of a format whose self begins with a struct xfa_stacks. */
void xfa_stacks_begin(struct xfa_export *export);
void xfa_stacks_process(struct xfa_export *export, struct xfa_process *process);
void xfa_stacks_transfer(struct xfa_export *export, const struct xfa_event *event);
void xfa_stacks_event(struct xfa_export *export, const struct xfa_event *event);
#define XFA_STACKS_KINDS XFA_KIND(XFT_EVENT_MESSAGE) /* of the format */
void xfa_stacks_free(struct xfa_export *export);

/*
 * What the best set of findings saves (finding.h), shared out: to each finding what it adds to the
 * set, to its sites by what they lost (bytes, where that is not known), to the stacks of a site
 * the same. All add up to what the set likely saves.
 */
void xfa_stacks_save(struct xfa_export *export);

static inline size_t xfa_stacks_count(const struct xfa_stacks *stacks)
{
    return stacks->sums.count;
}

static inline const struct xfa_stack_sum *xfa_stacks_sum(const struct xfa_stacks *stacks, size_t i)
{
    return xfa_table_at(&stacks->sums, i);
}

/* The frames of a sum's stack, the innermost first; site->frame_count of them. */
const struct xfa_site *xfa_stacks_frames(const struct xfa_stacks *stacks,
                                         const struct xfa_stack_sum *sum);
/* What the stack asked for, as a frame within the innermost: "cudaMemcpy H2D, pageable to device".
 * The caller frees it. */
char *xfa_stacks_leaf(const struct xfa_export *export, const struct xfa_stack_sum *sum);

#endif
