#include "analyzer/pass/event.h"

static void read_head(struct xfa_event *restrict event, struct xfa_process *process,
                      const struct xft_event *restrict row)
{
    const struct xfa_periods *periods = process->periods;
    event->process = process;
    event->start_ns = periods ? xfa_periods_ns(periods, row->start_ns) : row->start_ns;
    event->end_ns = periods ? xfa_periods_ns(periods, row->end_ns) : row->end_ns;
    event->bytes = row->bytes;
    event->stream = row->stream;
    event->range = NULL;
    event->stack = row->stack;
    event->correlation = row->correlation;
    event->status = row->status;
    event->call = row->call;
    event->flags = row->flags;
    event->src_place = row->src_place;
    event->dst_place = row->dst_place;
    event->gpu = (int16_t)xfa_process_gpu(process, row->device);
    event->kind = row->kind;
    event->direction = row->direction;
    event->src_mem = row->src_mem;
    event->dst_mem = row->dst_mem;
}

static uint64_t host_ns(const struct xfa_event *event, uint64_t ns)
{
    const struct xfa_periods *periods = event->process->periods;
    return periods && ns ? xfa_periods_ns(periods, ns) : ns;
}

static void read_access(struct xfa_event *restrict event, const struct xft_event *restrict row)
{
    event->access = (struct xfa_host_access){.src = row->src,
                                             .dst = row->dst,
                                             .copied_ns = host_ns(event, row->aux),
                                             .since_ns = host_ns(event, row->width),
                                             .what = row->count};
}

static unsigned level_of(const struct xfa_process *process, unsigned call)
{
    const struct xfa_call *named = process->trace ? xfa_trace_call(process->trace, call) : NULL;
    return named ? named->level : 0;
}

static void read_message(struct xfa_event *restrict event, const struct xft_event *restrict row)
{
    unsigned level = level_of(event->process, row->call);
    bool nccl = level == XFT_LEVEL_NCCL;
    event->correlation = nccl ? row->correlation : 0;
    event->message = (struct xfa_message){.src = row->src,
                                          .dst = row->dst,
                                          .arrives = row->width,
                                          .to = xft_message_to(row->aux),
                                          .from = xft_message_from(row->aux),
                                          .communicator = xft_message_communicator(row->count),
                                          .tag = nccl ? 0 : (int32_t)row->correlation,
                                          .what = (uint8_t)xft_message_of(row->count),
                                          .level = (uint8_t)level};
}

static void read_message_end(struct xfa_event *restrict event, const struct xft_event *restrict row)
{
    bool known = row->src > 0 && row->src < XFT_RANK_ANY;
    event->message_end =
        (struct xfa_message_end){.began_ns = host_ns(event, row->aux),
                                 .arrived = row->width,
                                 .from = known ? (uint32_t)(row->src - 1) : XFT_RANK_ANY};
}

static void read_polled(struct xfa_event *restrict event, const struct xft_event *restrict row)
{
    uint64_t most = row->width < UINT32_MAX ? row->width : UINT32_MAX;
    uint32_t since = xft_polled_since_ns(row->dst);
    event->wait.queries = row->count;
    event->wait.polled_ns = row->width < row->start_ns ? row->width : row->start_ns;
    event->wait.since_ns = since < most ? since : (uint32_t)most;
    event->wait.worked_ns = xft_polled_worked_ns(row->dst);
}

static void read_processor(struct xfa_processor *read, const struct xft_event *row)
{
    *read = (struct xfa_processor){.own_ns = row->aux,
                                   .others_ns = row->width ? row->width - 1 : 0,
                                   .others_known = row->width != 0,
                                   .until = row->src <= UINT8_MAX ? (uint8_t)row->src : 0};
}

