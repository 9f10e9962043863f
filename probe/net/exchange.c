#include "probe/net/exchange.h"

#include <string.h>

#include "probe/device/buffer.h"
#include "probe/measure/budget.h"
#include "probe/net/collect.h"
#include "probe/net/nodes.h"

enum { TAG_ORDER = 1, TAG_READY, TAG_ANSWER, TAG_DATA };

struct answer {
    int bad;
    char why[200];
};

struct xfp_net_link xfp_net_link_to(struct xfp_net_run *run, int peer)
{
    return (struct xfp_net_link){.run = run,
                                 .peer = peer,
                                 .sent = run->session.sys.pattern,
                                 .received = run->session.sys.check};
}

static void send_bytes(struct xfp_net_link *l, const void *bytes, size_t count, int tag)
{
    xfp_net_mpi(l->run, MPI_Send(bytes, (int)count, MPI_BYTE, l->peer, tag, l->run->orders),
                "sending");
}

static void receive_bytes(struct xfp_net_link *l, void *bytes, size_t count, int tag)
{
    xfp_net_mpi(
        l->run,
        MPI_Recv(bytes, (int)count, MPI_BYTE, l->peer, tag, l->run->orders, MPI_STATUS_IGNORE),
        "receiving");
}

/* ---- between the hosts' memories ------------------------------------------------------------- */

/* Message i of a window has a place of its own while the memory has room. */
static unsigned char *place_of(unsigned char *memory, size_t room, uint64_t bytes, uint32_t i)
{
    size_t places = room / bytes;

    return memory + (places > 1 ? i % places : 0) * bytes;
}

static void send_one(struct xfp_net_link *l, uint64_t bytes)
{
    xfp_net_mpi(l->run, MPI_Send(l->sent, (int)bytes, MPI_BYTE, l->peer, TAG_DATA, l->run->data),
                "sending");
}

static void receive_one(struct xfp_net_link *l, uint64_t bytes)
{
    xfp_net_mpi(l->run,
                MPI_Recv(l->received, (int)bytes, MPI_BYTE, l->peer, TAG_DATA, l->run->data,
                         MPI_STATUS_IGNORE),
                "receiving");
}

static double ping(struct xfp_net_link *l, const struct xfp_net_order *o, bool leads)
{
    uint64_t before = xfp_wall_ns();

    for (uint32_t i = 0; i < o->repeat; i++) {
        if (leads)
            send_one(l, o->bytes);
        receive_one(l, o->bytes);
        if (!leads)
            send_one(l, o->bytes);
    }
    return (double)(xfp_wall_ns() - before) / 2 / o->repeat;
}

/* A window: receives are posted before sends; the follower replies when it has all. */
static void window(struct xfp_net_link *l, const struct xfp_net_order *o, bool sends, bool receives)
{
    size_t room = l->run->session.sys.most_bytes;
    int count = 0, result = MPI_SUCCESS;

    for (uint32_t i = 0; receives && i < o->window && !result; i++)
        result = MPI_Irecv(place_of(l->received, room, o->bytes, i), (int)o->bytes, MPI_BYTE,
                           l->peer, TAG_DATA, l->run->data, &l->requests[count++]);
    for (uint32_t i = 0; sends && i < o->window && !result; i++)
        result = MPI_Isend(place_of(l->sent, room, o->bytes, i), (int)o->bytes, MPI_BYTE, l->peer,
                           TAG_DATA, l->run->data, &l->requests[count++]);
    if (!result)
        result = MPI_Waitall(count, l->requests, MPI_STATUSES_IGNORE);
    xfp_net_mpi(l->run, result, "exchanging a window of messages");
}

static void windows(struct xfp_net_link *l, const struct xfp_net_order *o, bool leads,
                    double *times)
{
    bool both = o->what == XFP_NET_DO_BOTH;

    for (uint32_t i = 0; i < o->repeat; i++) {
        uint64_t before = xfp_wall_ns();

        window(l, o, both || leads, both || !leads);
        if (leads)
            receive_bytes(l, NULL, 0, TAG_ANSWER);
        else
            send_bytes(l, NULL, 0, TAG_ANSWER);
        if (times)
            times[i] = (double)(xfp_wall_ns() - before);
    }
}

/* ---- orders ---------------------------------------------------------------------------------- */

static bool between_gpus(const struct xfp_net_order *o)
{
    return o->what == XFP_NET_DO_RING || o->what == XFP_NET_DO_POSTED ||
           o->what == XFP_NET_DO_DIRECT;
}

