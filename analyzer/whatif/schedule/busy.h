/*
 * When an engine of the replayed run is busy: its last pieces of work, by start. Work that is
 * placed later may fit between them. Times are ns of the schedule. Private to whatif/.
 */
#ifndef XFW_BUSY_H
#define XFW_BUSY_H

#include <stddef.h>
#include <stdint.h>

#define XFW_INTERVALS 64 /* of an engine, remembered */

struct xfw_interval {
    double start, end;
    double ns, times; /* of a copy that the other direction slows: its time alone, the factor */
    uint32_t stream;
};

struct xfw_busy {
    struct xfw_interval room[2 * XFW_INTERVALS]; /* at its end they move to its front */
    struct xfw_interval *busy;                   /* a part of room, by start */
    unsigned count;
    double forgotten; /* the last end of those forgotten: nothing fits before it */
};
/* Of a zeroed engine, which stays where it is. */
void xfw_busy_begin(struct xfw_busy *engine);

/* The place of the first work that ends after `when`: they are in order. */
unsigned xfw_busy_after(const struct xfw_busy *engine, double when);

/* The first time from `ready` on when the engine is idle for `ns`, or hardly less: work that is
 * placed behind is not pushed back by more than that. `space`: kept behind other work. */
struct xfw_idle {
    double start;
    unsigned at; /* the place of the first work behind it */
};
struct xfw_idle xfw_busy_idle_from(const struct xfw_busy *engine, double ready, double ns,
                                   double space);
/* The same for another `ns`. first: xfw_busy_first(), which is the same for any. */
unsigned xfw_busy_first(const struct xfw_busy *engine, double ready, double space);
struct xfw_idle xfw_busy_idle_behind(const struct xfw_busy *engine, unsigned first, double ready,
                                     double ns, double space);

/* The engine is busy with the work: the one that it has of it, until the next is taken. NULL: it is
 * before all that is remembered. at: about where it belongs. */
struct xfw_interval *xfw_busy_take(struct xfw_busy *engine, unsigned at, struct xfw_interval work);

#endif
