/*
 * Messages between the hosts' memories, by size.
 */
#include "probe/net/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/net/collect.h"
#include "probe/net/nodes.h"

enum {
    MOST_REPEATS = 16,     /* windows of one order */
    SHORT_BYTES = 4 << 10, /* of messages of which 64 are never too many */
    BOUND_STEP = 4,        /* by node: one size of so many */
};
#define ORDER_NS 2e6 /* of one order: many short messages, few long ones */

/* One size of one shape. */
struct message {
    struct xfp_net_link *link;
    struct xfp_net_order order;
    struct xfp_net_windows *windows; /* NULL: a ping */
    size_t room;
};

static void keep_window(struct message *m, double ns)
{
    if (m->windows && m->windows->ns && m->windows->count < m->room)
        m->windows->ns[m->windows->count++] = ns;
}

static int go(struct xfp_session *s, void *state, struct xfp_samples *samples)
{
    struct message *m = state;
    double times[MOST_REPEATS], value;
    bool ping = m->order.what == XFP_NET_DO_PING;

    if (xfp_net_lead(m->link, &m->order, times))
        return -1;
    if (m->windows && !samples->n)
        m->windows->count = 0; /* the first order warms up */
    for (uint32_t i = 0; i < (ping ? 1 : m->order.repeat); i++) {
        value = ping ? times[0] : times[i] / m->order.window;
        keep_window(m, times[i]);
        xfp_samples_add(samples, &value, 1);
    }
    return 0;
}

/* What is known of a window's time before it is measured: of one message and its reply, and what
 * each further message adds. */
struct guess {
    double one_ns, more_ns;
};

/* A window that leaves time for the fewest samples, 64 messages if it can be; so many of them, or
 * round trips, in one order that orders do not count. limit: ns for the size. */
static void size_order(struct xfp_net_order *o, struct guess g, double limit)
{
    bool ping = o->what == XFP_NET_DO_PING;
    double most = limit / XFP_NET_FEWEST, window = g.one_ns;

    o->window = 1;
    if (!ping && o->bytes <= SHORT_BYTES) {
        o->window = XFP_NET_WINDOW;
    } else if (!ping) {
        /* latency may take all of the time, and is no reason for fewer messages */
        double room = fmax(most - g.one_ns, most / 2);
        double further = g.more_ns > 0 ? room / g.more_ns : XFP_NET_WINDOW;

        o->window = (uint32_t)fmin(fmax(1 + further, 1), XFP_NET_WINDOW);
        window += g.more_ns * (o->window - 1);
    }
    o->repeat = (uint32_t)fmin(fmax(ORDER_NS / fmax(window, 1), 1), ping ? 100 : MOST_REPEATS);
}

static int check_message(struct xfp_net_link *link, struct xfp_net_order order)
{
    order.check = link->run->session.options->verify;
    order.window = order.repeat = 1;
    return order.check ? xfp_net_lead(link, &order, NULL) : 0;
}

/* One size: first whether the data is right and about what it takes. */
static int measure_message(struct message *m, struct xfp_point *p, double slice)
{
    struct xfp_session *s = &m->link->run->session;
    struct xfp_sampling what = {.go = go, .state = m, .budget_ns = (uint64_t)slice};
    struct xfp_samples *samples = malloc(sizeof(*samples));
    struct xfp_stats stats;
    int bad = samples ? check_message(m->link, m->order) : xfp_fail(&s->sys, "out of memory");

    if (!bad)
        bad = xfp_take_samples(s, &what, samples);
    if (!bad) {
        stats = xfp_samples_stats(samples, 0);
        xfp_set_point(p, &stats);
    }
    free(samples);
    return bad;
}

static int time_once(struct xfp_net_link *link, struct xfp_net_order order, double *ns)
{
    order.window = order.repeat = 1;
    return xfp_net_lead(link, &order, ns);
}

static uint32_t what_of(enum xfp_net_shape shape)
{
    return shape == XFP_NET_PING     ? XFP_NET_DO_PING
           : shape == XFP_NET_STREAM ? XFP_NET_DO_STREAM
                                     : XFP_NET_DO_BOTH;
}

