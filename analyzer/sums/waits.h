/*
 * Where the host waited: calls that wait for a stream, an event, or a device (SYNC events), by call
 * site. What a wait took is the host's time in the call.
 */
#ifndef XFA_WAITS_H
#define XFA_WAITS_H

#include "analyzer/pass/observer.h"

#define XFA_MAX_WAITS 16384 /* further ones count to the site "no call stack" */

struct xfa_wait_key {
    uint32_t site, function; /* numbers */
};

struct xfa_wait {
    struct xfa_wait_key key;
    uint64_t times;
    double ns;      /* of all */
    double most_ns; /* of one */
};

struct xfa_waits {
    struct xfa_run *run;
    struct xfa_table all; /* struct xfa_wait */
};

struct xfa_observer xfa_waits_observer(struct xfa_waits *waits); /* starts with run set */
void xfa_waits_free(struct xfa_waits *waits);

/* Longest first; the caller frees the array of all.count pointers. */
const struct xfa_wait **xfa_waits_order(const struct xfa_waits *waits);

#endif
