/*
 * Whether the host seems to need results before it can go on, as far as a trace shows it: it sends
 * what it has fetched, has fetched a few bytes, or has memory in which results need no copy. For
 * changes that put its waits off. Private to changes/.
 */
#ifndef XFW_FEEDBACK_H
#define XFW_FEEDBACK_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/changes/changes.h"

/* Whether kernels may have written to memory of these kinds. */
struct xfw_written {
    bool mapped, managed;
};

/* What a thread captures, until it makes or updates an executable graph of it: all but copies. */
struct xfw_captured {
    uint32_t thread; /* + 1 */
    bool unknown;    /* what they write is not known */
    struct xfw_written writes;
    uint64_t nodes;
};

struct xfw_feedback {           /* zeroed at first; of one process */
    struct xfw_buffers fetched; /* host memory that copies have brought results to */
    struct xfw_buffers mapped;  /* that kernels use over the link */
    struct xfw_buffers managed; /* that moves to whoever uses it */
    struct xfa_table launches;  /* kernels with what they were given: do they write there? */
    struct xfa_table graphs;    /* that are executable, with what they write */
    struct xfw_captured captured;
    bool maps;   /* there is any */
    bool always; /* from here on it needs all of them */
    /* Since the last wait: */
    bool decides;  /* a kernel may have written to managed memory */
    bool few;      /* a few bytes have been fetched */
    uint64_t sent; /* bytes of other memory; many are hardly made of a few */
};

/* Each op of the process. */
void xfw_feedback_note(struct xfw_feedback *feedback, const struct xfa_analysis *analysis,
                       const struct xfa_process *process, const struct xfw_op *op);

/* At a wait: the host looks at results behind it. */
bool xfw_feedback_looks(struct xfw_feedback *feedback);

void xfw_feedback_free(struct xfw_feedback *feedback);

#endif
