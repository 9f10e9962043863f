#include "preload/apply/memory/placement.h"

#include <stdatomic.h>

#include "preload/apply/memory/near.h"
#include "preload/apply/site/plan.h"
#include "preload/apply/state/state.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"

bool xfs_placement_on(void)
{
    return xfs_class_on(XFS_CLASS_PLACEMENT) && xfs_plan_has(XFT_PLAN_PLACEMENT);
}

size_t xfs_placement_move(void *memory, size_t bytes, int node)
{
    static atomic_size_t moved;
    size_t before = atomic_load(&moved);
    size_t most = before < XFS_MOVED_MOST ? XFS_MOVED_MOST - before : 0;
    size_t done = xfs_near_move(memory, bytes, node, most);
    atomic_fetch_add(&moved, done);
    return done;
}

static void look(void *argument)
{
    struct xfs_site **found = argument;
    struct xfs_site *site = xfs_site_here(XFS_CLASS_PLACEMENT, XFT_DIR_UNKNOWN);
    if (site == NULL)
        return;
    *found = site->planned && !site->off ? site : NULL;
    if (site->planned && site->report)
        __atomic_fetch_add(&site->report->asked, 1, __ATOMIC_RELAXED);
    xfs_site_release(site);
}

/* The planned site of the calling stack; NULL: there is none, or nothing may be done now. */
static struct xfs_site *planned_here(void)
{
    struct xfs_site *site = NULL;
    if (!xfs_may_call_kernel() || xfs_apply_captures() || !xfs_apply_begin() ||
        !xfs_on_own_stack(look, &site))
        return NULL;
    return site;
}

static void tell(const struct xfs_site *site, const void *memory, size_t bytes)
{
    struct xfs_report_site *line = site->report;
    int node = xfs_near_node_of((const char *)memory + bytes / 2);
    if (line == NULL || (node >= 0 && node != site->planned->node))
        return;
    __atomic_fetch_add(&line->done, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&line->done_bytes, bytes, __ATOMIC_RELAXED);
}

bool xfs_placement_alloc(const struct xfs_locking *call, int *status)
{
    struct xfs_site *site = xfs_placement_on() ? planned_here() : NULL;
    struct xfs_locking placed = *call;
    if (site == NULL || !xfs_near_begin(site->planned->node))
        return xfs_locking_alloc(call, status);
    placed.node = site->planned->node;
    if (!xfs_locking_alloc(&placed, status))
        *status = xfs_locking_as_asked(call);
    xfs_near_end();
    if (*status == XCU_SUCCESS)
        tell(site, *call->out, call->bytes);
    return true;
}

static void move(void *argument)
{
    const struct xfs_placing *placing = argument;
    (void)xfs_placement_move(placing->memory, placing->bytes, placing->site->planned->node);
}

/* Pages are looked at before the thread prefers the node: what has no policy has the thread's. */
bool xfs_placement_begin(struct xfs_placing *placing)
{
    placing->site = planned_here();
    if (placing->site == NULL || !xfs_near_may(placing->site->planned->node))
        return false;
    return xfs_on_own_stack(move, placing) && xfs_near_begin(placing->site->planned->node);
}

void xfs_placement_end(const struct xfs_placing *placing, int status)
{
    xfs_near_end();
    if (status == XCU_SUCCESS)
        tell(placing->site, placing->memory, placing->bytes);
}
