/*
 * Copies in flight that a call of the program waited for, which goes: whoever uses their memory
 * still has to wait. For calls_once.c. Private to changes/.
 */
#ifndef XFW_IN_FLIGHT_H
#define XFW_IN_FLIGHT_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_IN_FLIGHT 64    /* stretches of host memory of which the last copy is known */
#define XFW_IN_FLIGHT_SET 8 /* that are looked at together */

/* Host memory, and the last copy that used it: sets of these are bits by place. Zeroed at first. */
struct xfw_in_flight {
    uint64_t first[XFW_IN_FLIGHT], end[XFW_IN_FLIGHT];
    double done_ns[XFW_IN_FLIGHT]; /* when it is done */
    uint32_t stream[XFW_IN_FLIGHT];
    uint32_t event[XFW_IN_FLIGHT]
                  [2]; /* the program's behind it, + 1: the first, the last; 0: none */
    uint64_t of_stream[XFW_IN_FLIGHT]; /* by its number: those of streams that share a place */
    uint64_t of_region[XFW_IN_FLIGHT]; /* the same of regions of memory */
    uint64_t to_host, owed;            /* owed: a wait for it went */
    uint64_t with_event;
    double last_done_ns[XFW_IN_FLIGHT / XFW_IN_FLIGHT_SET]; /* of each set none is done later */
    unsigned count, next;
    uint32_t copying; /* the last op was a copy that may be in flight: its place, + 1 */
    bool went;        /* the wait that was the last op of ... */
    uint32_t thread;
};

/* The next op, before the change does anything with it: a thread that needs what is owed waits. */
void xfw_in_flight_meet(struct xfw_in_flight *copies, const struct xfw_change *change,
                        struct xfw_player *player, const struct xfw_op *op);

/* The op waits for nothing any more: those that are not done by now are owed. */
void xfw_in_flight_owe(struct xfw_in_flight *copies, const struct xfw_player *player,
                       const struct xfw_op *op);

#endif
