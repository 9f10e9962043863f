/*
 * What is to be known of a finding's fix before it is carried out, as numbers; in words it is
 * report/described.h's. Two things: what page-locking takes, which the saving has in it, and how it
 * takes the least here; and that the host makes its input of results.
 */
#ifndef XFA_FIX_NOTE_H
#define XFA_FIX_NOTE_H

#include <stdbool.h>

#include "analyzer/whatif/changes/costs.h"

struct xfa_fix_note {
    struct xfw_pinned pinned; /* of all its buffers, once; how most of it is made. by UNKNOWN: the
                                 fix page-locks nothing, or so little that it needs no word */
    bool
        in_order; /* the host sends memory that it has fetched: rounds are taken to stay in order */
};

struct xfa_findings;

/* Of findings that are weighed. */
void xfa_findings_note(struct xfa_findings *findings, const struct xfa_analysis *analysis);

#endif
