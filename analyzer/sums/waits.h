/*
 * Where the host waited: calls that wait for a stream, an event, or a device (SYNC events), by call
 * site. What a wait took is the host's time in the call.
 */
#ifndef XFA_WAITS_H
#define XFA_WAITS_H

#include "analyzer/base/exact.h"
#include "analyzer/base/met.h"
#include "analyzer/pass/observer.h"

#define XFA_MAX_WAITS 16384 /* further ones count to the site "no call stack" */

struct xfa_wait_key {
    uint32_t site, function; /* numbers */
};

struct xfa_wait {
    struct xfa_wait_key key;
    struct xfa_met met;
    uint64_t times;
    double ns;      /* of all, once they are finished */
    double most_ns; /* of one */
    struct xfa_exact sum;
};

struct xfa_waits {
    struct xfa_run *run;
    struct xfa_table all; /* struct xfa_wait */
};

struct xfa_observer xfa_waits_observer(struct xfa_waits *waits); /* starts with run set */
void xfa_waits_free(struct xfa_waits *waits);

/* To other members of a team, and from one, added; taken: all were. */
void xfa_waits_give(const struct xfa_waits *waits, struct xfa_parcel *parcel);
void xfa_waits_take(struct xfa_waits *waits, struct xfa_unpacking *from);
void xfa_waits_taken(struct xfa_waits *waits);

/* All were met: their times become known. */
void xfa_waits_finish(struct xfa_waits *waits);

/* Of all, once they are finished. */
double xfa_waits_ns(const struct xfa_waits *waits);

/* Longest first; the caller frees the array of all.count pointers. */
const struct xfa_wait **xfa_waits_order(const struct xfa_waits *waits);

#endif
