/*
 * What moved between two looks, as text: a line for all, a line for each kind of transfer, and one
 * for each of the call sites that moved most.
 */
#ifndef XFA_RATES_H
#define XFA_RATES_H

#include "analyzer/live/look.h"

struct xfa_live_view {
    size_t top;    /* call sites */
    int width;     /* columns; longer lines are cut */
    bool terminal; /* in the place of the look before */
};

/* before: NULL = the run's start. Kinds and sites that moved nothing in between are left out. */
void xfa_rates_write(const struct xfa_look *before, const struct xfa_look *now,
                     const struct xfa_live_view *view, FILE *out);

#endif
