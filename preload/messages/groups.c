#include "preload/messages/groups.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/base/attributes.h"
#include "preload/record/hot.h"

struct group {
    atomic_bool in_use;
    unsigned count;
    uint32_t first_row; /* of the slab, as ncclGroupEnd began */
    struct xft_event events[XFS_GROUP_MESSAGES];
};
static struct group groups[XFS_GROUPS_KEPT];

static XFS_TLS unsigned depth; /* of ncclGroupStart without its end */
static XFS_TLS struct group *open_group;

static struct group *take_group(void)
{
    for (unsigned i = 0; i < XFS_GROUPS_KEPT; i++)
        if (!atomic_load_explicit(&groups[i].in_use, memory_order_relaxed) &&
            !atomic_exchange(&groups[i].in_use, true)) {
            groups[i].count = 0;
            return &groups[i];
        }
    return NULL;
}

bool xfs_in_group(void)
{
    return depth > 0;
}

bool xfs_group_add(const struct xft_event *event)
{
    if (depth == 0)
        return false;
    if (open_group == NULL)
        open_group = take_group();
    if (open_group == NULL || open_group->count == XFS_GROUP_MESSAGES)
        return false;
    open_group->events[open_group->count++] = *event;
    return true;
}

void xfs_nccl_group_starts(int status)
{
    depth += status == 0;
}

void xfs_nccl_group_closes(void)
{
    if (open_group)
        open_group->first_row = xfs_self ? xfs_self->next : 0;
}

uint32_t xfs_launched_since(uint32_t first_row, uint64_t stream)
{
    enum { MOST = 512 };
    const struct xfs_lane *lane = xfs_self;
    uint32_t last = 0;
    if (lane == NULL || lane->rows == NULL)
        return 0;
    uint32_t end = lane->next, first = first_row <= end ? first_row : 0;
    if (end - first > MOST)
        first = end - MOST;
    for (uint32_t i = end; i-- > first;) {
        const struct xft_event *event = &lane->rows[i];
        if (event->kind != XFT_EVENT_LAUNCH || event->correlation == 0)
            continue;
        if (event->stream == stream)
            return event->correlation;
        if (last == 0)
            last = event->correlation;
    }
    return last;
}

/* All of it was the recorder's. */
static void end_call(struct xfs_lane *lane)
{
    if (xfs_call_is_timed(lane))
        xfs_cost_ends(lane, XFT_EVENT_MESSAGE, lane->timed_from_ns, lane->timed_from_ns);
    xfs_call_over(lane);
}

/* A message that NCCL refused when the group ended has no other status. */
static void write_group(struct group *group, int status)
{
    if (!xfs_call_ready_now())
        return;
    for (unsigned i = 0; i < group->count; i++) {
        struct xft_event *event = &group->events[i], *before = event - (i > 0);
        event->correlation = i > 0 && event->stream == before->stream
                                 ? before->correlation
                                 : xfs_launched_since(group->first_row, event->stream);
        if (status != 0) {
            event->status = status;
            event->flags |= XFT_FAILED;
        }
    }
    for (unsigned i = 0; i < group->count; i++)
        xfs_event_write(&group->events[i]);
    if (xfs_self)
        end_call(xfs_self);
}

#define NCCL_IN_PROGRESS 7

void xfs_nccl_group_ends(int status)
{
    int saved = errno;
    struct group *group = open_group;
    if (depth > 0)
        depth--;
    if (depth > 0 || group == NULL)
        return;
    open_group = NULL;
    write_group(group, status == NCCL_IN_PROGRESS ? 0 : status);
    atomic_store(&group->in_use, false);
    errno = saved;
}

void xfs_groups_after_fork(void)
{
    depth = 0;
    open_group = NULL;
    for (unsigned i = 0; i < XFS_GROUPS_KEPT; i++)
        atomic_store(&groups[i].in_use, false);
}
