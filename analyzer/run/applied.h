/*
 * What `record --apply` carried out in a process, as its trace says (docs/trace-format.md: META
 * apply.N): by class and place.
 */
#ifndef XFA_APPLIED_H
#define XFA_APPLIED_H

#include "analyzer/read/read.h"

#define XFA_APPLIED_CLASS 24

struct xfa_applied {
    char class[XFA_APPLIED_CLASS]; /* its word */
    unsigned step;                 /* of the plan, from 1 on; 0: of no plan */
    uint64_t asked, done;          /* operations that were looked at; of these, carried out */
    uint64_t done_bytes;
    uint64_t done_ns, instead_ns; /* what these took; what they would have taken, by trials */
    uint64_t checked, different;  /* compared with what the program asked for */
};

/* The caller frees it with free(). NULL and 0: nothing was carried out, or the trace does not say.
 */
struct xfa_applied *xfa_applied_of(const struct xfa_trace *trace, size_t *count);

#endif
