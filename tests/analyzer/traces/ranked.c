#include "tests/analyzer/traces/ranked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_TEXT 900

static void name_calls(struct trace_builder *b)
{
    build_call(b, CALL_SEND, XFT_LEVEL_MPI, "MPI_Send");
    build_call(b, CALL_RECV, XFT_LEVEL_MPI, "MPI_Recv");
    build_call(b, CALL_ISEND, XFT_LEVEL_MPI, "MPI_Isend");
    build_call(b, CALL_IRECV, XFT_LEVEL_MPI, "MPI_Irecv");
    build_call(b, CALL_WAIT, XFT_LEVEL_MPI, "MPI_Wait");
    build_call(b, CALL_BARRIER, XFT_LEVEL_MPI, "MPI_Barrier");
    build_call(b, CALL_ALLREDUCE, XFT_LEVEL_MPI, "MPI_Allreduce");
    build_call(b, CALL_NCCL, XFT_LEVEL_NCCL, "ncclAllReduce");
    build_call(b, CALL_SENDRECV, XFT_LEVEL_MPI, "MPI_Sendrecv");
    build_symbol(b, 0x490000, 0, "exchange", "/src/halo.c", 40, "/opt/sample/train");
    build_symbol(b, 0x490100, 0, "wait_all", "/src/halo.c", 41, "/opt/sample/train");
    build_stack(b, STACK_EXCHANGE, (uint64_t[]){0x490000, 0x401200}, 2);
    build_module(b, 0x7f5000000000, 0x7f5000100000, "/opt/mpi/lib/libmca_common_cuda.so.40");
    build_stack(b, STACK_WITHIN_MPI, (uint64_t[]){0x7f5000001000, 0x490000, 0x401200}, 3);
    build_stack(b, STACK_WAITING, (uint64_t[]){0x490100, 0x401200}, 2);
}

void ranked_start(struct ranked *ranked, uint32_t rank, uint32_t size, const char *host)
{
    char text[32];
    *ranked = (struct ranked){.rank = rank, .size = size};
    build_start(&ranked->b, 100 + (int)rank);
    scenario_names(&ranked->b);
    build_meta(&ranked->b, "hostname", host);
    build_meta(&ranked->b, "kernels", "on");
    snprintf(text, sizeof text, "%u", rank);
    build_meta(&ranked->b, "rank", text);
    snprintf(text, sizeof text, "%u", size);
    build_meta(&ranked->b, "rank.size", text);
    name_calls(&ranked->b);
    snprintf(text, sizeof text, "0-%u", size - 1);
    build_text(&ranked->b, RANKS_TEXT, text);
    ranked_event(ranked,
                 (struct xft_event){.kind = XFT_EVENT_COMMUNICATOR,
                                    .count = 1,
                                    .width = size,
                                    .src = rank,
                                    .dst = RANKS_TEXT,
                                    .aux = RANKED_COMMUNICATOR},
                 0, 0);
}

/* As the host's monotonic clock says; its wall clock is set in ranked_end(). */
static uint64_t clock_ns(const struct ranked *ranked, uint64_t ns)
{
    return TEST_START_NS + 1000 + ns + (uint64_t)(int64_t)(ranked->drift * (double)ns);
}

/* Times are kept as they are, until the drift is known. */
struct xft_event *ranked_event(struct ranked *ranked, struct xft_event event, uint64_t from_ns,
                               uint64_t to_ns)
{
    if (ranked->count == ranked->room) {
        ranked->room = ranked->room ? 2 * ranked->room : 256;
        ranked->events = realloc(ranked->events, ranked->room * sizeof *ranked->events);
        if (!ranked->events)
            abort();
    }
    event.start_ns = from_ns;
    event.end_ns = to_ns;
    ranked->events[ranked->count] = event;
    return &ranked->events[ranked->count++];
}

static struct xft_event message(enum xft_message what, unsigned call, uint32_t to, uint32_t from,
                                int tag)
{
    return (struct xft_event){.kind = XFT_EVENT_MESSAGE,
                              .call = (uint16_t)call,
                              .stack = STACK_EXCHANGE,
                              .aux = xft_message_peers(to, from),
                              .correlation = (uint32_t)tag,
                              .count = xft_message_count(what, 1)};
}

struct xft_event *ranked_send(struct ranked *ranked, uint32_t to, int tag, uint64_t bytes,
                              uint64_t from_ns, uint64_t to_ns)
{
    struct xft_event event = message(XFT_MESSAGE_SEND, CALL_SEND, to, XFT_RANK_NONE, tag);
    event.bytes = bytes;
    event.src = 0x700000;
    event.src_mem = XFT_MEM_PAGEABLE;
    return ranked_event(ranked, event, from_ns, to_ns);
}