/* Ranges, and what there is little of; others have no more than all have. */
static void read_rest(struct xfa_event *restrict event, const struct xft_event *restrict row)
{
    switch (row->kind) {
    case XFT_EVENT_RANGE_BEGIN:
    case XFT_EVENT_RANGE_END:
        event->nvtx = (struct xfa_range_call){.id = row->dst, .domain = row->src, .name = row->aux};
        break;
    case XFT_EVENT_CONTENT:
        event->content = (struct xfa_content_hash){.src = row->src,
                                                   .dst = row->dst,
                                                   .hash = row->aux,
                                                   .width = row->width,
                                                   .ns = row->count};
        break;
    case XFT_EVENT_HOST_ACCESS:
        read_access(event, row);
        break;
    case XFT_EVENT_MESSAGE:
        read_message(event, row);
        break;
    case XFT_EVENT_MESSAGE_END:
        read_message_end(event, row);
        break;
    case XFT_EVENT_COMMUNICATOR:
        event->communicator = (struct xfa_communicator){.id = row->aux,
                                                        .ranks = row->dst,
                                                        .size = row->width,
                                                        .rank = row->src,
                                                        .number = row->count};
        break;
    case XFT_EVENT_STREAM:
        event->made = row->aux;
        break;
    case XFT_EVENT_GRAPH_LAUNCH:
        event->launched = (struct xfa_graph_launch){.exec = row->src, .copies = row->count};
        break;
    case XFT_EVENT_GRAPH_CALL:
        event->graph = (struct xfa_graph_call){
            .exec = row->src,
            .form = row->width,
            .nodes = row->count,
            .what = row->aux <= XFT_GRAPH_DESTROYED ? (uint8_t)row->aux : 0};
        break;
    case XFT_EVENT_RECORDS:
        event->records = (uint32_t)row->aux;
        break;
    case XFT_EVENT_OVERHEAD:
        event->overhead.behind = row->count;
        event->overhead.opens = row->aux & XFT_OVERHEAD_RECORDING;
        if (row->aux & XFT_OVERHEAD_THREAD)
            event->overhead.worked_ns = row->dst;
        break;
    case XFT_EVENT_PROCESSOR:
        read_processor(&event->processor, row);
        break;
    default:
        break;
    }
}

/* aux of a contiguous copy of pageable memory. */
static void read_faults(struct xfa_transfer *transfer, const struct xft_event *row)
{
    bool from = row->direction == XFT_DIR_H2D && row->src_mem == XFT_MEM_PAGEABLE;
    bool to = row->direction == XFT_DIR_D2H && row->dst_mem == XFT_MEM_PAGEABLE;
    transfer->reach = row->bytes;
    transfer->faults_within = from || to ? xft_faults_within(row->aux) : 0;
    transfer->faults_before = from || to ? xft_faults_before(row->aux) : 0;
    transfer->new_memory = (from || to) && (row->flags & XFT_NEW_MEMORY) != 0;
}

static void read_kind(struct xfa_event *restrict event, const struct xft_event *restrict row)
{
    switch (row->kind) {
    case XFT_EVENT_TRANSFER:
        event->transfer =
            (struct xfa_transfer){.src = row->src,
                                  .dst = row->dst,
                                  .width = row->width,
                                  .reach = row->aux > row->bytes ? row->aux : row->bytes,
                                  .copies = row->count};
        if (row->width == row->bytes && row->count <= 1)
            read_faults(&event->transfer, row);
        break;
    case XFT_EVENT_ALLOC:
    case XFT_EVENT_FREE:
    case XFT_EVENT_REGISTER:
    case XFT_EVENT_UNREGISTER:
    case XFT_EVENT_SET:
        event->memory = (struct xfa_memory_call){
            .address = row->dst, .row_bytes = row->width, .flags = row->aux};
        break;
    case XFT_EVENT_PREFETCH:
    case XFT_EVENT_ADVISE:
    case XFT_EVENT_MIGRATION:
    case XFT_EVENT_FAULT:
        event->managed =
            (struct xfa_managed_part){.address = row->src, .cause = row->aux, .count = row->count};
        break;
    case XFT_EVENT_DEVICE_COPY:
    case XFT_EVENT_KERNEL:
    case XFT_EVENT_MEMSET:
        event->work = (struct xfa_work){.stream = row->aux, .name = row->src, .threads = row->dst};
        break;
    case XFT_EVENT_LAUNCH:
        event->launch = (struct xfa_launch){.name = row->src,
                                            .threads = row->dst,
                                            .arguments = row->aux,
                                            .kept = (uint32_t)row->width,
                                            .changed = (uint32_t)(row->width >> 32)};
        break;
    case XFT_EVENT_SYNC:
    case XFT_EVENT_QUERY:
        event->wait = (struct xfa_wait_call){
            .event = row->src, .what = row->aux <= XFT_SYNC_CONTEXT ? (uint8_t)row->aux : 0};
        if (row->kind == XFT_EVENT_QUERY && row->count > 0)
            read_polled(event, row);
        break;
    case XFT_EVENT_RECORD:
    case XFT_EVENT_WAIT:
        event->wait = (struct xfa_wait_call){.event = row->src, .what = XFT_SYNC_EVENT};
        break;
    default:
        read_rest(event, row);
        break;
    }
}

void xfa_event_read(struct xfa_event *event, struct xfa_process *process,
                    const struct xfa_merged *row)
{
    event->lane = row->lane;
    event->tid = row->tid;
    event->last = row->last;
    read_head(event, process, row->event);
    read_kind(event, row->event);
}
