#include "analyzer/whatif/changes/work_order.h"

#include "analyzer/base/alloc.h"

void xfw_work_order_free(struct xfw_work_order *order)
{
    xfw_memories_free(&order->memories);
}

/* ---- what work uses -------------------------------------------------------------------------- */

static void add(struct xfw_work_order *order, uint64_t first, uint64_t end, bool writes)
{
    if (order->last_count == XFW_ORDER_SPANS)
        order->last[0] = (struct xfw_order_span){0, UINT64_MAX, true};
    else if (first < end)
        order->last[order->last_count++] = (struct xfw_order_span){first, end, writes};
}

static void add_given(struct xfw_work_order *order, struct xfw_player *player,
                      const struct xfw_op *op)
{
    struct xfa_process *process = xfw_player_process(player);
    const struct xfa_arguments *arguments =
        op->arguments && process->trace ? xfa_trace_arguments(process->trace, op->arguments) : NULL;
    for (uint32_t k = 0; arguments && k < arguments->count; k++) {
        uint64_t pointer = xfa_arguments_pointer(arguments, k), end = xfa_add(pointer, 1);
        struct xfw_memory memory;
        if (pointer == 0 || pointer == UINT64_MAX)
            continue;
        if (xfw_player_certainty(player) != XFW_HIGH &&
            xfw_memories_find(&order->memories, pointer, &memory))
            end = memory.end;
        add(order, pointer, end,
            xfw_signatures_ask(&order->signatures, process, op->name, arguments->count, k) !=
                XFW_READS);
    }
}

static void used_by(struct xfw_work_order *order, struct xfw_player *player,
                    const struct xfw_op *op)
{
    order->last_count = 0;
    order->last_stream = op->stream;
    order->last_gpu = op->gpu;
    if (op->what == XFW_COPY)
        add(order, op->src, xfa_add(op->src, op->bytes), false);
    if (op->what == XFW_COPY || op->what == XFW_SET)
        add(order, op->dst, xfa_add(op->dst, op->bytes), true);
    else if (op->what == XFW_KERNEL && op->arguments)
        add_given(order, player, op);
    else if (op->what == XFW_KERNEL || op->what == XFW_GRAPH)
        add(order, 0, UINT64_MAX, true);
}

/* ---- what was used --------------------------------------------------------------------------- */

/* The place for one: its own of before, a new one, or that of the oldest. */
static struct xfw_order_use *place_of(struct xfw_work_order *order,
                                      const struct xfw_order_span *span)
{
    for (unsigned i = 0; i < order->count; i++) {
        struct xfw_order_use *use = &order->uses[i];
        if (use->stream == order->last_stream && use->span.first == span->first &&
            use->span.end == span->end && use->span.writes == span->writes)
            return use;
    }
    if (order->count < XFW_ORDER_USES)
        return &order->uses[order->count++];
    struct xfw_order_use *use = &order->uses[order->oldest++ % XFW_ORDER_USES];
    order->forgotten_ns = xfw_max(order->forgotten_ns, use->end_ns);
    return use;
}

static void note_end(struct xfw_work_order *order, const struct xfw_player *player)
{
    if (order->last_count == 0)
        return;
    double end = xfw_player_work_end(player, order->last_stream);
    for (unsigned i = 0; i < order->last_count; i++)
        *place_of(order, &order->last[i]) = (struct xfw_order_use){
            .span = order->last[i],
            .stream = order->last_stream,
            .gpu = order->last_gpu,
            .gone = order->gone,
            .end_ns = end,
        };
    order->last_count = 0;
}

void xfw_work_order_gone(struct xfw_work_order *order)
{
    order->gone++;
}

static bool is_awaited(const struct xfw_order_use *use, const struct xfw_op *wait)
{
    return wait->awaits == XFW_AWAITS_STREAM
               ? use->stream == wait->stream
               : use->gpu == wait->gpu || use->gpu < 0 || wait->gpu < 0;
}

void xfw_work_order_waited(struct xfw_work_order *order, const struct xfw_op *wait)
{
    for (unsigned i = 0; i < order->count;)
        if (is_awaited(&order->uses[i], wait))
            order->uses[i] = order->uses[--order->count];
        else
            i++;
    if (order->count == 0 && wait->awaits == XFW_AWAITS_DEVICE)
        order->forgotten_ns = 0;
}

/* ---- the order ------------------------------------------------------------------------------- */

static bool is_behind(const struct xfw_work_order *order, const struct xfw_order_use *use)
{
    if (use->gone == order->gone || use->stream == order->last_stream)
        return false;
    for (unsigned i = 0; i < order->last_count; i++) {
        const struct xfw_order_span *span = &order->last[i];
        if (use->span.first < span->end && span->first < use->span.end &&
            (use->span.writes || span->writes))
            return true;
    }
    return false;
}

static void pay(struct xfw_work_order *order, const struct xfw_change *change,
                struct xfw_player *player, struct xfw_op *op, unsigned streams)
{
    const struct xfa_achievable *achievable = &change->analysis->achievable;
    struct xfw_op call = xfw_op_like(op);
    call.own_ns =
        streams *
        (xfw_asked_scalar(&order->asked, achievable, "event/record", op->gpu, XFW_RECORD_NS) +
         xfw_asked_scalar(&order->asked, achievable, "event/wait", op->gpu, XFW_WAIT_NS));
    xfw_op_take_gap(&call, op);
    xfw_player_play(player, &call);
}

static void come_behind(struct xfw_work_order *order, const struct xfw_change *change,
                        struct xfw_player *player, struct xfw_op *op)
{
    double after = order->forgotten_ns;
    uint32_t streams[XFW_ORDER_USES];
    unsigned count = 0;
    for (unsigned i = 0; i < order->count; i++) {
        const struct xfw_order_use *use = &order->uses[i];
        if (!is_behind(order, use))
            continue;
        after = xfw_max(after, use->end_ns);
        unsigned k = 0;
        while (k < count && streams[k] != use->stream)
            k++;
        if (k == count)
            streams[count++] = use->stream;
    }
    if (count > 0)
        pay(order, change, player, op, count);
    if (after > xfw_schedule_stream_end(xfw_player_schedule(player), op->stream))
        xfw_player_stream_after(player, op->stream, after);
}

void xfw_work_order_op(struct xfw_work_order *order, const struct xfw_change *change,
                       struct xfw_player *player, struct xfw_op *op)
{
    note_end(order, player);
    xfw_memories_op(&order->memories, op);
    if (!xfw_op_is_work(op) || op->stream == XFW_NONE)
        return;
    used_by(order, player, op);
    if (order->gone > 0)
        come_behind(order, change, player, op);
}