struct xft_event *ranked_recv(struct ranked *ranked, uint32_t from, int tag, uint64_t bytes,
                              uint64_t from_ns, uint64_t to_ns)
{
    struct xft_event event = message(XFT_MESSAGE_RECV, CALL_RECV, XFT_RANK_NONE, from, tag);
    event.width = bytes;
    event.dst = 0x800000;
    event.dst_mem = XFT_MEM_PAGEABLE;
    return ranked_event(ranked, event, from_ns, to_ns);
}

struct xft_event *ranked_isend(struct ranked *ranked, uint32_t to, int tag, uint64_t bytes,
                               uint64_t at_ns, uint64_t request)
{
    struct xft_event *event = ranked_send(ranked, to, tag, bytes, at_ns, at_ns + 100);
    event->call = CALL_ISEND;
    event->stream = request;
    event->flags = XFT_ASYNC;
    return event;
}

struct xft_event *ranked_irecv(struct ranked *ranked, uint32_t from, int tag, uint64_t bytes,
                               uint64_t at_ns, uint64_t request)
{
    struct xft_event *event = ranked_recv(ranked, from, tag, bytes, at_ns, at_ns + 100);
    event->call = CALL_IRECV;
    event->stream = request;
    event->flags = XFT_ASYNC;
    return event;
}

struct xft_event *ranked_wait(struct ranked *ranked, uint64_t from_ns, uint64_t to_ns)
{
    struct xft_event event = message(XFT_MESSAGE_WAIT, CALL_WAIT, XFT_RANK_NONE, XFT_RANK_NONE, 0);
    event.count = xft_message_count(XFT_MESSAGE_WAIT, 0);
    event.stack = STACK_WAITING;
    return ranked_event(ranked, event, from_ns, to_ns);
}

struct xft_event *ranked_ended(struct ranked *ranked, uint64_t request, uint64_t began_ns,
                               uint64_t from_ns, uint64_t to_ns)
{
    return ranked_event(
        ranked,
        (struct xft_event){.kind = XFT_EVENT_MESSAGE_END, .stream = request, .aux = began_ns},
        from_ns, to_ns);
}

struct xft_event *ranked_collective(struct ranked *ranked, enum xft_message what, uint64_t bytes,
                                    uint64_t from_ns, uint64_t to_ns)
{
    struct xft_event event =
        message(what, what == XFT_MESSAGE_BARRIER ? CALL_BARRIER : CALL_ALLREDUCE, XFT_RANK_NONE,
                XFT_RANK_NONE, 0);
    event.bytes = bytes;
    return ranked_event(ranked, event, from_ns, to_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct xft_event *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind); /* ends behind their call */
}

static void save_clock(struct ranked *ranked, uint64_t last_ns)
{
    ranked->b.header.start_real_ns += (uint64_t)(int64_t)ranked->offset_ns;
    build_close(&ranked->b, ranked->no_close ? XFT_STATE_RECORDING : XFT_STATE_CLOSED,
                ranked->no_close ? 0 : last_ns + 1000);
}

/* Each has a lane. */
static void save_threads(struct ranked *ranked)
{
    struct xft_event *own = calloc(ranked->count + 1, sizeof *own);
    for (unsigned lane = 0; own && lane < RANKED_THREADS; lane++) {
        size_t count = 0;
        for (size_t i = 0; i < ranked->count; i++)
            if (ranked->events[i].reserved[0] == lane)
                own[count++] = ranked->events[i];
        for (size_t i = 0; i < count; i++)
            own[i].reserved[0] = 0;
        if (count || lane == 0)
            build_events(&ranked->b, lane, 0, own, count);
    }
    free(own);
}

void ranked_end(struct ranked *ranked)
{
    uint64_t last_ns = 0;
    qsort(ranked->events, ranked->count, sizeof *ranked->events, by_start);
    for (size_t i = 0; i < ranked->count; i++) {
        struct xft_event *event = &ranked->events[i];
        event->start_ns = clock_ns(ranked, event->start_ns);
        event->end_ns = clock_ns(ranked, event->end_ns);
        if (event->kind == XFT_EVENT_MESSAGE_END)
            event->aux = clock_ns(ranked, event->aux);
        last_ns = event->end_ns > last_ns ? event->end_ns : last_ns;
    }
    save_threads(ranked);
    if (ranked->ends_ns)
        last_ns = clock_ns(ranked, ranked->ends_ns) - 1000;
    save_clock(ranked, last_ns);
    free(ranked->events);
    ranked->events = NULL;
}

/* ---- a profile ------------------------------------------------------------------------------- */