/* A copy of what is measured so far becomes the profile's, whose text is sent or written. */
static void keep_path(struct xfp_net_run *run, const struct xfp_net_path *path)
{
    struct xfp_network *network = xfp_net_of(run->session.profile);
    struct xfp_net_path copy = *path;

    copy.name = strdup(path->name);
    copy.interface = strdup(path->interface ? path->interface : "");
    copy.points = calloc(path->point_count + 1, sizeof(*copy.points));
    copy.windows = calloc(path->point_count + 1, sizeof(*copy.windows));
    if (!network || !copy.name || !copy.interface || !copy.points || !copy.windows)
        xfp_net_give_up(run, "out of memory");
    for (size_t i = 0; i < path->point_count; i++) {
        const struct xfp_net_windows *w = &path->windows[i];

        copy.points[i] = path->points[i];
        copy.windows[i] = *w;
        copy.windows[i].ns = malloc((w->count + 1) * sizeof(*w->ns));
        if (!copy.windows[i].ns)
            xfp_net_give_up(run, "out of memory");
        if (w->count)
            memcpy(copy.windows[i].ns, w->ns, w->count * sizeof(*w->ns));
    }
    if (xfp_net_add_path(network, &copy))
        xfp_net_give_up(run, "out of memory");
    xfp_net_keep(run);
}

/* From the size before: what its further messages added, by bytes. Latency, which messages in a row
 * share, does not count; where there was but one message, it has to. */
static struct guess guess(const struct xfp_net_path *path, uint64_t bytes, double one_ns,
                          double last_one_ns)
{
    struct guess g = {.one_ns = one_ns, .more_ns = bytes <= SHORT_BYTES ? 0 : one_ns};
    const struct xfp_point *last = path->points + path->point_count;
    uint32_t window = path->point_count ? path->windows[path->point_count - 1].messages : 0;

    if (window > 1)
        g.more_ns = fmax(last[-1].median_ns * window - last_one_ns, 0) / (window - 1) *
                    (double)bytes / (double)last[-1].bytes;
    else if (window)
        g.more_ns = one_ns;
    return g;
}

/* What one message of that size takes, after the last one measured: latency does not grow. */
static double next_ns(const struct xfp_net_path *path, uint64_t bytes)
{
    const struct xfp_point *last = path->points + path->point_count - 1;
    double latency = fmin(path->points[0].median_ns, last->median_ns);

    return latency + (last->median_ns - latency) * (double)bytes / (double)last->bytes;
}

struct sweep {
    uint64_t sent;      /* bytes, about */
    double last_one_ns; /* one message and its reply, of the size before */
};

/* The next size of a path. 1: the time does not suffice for it. */
static int measure_size(struct xfp_net_link *link, struct xfp_net_path *path, uint64_t bytes,
                        size_t sizes_left, struct sweep *sweep)
{
    struct xfp_net_run *run = link->run;
    struct xfp_point *p = &path->points[path->point_count];
    struct xfp_net_windows *w = &path->windows[path->point_count];
    struct message m = {.link = link, .order = {.bytes = bytes, .what = what_of(path->shape)}};
    double ns = 0, left = xfp_net_left_ns(run), slice = left * 0.9 / (double)sizes_left;
    int bad;

    if (path->point_count && xfp_net_too_long(run, next_ns(path, bytes) * XFP_NET_FEWEST))
        return 1;
    *p = (struct xfp_point){.bytes = bytes};
    for (int i = 0; i < 2; i++) { /* the first connects */
        double again;

        if (time_once(link, m.order, &again))
            return -1;
        ns = i ? fmin(ns, again) : again;
    }
    size_order(&m.order, guess(path, bytes, ns, sweep->last_one_ns),
               fmax(slice, XFP_NET_ALWAYS_NS));
    sweep->last_one_ns = ns;
    if (path->shape != XFP_NET_PING) {
        w->messages = m.order.window;
        m.windows = w;
        m.room = run->kept;
        w->ns = calloc(run->kept + 1, sizeof(*w->ns));
    }
    bad = measure_message(&m, p, slice);
    sweep->sent += (uint64_t)p->n * m.order.window * bytes *
                   (path->shape == XFP_NET_PING ? m.order.repeat : 1);
    path->point_count += !bad && p->n > 0;
    return bad;
}

/* This leader's, loaded or not. */
static struct xfp_net_path *own_path(const struct xfp_net_run *run, enum xfp_net_shape shape,
                                     int peer)
{
    const struct xfp_network *network = run->session.profile->network;

    for (size_t i = 0; network && i < network->path_count; i++)
        if (network->paths[i].shape == shape && network->paths[i].from == run->rank &&
            network->paths[i].to == peer && !network->paths[i].bound)
            return &network->paths[i];
    return NULL;
}

/* g: what each further message of a window adds to the shortest ones. A window's time has L+o of
 * its first message and that of the reply. */
static double gap_of(const struct xfp_net_run *run, int peer, const struct xfp_net_path *ping)
{
    const struct xfp_net_path *stream = own_path(run, XFP_NET_STREAM, peer);
    const struct xfp_net_windows *w = stream && stream->point_count ? stream->windows : NULL;

    if (!w || w->messages < 2 || !ping->point_count ||
        stream->points[0].bytes != ping->points[0].bytes)
        return 0;
    return (stream->points[0].median_ns * w->messages - 2 * ping->points[0].median_ns) /
           (w->messages - 1);
}

