#include "analyzer/whatif/changes/for_host.h"

#include "xferscope/trace.h"

/* Numbers of ops: of the last that has not been waited for; 0: there is none. */
struct in_flight {
    uint64_t any, goes, needed;
};

struct stream {
    uint32_t stream; /* key */
    uint8_t kind;    /* enum xfw_stream_kind */
    int16_t gpu;
    struct in_flight last;
};

struct event {
    uint32_t event; /* key */
    uint32_t stream;
    uint64_t at; /* the op that recorded it */
    struct in_flight last;
};

/* ---- what is for the host -------------------------------------------------------------------- */

bool xfw_copies_for_host(const struct xfa_analysis *analysis, const struct xfw_op *op)
{
    if (op->class == XFW_NONE)
        return true;
    const struct xfa_row_key *row = &xfa_class_key_at(&analysis->classes, op->class)->row;
    return !xfa_is_of_device(row->src_mem) || !xfa_is_of_device(row->dst_mem);
}

bool xfw_is_for_host(const struct xfa_analysis *analysis, const struct xfw_memories *memories,
                     const struct xfa_process *process, const struct xfw_op *op, bool presumed)
{
    switch ((enum xfw_what)op->what) {
    case XFW_COPY:
        return op->awaits == XFW_AWAITS_NOTHING && xfw_copies_for_host(analysis, op);
    case XFW_SET:
        return !xfa_is_of_device(op->memory);
    case XFW_KERNEL: {
        enum xfw_given_host given = xfw_given_host(memories, process, op->arguments);
        return given == XFW_GIVEN_HOST || (given == XFW_GIVEN_UNKNOWN && presumed);
    }
    case XFW_GRAPH:
        return presumed || op->up_ns + op->down_ns > 0;
    case XFW_HOST_FUNCTION:
    case XFW_PREFETCH:
        return true;
    default:
        return false;
    }
}

/* ---- what is in flight ----------------------------------------------------------------------- */

void xfw_for_host_free(struct xfw_for_host *host)
{
    xfa_table_free(&host->streams);
    xfa_table_free(&host->events);
    xfw_memories_free(&host->memories);
}

static struct stream *stream_of(struct xfw_for_host *host, const struct xfw_op *op)
{
    struct stream *stream = xfa_table_put(&host->streams, &op->stream);
    stream->kind = op->stream_kind;
    stream->gpu = op->gpu;
    return stream;
}

static void note_work(struct xfw_for_host *host, const struct xfw_change *change,
                      const struct xfw_player *player, const struct xfw_op *op, bool goes)
{
    struct in_flight *last = &stream_of(host, op)->last;
    if (op->awaits == XFW_AWAITS_ITSELF) {
        host->blocked = goes ? host->number : host->blocked;
        return; /* it is not in flight any more; xfw_for_host_waited() */
    }
    last->any = host->number;
    if (goes)
        last->goes = host->number;
    else if (xfw_is_for_host(change->analysis, &host->memories, xfw_player_process(player), op,
                             false))
        last->needed = host->number;
}

void xfw_for_host_op(struct xfw_for_host *host, const struct xfw_change *change,
                     const struct xfw_player *player, const struct xfw_op *op, bool goes)
{
    if (host->number++ == 0) {
        xfa_table_init(&host->streams, sizeof(uint32_t), sizeof(struct stream));
        xfa_table_init(&host->events, sizeof(uint32_t), sizeof(struct event));
    }
    if (op->kind != XFT_EVENT_ALLOC || !xfa_is_of_device(op->memory))
        xfw_memories_op(&host->memories, op);
    if (op->stream == XFW_NONE)
        return;
    if (xfw_op_is_work(op)) {
        note_work(host, change, player, op, goes);
    } else if (op->what == XFW_RECORD && op->event != XFW_NONE) {
        const struct in_flight last = stream_of(host, op)->last;
        struct event *event = xfa_table_put(&host->events, &op->event);
        event->stream = op->stream;
        event->at = host->number;
        event->last = last;
    } else if (op->what == XFW_WAIT && op->event != XFW_NONE) {
        const struct event *event = xfa_table_get(&host->events, &op->event);
        if (event && event->last.needed)
            stream_of(host, op)->last.needed = host->number;
    }
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* Streams in order with the legacy one count with it. */
static bool is_covered(const struct stream *stream, const struct xfw_op *op)
{
    if (op->awaits == XFW_AWAITS_DEVICE)
        return stream->gpu == op->gpu || op->gpu < 0 || stream->gpu < 0;
    bool legacy = op->stream_kind == XFW_LEGACY || stream->kind == XFW_LEGACY;
    bool apart = op->stream_kind == XFW_NONBLOCKING || stream->kind == XFW_NONBLOCKING;
    return stream->stream == op->stream || (legacy && !apart);
}

/* of: all that is in flight there. */
static bool is_needless(const struct in_flight *of, bool best)
{
    return !of->needed && (best || of->goes == of->any);
}

bool xfw_for_host_needless(const struct xfw_for_host *host, const struct xfw_op *op, bool best)
{
    if (op->awaits == XFW_AWAITS_EVENT) {
        const struct event *event = xfa_table_get(&host->events, &op->event);
        return event && event->last.goes && is_needless(&event->last, best);
    }
    if (op->awaits != XFW_AWAITS_DEVICE && op->awaits != XFW_AWAITS_STREAM)
        return false;
    bool any = false, all = true;
    for (size_t i = 0; i < host->streams.count; i++) {
        const struct stream *stream = xfa_table_at(&host->streams, i);
        if (!is_covered(stream, op))
            continue;
        any = any || stream->last.goes;
        all = all && is_needless(&stream->last, best);
    }
    return any && all;
}

bool xfw_for_host_stays(const struct xfw_for_host *host, const struct xfw_op *op)
{
    for (size_t i = 0; i < host->streams.count; i++) {
        const struct stream *stream = xfa_table_at(&host->streams, i);
        if (stream->last.needed && is_covered(stream, op))
            return true;
    }
    return false;
}

static void is_done(struct in_flight *last, uint64_t by)
{
    last->any = last->any <= by ? 0 : last->any;
    last->goes = last->goes <= by ? 0 : last->goes;
    last->needed = last->needed <= by ? 0 : last->needed;
}

void xfw_for_host_waited(struct xfw_for_host *host, const struct xfw_op *recorded)
{
    const struct event *event = recorded->awaits == XFW_AWAITS_EVENT
                                    ? xfa_table_get(&host->events, &recorded->event)
                                    : NULL;
    if (event) {
        struct stream *stream = xfa_table_get(&host->streams, &event->stream);
        if (stream)
            is_done(&stream->last, event->at);
        return;
    }
    bool device = recorded->awaits == XFW_AWAITS_DEVICE;
    if (!device && recorded->awaits != XFW_AWAITS_STREAM && recorded->awaits != XFW_AWAITS_ITSELF)
        return;
    for (size_t i = 0; i < host->streams.count; i++) {
        struct stream *stream = xfa_table_at(&host->streams, i);
        if (!(device ? is_covered(stream, recorded) : stream->stream == recorded->stream))
            continue;
        is_done(&stream->last, host->number);
        /* A wait that follows was for nothing but it. */
        if (host->blocked == host->number)
            stream->last.goes = stream->last.any = host->number;
    }
}