static int add_rank(struct xfp_network *network, const char *host)
{
    network->ranks = realloc(network->ranks, (network->rank_count + 1) * sizeof *network->ranks);
    if (!network->ranks)
        abort();
    network->ranks[network->rank_count] = (struct xfp_net_rank){.hostname = strdup(host),
                                                                .machine_id = strdup(""),
                                                                .gpu = -1,
                                                                .gpu_name = strdup(""),
                                                                .gpu_uuid = strdup("")};
    return (int)network->rank_count++;
}

static void add_path(struct xfp_network *network, int from, int to, double lo_ns, double gbps)
{
    static const uint64_t sizes[] = {1, 4096, 1 << 20, 64 << 20};
    char name[64];
    struct xfp_net_path path = {.shape = XFP_NET_PING,
                                .from = from,
                                .to = to,
                                .interface = strdup(""),
                                .point_count = sizeof sizes / sizeof *sizes};
    snprintf(name, sizeof name, "net/ping/rank%d-rank%d", from, to);
    path.name = strdup(name);
    path.points = calloc(path.point_count, sizeof *path.points);
    path.windows = calloc(path.point_count, sizeof *path.windows);
    for (size_t i = 0; i < path.point_count; i++) {
        double ns = lo_ns + (double)sizes[i] / gbps;
        path.points[i] = (struct xfp_point){.bytes = sizes[i],
                                            .n = 10,
                                            .median_ns = ns,
                                            .min_ns = ns,
                                            .max_ns = ns,
                                            .ci_low_ns = ns,
                                            .ci_high_ns = ns};
    }
    if (xfp_net_add_path(network, &path) != 0)
        abort();
}

void ranked_network(struct xfp_profile *profile, const char *from, const char *to, double lo_ns,
                    double gbps)
{
    struct xfp_network *network = xfp_net_of(profile);
    if (!network->mpi) {
        network->mpi = strdup("Open MPI v4.1.4");
        network->ucx = strdup("");
        network->nccl = strdup("");
    }
    int a = add_rank(network, from), b = add_rank(network, to);
    add_path(network, a, b, lo_ns, gbps);
    add_path(network, b, a, lo_ns, gbps);
}

void ranked_staged(struct xfp_profile *profile, int from, int to, uint64_t bytes, double whole_ns,
                   double pieces_ns, double direct_ns)
{
    char name[64];
    struct xfp_net_staged staged = {.from = from, .to = to, .point_count = 1};
    snprintf(name, sizeof name, "net/staged/rank%d-rank%d", from, to);
    staged.name = strdup(name);
    staged.points = calloc(1, sizeof *staged.points);
    *staged.points = (struct xfp_net_staged_point){.bytes = bytes,
                                                   .unpipelined_ns = whole_ns,
                                                   .pipelined_ns = pieces_ns * 1.1,
                                                   .adaptive_ns = pieces_ns,
                                                   .direct_ns = direct_ns};
    if (xfp_net_add_staged(xfp_net_of(profile), &staged) != 0)
        abort();
}

static struct xfp_net_staged *last_staged(struct xfp_profile *profile)
{
    struct xfp_network *network = xfp_net_of(profile);
    return &network->staged[network->staged_count - 1];
}

void ranked_posted(struct xfp_profile *profile, double ns)
{
    last_staged(profile)->points->posted_ns = ns;
}

void ranked_first_use(struct xfp_profile *profile, uint64_t bytes, double ns)
{
    struct xfp_net_staged *staged = last_staged(profile);
    struct xfp_net_first_use *all =
        realloc(staged->first_uses, (staged->first_use_count + 1) * sizeof *all);
    if (!all)
        abort();
    staged->first_uses = all;
    all[staged->first_use_count++] =
        (struct xfp_net_first_use){.bytes = bytes, .ns = ns, .rounds = 8};
}

void ranked_measured(struct xfp_profile *profile, const char *name, uint32_t ranks, uint64_t bytes,
                     double gbps)
{
    const char *hosts = strstr(name, "-hosts");
    struct xfp_net_collective one = {.name = strdup(name),
                                     .ranks = ranks,
                                     .hosts = hosts ? (uint32_t)atoi(hosts + strlen("-hosts")) : 0,
                                     .bus_per_algbw = 1,
                                     .point_count = bytes ? 2 : 1};
    one.points = calloc(2, sizeof *one.points);
    for (size_t i = 0; i < one.point_count; i++) {
        double ns = bytes ? (double)bytes * (i ? 20 : 1) / gbps : gbps;
        one.points[i] = (struct xfp_point){.bytes = bytes * (i ? 20 : 1),
                                           .n = 10,
                                           .median_ns = ns,
                                           .min_ns = ns,
                                           .max_ns = ns,
                                           .ci_low_ns = ns,
                                           .ci_high_ns = ns};
    }
    if (xfp_net_add_collective(xfp_net_of(profile), &one) != 0)
        abort();
}