/* By node the shortest one, and those that are a step apart up to the longest. */
static size_t sizes_of(const struct xfp_net_link *link, uint64_t *sizes)
{
    const struct xfp_probe_options *options = link->run->session.options;
    size_t count = xfp_sweep_sizes(options, sizes, XFP_NET_MOST_SIZES), kept = 0;
    size_t step = options->quick ? BOUND_STEP / 2 : BOUND_STEP;

    if (!link->bound)
        return count;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || (count - 1 - i) % step == 0)
            sizes[kept++] = sizes[i];
    return kept;
}

int xfp_net_sweep_messages(struct xfp_net_link *link, enum xfp_net_shape shape,
                           enum xfp_net_part part, double share)
{
    struct xfp_net_run *run = link->run;
    struct xfp_net_port before[XFP_NET_MOST_INTERFACES], after[XFP_NET_MOST_INTERFACES];
    size_t ports = xfp_net_read_ports(before);
    uint64_t sizes[XFP_NET_MOST_SIZES];
    struct sweep so_far = {0};
    size_t count = sizes_of(link, sizes), i;
    struct xfp_point points[XFP_NET_MOST_SIZES];
    struct xfp_net_windows windows[XFP_NET_MOST_SIZES] = {0};
    char name[XFP_NAME_TEXT], interface[XFP_NET_NAME_BYTES];
    struct xfp_net_path path = {.name = name,
                                .shape = shape,
                                .from = run->rank,
                                .to = link->peer,
                                .loaded = run->loaded,
                                .bound = link->bound,
                                .from_node = link->bound ? link->nodes.own : -1,
                                .to_node = link->bound ? link->nodes.peers : -1,
                                .points = points,
                                .windows = windows};
    int bad = 0;

    xfp_net_name(link, xfp_net_shape_word(shape), name);
    if (!xfp_net_is_chosen(run, name))
        return 0;
    xfp_net_begin_part(run, part, share);
    for (i = 0; i < count && !bad; i++) {
        bad = measure_size(link, &path, sizes[i], count - i, &so_far);
        if (!bad)
            keep_path(run, &path);
    }
    if (bad > 0)
        xfp_net_warn_of_end(run, name, sizes[i - 1]);
    snprintf(interface, sizeof(interface), "%s",
             xfp_net_used_port(before, ports, after, xfp_net_read_ports(after), so_far.sent));
    path.interface = interface;
    if (path.point_count)
        keep_path(run, &path);
    for (i = 0; i < XFP_NET_MOST_SIZES; i++)
        free(windows[i].ns);
    return bad < 0 ? -1 : 0;
}

void xfp_net_fit(struct xfp_net_run *run, int peer)
{
    struct xfp_net_path *ping = own_path(run, XFP_NET_PING, peer);

    if (ping)
        ping->fit = xfp_fit_points(ping->points, ping->point_count, gap_of(run, peer, ping));
}

/* ---- by NUMA node ---------------------------------------------------------------------------- */

static int order_nodes(struct xfp_net_link *link, int own, int peers)
{
    const struct xfp_net_order order = {
        .what = XFP_NET_PLACE, .leader_node = own, .follower_node = peers};

    return xfp_net_lead(link, &order, NULL);
}

static int sweep_pair(struct xfp_net_link *link, const struct xfp_net_node_pair *pair, double share)
{
    int bad;

    link->bound = true;
    link->nodes = *pair;
    bad = xfp_net_sweep_messages(link, XFP_NET_PING, XFP_NET_NODES, share) ||
          xfp_net_sweep_messages(link, XFP_NET_STREAM, XFP_NET_NODES, share);
    link->bound = false;
    return bad ? -1 : 0;
}

int xfp_net_sweep_nodes(struct xfp_net_link *link)
{
    struct xfp_net_run *run = link->run;
    struct xfp_net_node_pair pairs[XFP_NET_MOST_NODE_PAIRS];
    size_t count =
        xfp_net_node_pairs(&run->hellos[run->rank].nodes, &run->hellos[link->peer].nodes, pairs);
    char who[XFP_NET_WHO_BYTES];
    int bad = 0;

    if (!(run->parts & 1u << XFP_NET_NODES))
        return 0;
    for (size_t i = 0; i < count && !bad; i++) {
        if (order_nodes(link, pairs[i].own, pairs[i].peers)) {
            xfp_warn(&run->session.sys, "with %s: not measured by NUMA node: %s",
                     xfp_net_who(run, link->peer, who), run->session.sys.error);
            break;
        }
        bad = sweep_pair(link, &pairs[i], 0.5 / (double)count);
    }
    if (count && order_nodes(link, -1, -1))
        bad = -1;
    return bad;
}