/* Whether this side receives, and compares what. */
static bool is_checked(const struct xfp_net_order *o, bool leads)
{
    return o->check && (!leads || o->what == XFP_NET_DO_PING || o->what == XFP_NET_DO_BOTH);
}

/* The timed part, of either side. */
static void carry_out(struct xfp_net_link *l, const struct xfp_net_order *o, bool leads,
                      double *times)
{
    double ns;

    switch (o->what) {
    case XFP_NET_DO_PING:
        ns = ping(l, o, leads);
        if (times)
            *times = ns;
        break;
    case XFP_NET_DO_STREAM:
    case XFP_NET_DO_BOTH:
        windows(l, o, leads, times);
        break;
    case XFP_NET_DO_RING:
    case XFP_NET_DO_POSTED:
    case XFP_NET_DO_DIRECT:
        xfp_net_copy(l->run, &l->stage, l->peer, o, leads, times);
        break;
    case XFP_NET_DO_FIRST:
        l->devices_met = true;
        xfp_net_first_rounds(l->run, &l->stage, l->peer, o, leads, times);
        break;
    default:
        break;
    }
}

/* What comes before the time counts: memory, and what the check needs. */
static int prepare(struct xfp_net_link *l, const struct xfp_net_order *o, bool leads)
{
    struct xfp_system *sys = &l->run->session.sys;

    if (o->what == XFP_NET_OPEN)
        return xfp_net_stage_open(l->run, &l->stage, o->bytes);
    if (o->what == XFP_NET_CLOSE)
        xfp_net_stage_close(l->run, &l->stage);
    if (o->what == XFP_NET_PLACE)
        return xfp_net_place(l, leads ? o->leader_node : o->follower_node);
    if (!is_checked(o, leads))
        return 0;
    if (between_gpus(o))
        return xfp_buffer_clear(sys, &l->stage.memory, o->bytes);
    memset(l->received, 0, o->bytes);
    return 0;
}

static int compare(struct xfp_net_link *l, const struct xfp_net_order *o, bool leads)
{
    struct xfp_system *sys = &l->run->session.sys;
    size_t at = 0;

    if (!is_checked(o, leads))
        return 0;
    if (between_gpus(o))
        return xfp_buffer_verify(sys, &l->stage.memory, &l->stage.memory, o->bytes);
    while (at < o->bytes && l->received[at] == l->sent[at])
        at++;
    if (at == o->bytes)
        return 0;
    return xfp_fail(sys, "wrong data in a message of %llu bytes: byte %zu is 0x%02x, not 0x%02x",
                    (unsigned long long)o->bytes, at, l->received[at], l->sent[at]);
}

int xfp_net_lead(struct xfp_net_link *l, const struct xfp_net_order *order, double *times)
{
    struct answer ready, answer;
    int bad;

    send_bytes(l, order, sizeof(*order), TAG_ORDER);
    bad = prepare(l, order, true);
    receive_bytes(l, &ready, sizeof(ready), TAG_READY);
    if (ready.bad)
        return bad ? -1 : xfp_fail(&l->run->session.sys, "%s", ready.why);
    carry_out(l, order, true, times); /* what the leader could not prepare need not be released */
    receive_bytes(l, &answer, sizeof(answer), TAG_ANSWER);
    if (bad || compare(l, order, true))
        return -1;
    return answer.bad ? xfp_fail(&l->run->session.sys, "%s", answer.why) : 0;
}

void xfp_net_end_orders(struct xfp_net_link *l)
{
    const struct xfp_net_order end = {.what = XFP_NET_END};

    send_bytes(l, &end, sizeof(end), TAG_ORDER);
}

static void tell(struct xfp_net_link *l, int bad, int tag)
{
    struct answer answer = {.bad = bad};

    if (bad)
        snprintf(answer.why, sizeof(answer.why), "%.199s", l->run->session.sys.error);
    send_bytes(l, &answer, sizeof(answer), tag);
}

void xfp_net_follow(struct xfp_net_link *l)
{
    struct xfp_net_order o;

    for (;;) {
        int bad;

        receive_bytes(l, &o, sizeof(o), TAG_ORDER);
        if (o.what == XFP_NET_END)
            return;
        bad = prepare(l, &o, false);
        tell(l, bad, TAG_READY);
        if (bad)
            continue;
        carry_out(l, &o, false, NULL);
        tell(l, compare(l, &o, false), TAG_ANSWER);
        xfp_net_take_reports(l->run);
    }
}
