#include "analyzer/whatif/changes/put_off.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/whatif/changes/costs.h"

/* How slowly the host reads at best: a thread that had less time has not used all of the data. */
#define READ_NS_PER_BYTE_AT_BEST 0.1

struct xfw_put_off *xfw_put_off_of(struct xfw_threads_put_off *threads, uint32_t thread)
{
    if (thread >= threads->count)
        threads->threads = xfa_grown(threads->threads, &threads->capacity, &threads->count, thread,
                                     sizeof *threads->threads);
    return &threads->threads[thread];
}

void xfw_threads_put_off_free(struct xfw_threads_put_off *threads)
{
    free(threads->threads);
}

static void wait_until(struct xfw_player *player, const struct xfw_op *op, double ns, uint8_t kind)
{
    struct xfw_op wait = xfw_op_like(op);
    wait.kind = kind;
    wait.stream = xfw_player_side_stream(player, op->thread, XFW_SIDE_HOST);
    wait.stream_kind = XFW_NONBLOCKING;
    wait.awaits = XFW_AWAITS_STREAM;
    xfw_player_stream_after(player, wait.stream, ns);
    xfw_player_play(player, &wait);
}

void xfw_wait_until(struct xfw_player *player, const struct xfw_op *op, double ns)
{
    wait_until(player, op, ns, XFT_EVENT_NONE);
}

void xfw_wait_for_work(struct xfw_player *player, const struct xfw_op *op, double ns)
{
    wait_until(player, op, ns, XFT_EVENT_SYNC);
}

/* ---- copies ---------------------------------------------------------------------------------- */

void xfw_put_off_copy(struct xfw_put_off *thread, uint64_t bytes, double end)
{
    thread->until = xfw_max(thread->until, end);
    thread->bytes = xfa_add(thread->bytes, bytes);
    thread->ends[thread->count++ % XFW_MOST_AHEAD] = end;
}

bool xfw_may_have_used(const struct xfw_put_off *thread, const struct xfw_op *op, bool at_best)
{
    double per_byte = at_best ? READ_NS_PER_BYTE_AT_BEST : XFW_READ_NS_PER_BYTE;
    return thread->bytes > 0 && op->gap_ns >= per_byte * (double)thread->bytes;
}

void xfw_run_ahead(const struct xfw_put_off *thread, unsigned buffers, struct xfw_player *player,
                   const struct xfw_op *op)
{
    uint64_t most = (uint64_t)XFW_AHEAD_PER_PART * buffers;
    if (thread->count >= most)
        xfw_wait_until(player, op, thread->ends[(thread->count - most) % XFW_MOST_AHEAD]);
}

/* ---- waits ----------------------------------------------------------------------------------- */

void xfw_owe(struct xfw_put_off *thread, const struct xfw_op *op, double ns)
{
    thread->owed_until = xfw_max(thread->owed_until, ns);
    thread->waits = xfw_op_like(op);
}

void xfw_pay(struct xfw_put_off *thread, struct xfw_player *player)
{
    if (thread->owed_until > 0)
        xfw_wait_until(player, &thread->waits, thread->owed_until);
    thread->owed_until = 0;
}

void xfw_put_off_later(struct xfw_put_off *thread, double ns)
{
    thread->until += ns;
    thread->owed_until += thread->owed_until > 0 ? ns : 0;
    for (size_t i = 0; i < XFW_MOST_AHEAD; i++)
        thread->ends[i] += ns;
}
