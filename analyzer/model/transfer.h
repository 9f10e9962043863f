/* One transfer of the pass over the events, with what became known about it. */
#ifndef XFA_TRANSFER_H
#define XFA_TRANSFER_H

#include "xferscope/trace.h"

struct xfa_transfer {
    const struct xft_event *event;
    unsigned direction; /* enum xft_direction: the call's, else the device's */
    uint32_t class;     /* index in the totals' classes */
    double achieved_ns; /* NAN = not known, as is the next one */
    double lost_ns;
};

#endif
