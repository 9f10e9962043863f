/*
 * Copies that do not make the host wait: until one is done the host must leave its memory alone.
 * The trace does not show when it uses the memory again, but for other copies and for calls that
 * free it. As likely:
 *
 * - Memory that was sent is written in the thread's own time before the next copy from or to it; at
 *   best after that time, at once (a second buffer is filled meanwhile).
 * - Memory that was fetched is read in the next own time of the thread that is longer than
 *   XFW_BUSY_NS and long enough to read all of it; at best not before another copy uses it.
 *
 * Before that the host waits for the copy, by an event that was recorded behind it, unless the
 * program itself has waited.
 */
#ifndef XFW_WAITS_H
#define XFW_WAITS_H

#include "analyzer/whatif/change.h"
#include "analyzer/whatif/changes/costs.h"

#define XFW_USES 64 /* copies that are waited for at the same time */

struct xfw_reuse { /* zeroed at first */
    struct xfw_use {
        uint64_t first, end;
        uint32_t event, stream, thread;
        int16_t gpu;
        bool open, to_host;
    } uses[XFW_USES];
    unsigned open, next;
    unsigned made; /* uses that have their event */
    struct xfw_asked asked;
};

/* The host memory that a copy uses. False: none, or it is not known. */
struct xfw_host_memory {
    uint64_t first, bytes;
    bool to_host;
    uint8_t memory; /* enum xft_memory */
    int node;
};
bool xfw_host_memory(const struct xfa_analysis *analysis, const struct xfw_op *op,
                     struct xfw_host_memory *host);

/* Each op, before it is changed: may insert a wait. */
void xfw_reuse_meet(struct xfw_reuse *reuse, const struct xfw_change *change,
                    struct xfw_player *player, struct xfw_op *op);

/* The copy at hand does not make the host wait. */
void xfw_reuse_add(struct xfw_reuse *reuse, const struct xfw_change *change,
                   struct xfw_player *player, const struct xfw_op *op,
                   const struct xfw_host_memory *host);

#endif
