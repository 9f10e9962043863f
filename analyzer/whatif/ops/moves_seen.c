#include "analyzer/whatif/ops/moves_seen.h"

#define MANY_RECORDS 1000 /* of moves in a kernel: fewer leave none out, a guess */
#define MOSTLY_SEEN 0.9   /* of a kernel's time */
#define MOSTLY_WAITED 0.5 /* of that in which pages are seen to come */
#define ALL_OF_IT 1.25    /* of their allocations: by how much the rate may be off, a guess */

void xfw_moves_complete(struct xfw_op *op, const struct xfw_moves_seen *seen)
{
    struct xfw_moved *moved = &op->demanded;
    double all = op->device_end_ns - op->device_start_ns, of = (double)seen->of;
    double part = seen->until_ns - op->device_start_ns;
    if (moved->records < MANY_RECORDS || !(part > 0) || part > MOSTLY_SEEN * all ||
        moved->stalled_ns < MOSTLY_WAITED * part)
        return;
    double more = all / part, came = more * (double)moved->bytes;
    if (came > ALL_OF_IT * of || of > ALL_OF_IT * came)
        return;
    double stalled = xfw_min(1, moved->stalled_ns / part) * all;
    moved->unseen_ns = (float)(stalled - moved->stalled_ns);
    moved->stalled_ns = stalled;
    moved->records = (uint32_t)(more * moved->records);
    moved->bytes = seen->of;
    op->link_ns *= more;
}
