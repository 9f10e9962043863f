/*
 * What of the devices' work is for the host, and which of its waits are for copies alone that a
 * change takes away: for changes that take waits, or such copies, away. Private to changes/.
 *
 * For the host are copies from or to its memory that it does not wait for anyway, kernels that are
 * given its memory, or managed memory, graphs that copy, prefetches, and host functions.
 */
#ifndef XFW_FOR_HOST_H
#define XFW_FOR_HOST_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/changes/memories.h"
#include "analyzer/whatif/schedule/change.h"

/* Of a copy: memory of the host is one end. */
bool xfw_copies_for_host(const struct xfa_analysis *analysis, const struct xfw_op *op);

/* presumed: so are graphs, and kernels of which it is not known what they are given. */
bool xfw_is_for_host(const struct xfa_analysis *analysis, const struct xfw_memories *memories,
                     const struct xfa_process *process, const struct xfw_op *op, bool presumed);

/*
 * Waits for copies that go. A wait of the host is for these alone where nothing else that it covers
 * is for the host; and, but at best, where such a copy is the last work of each stream that it
 * covers: work behind it may be what the host waits for.
 */
struct xfw_for_host { /* zeroed at first; of one process */
    struct xfw_memories memories;
    struct xfa_table streams, events; /* for_host.c */
    uint64_t number;                  /* of the op at hand, from 1 */
    uint64_t blocked;                 /* of the last copy that goes whose call waited for it */
};
void xfw_for_host_free(struct xfw_for_host *host);

/* The next op as it was recorded. goes: it is a copy that the change takes away. */
void xfw_for_host_op(struct xfw_for_host *host, const struct xfw_change *change,
                     const struct xfw_player *player, const struct xfw_op *op, bool goes);

/* The op at hand, which may wait for a device, a stream or an event: is it for copies alone that
 * go? */
bool xfw_for_host_needless(const struct xfw_for_host *host, const struct xfw_op *op, bool best);

/* The op at hand is a copy that goes, for which the host waited: is something else in its stream
 * for the host, so that the wait has to stay? */
bool xfw_for_host_stays(const struct xfw_for_host *host, const struct xfw_op *op);

/* The op at hand, which waits as recorded, has been looked at: what it covers is done. */
void xfw_for_host_waited(struct xfw_for_host *host, const struct xfw_op *recorded);

#endif
