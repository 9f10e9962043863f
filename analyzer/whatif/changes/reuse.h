/*
 * Copies that do not make the host wait any more: its memory must be left alone until they are
 * done. When it is used again the record does not show, but for other copies and for calls that
 * free it; so what is likely is this:
 *
 * - memory that was sent is written in the thread's own time before the next copy from or to it;
 *   at best only then, at once (a second buffer is filled meanwhile).
 * - memory that was fetched is read in the next time of its own that the thread has, if that is
 *   longer than XFW_BUSY_NS and long enough to read it all; at best not before it is used by
 *   another copy.
 *
 * Before that the host waits for the copy, by an event that was recorded behind it; it need not
 * where the program itself has waited.
 */
#ifndef XFW_REUSE_H
#define XFW_REUSE_H

#include "analyzer/whatif/change.h"
#include "analyzer/whatif/changes/asked.h"

#define XFW_USES 64         /* copies that are waited for at the same time */
#define XFW_BUSY_NS 10000.0 /* between two calls: the thread does something else */
#define XFW_WAKE_NS 2000.0  /* from an event to the thread that waits for it */

#define XFW_READ_NS_PER_BYTE 0.04 /* faster than one thread reads memory */

/* A thread's own time: is it long enough to count, and too short to have read so much? */
static inline bool xfw_cannot_have_read(double ns, uint64_t bytes)
{
    return ns > XFW_BUSY_NS && ns < XFW_READ_NS_PER_BYTE * (double)bytes;
}

struct xfw_use {
    uint64_t first, end;
    uint32_t event, stream, thread;
    int16_t gpu;
    bool open, to_host;
};

/* Zeroed at first. */
struct xfw_reuse {
    struct xfw_use uses[XFW_USES];
    unsigned open, next;
    unsigned made; /* that have their event */
    struct xfw_asked asked;
};

/* Which host memory a copy uses. False: none, or it is not known. */
struct xfw_host_memory {
    uint64_t first, bytes;
    bool to_host;
    uint8_t memory; /* enum xft_memory */
    int node;
};
bool xfw_host_memory(const struct xfa_analysis *analysis, const struct xfw_op *op,
                     struct xfw_host_memory *host);

/* Each op, before it is changed: may make it wait. */
void xfw_reuse_meet(struct xfw_reuse *reuse, const struct xfw_change *change,
                    struct xfw_player *player, struct xfw_op *op);

/* The copy at hand is one of these. */
void xfw_reuse_add(struct xfw_reuse *reuse, const struct xfw_change *change,
                   struct xfw_player *player, const struct xfw_op *op,
                   const struct xfw_host_memory *host);

#endif
