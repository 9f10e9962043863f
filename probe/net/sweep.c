/*
 * What one pair measures: messages between the hosts' memories, then copies between the GPUs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/measure/budget.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"
#include "probe/net/collect.h"
#include "probe/net/exchange.h"

/* Seconds for a leader's parts, by default and with --quick. */
struct seconds {
    double usual, quick;
};
static const struct seconds for_ping = {2, 0.4}, for_stream = {4, 0.8}, for_both = {3, 0.6},
                            for_staged = {11, 2.7};

enum {
    MOST_SIZES = 64,
    MOST_REPEATS = 16, /* windows of one order */
    MOST_SHORT_BYTES = 64 << 10,
    LEAST_STAGED_BYTES = 1 << 10,
    MOST_CHECKED_BYTES = 4 << 20,
    FEWEST = XFP_FEWEST_SAMPLES + 1, /* and the one that warms up */
};
#define ALWAYS_NS 3e8
#define ORDER_NS 2e6 /* of one order: many short messages, few long ones */

static double scale_of(const struct xfp_net_run *run)
{
    const struct xfp_probe_options *o = run->session.options;
    double usual =
        o->quick ? 2 * (for_ping.quick + for_stream.quick + for_staged.quick) + for_both.quick
                 : 2 * (for_ping.usual + for_stream.usual + for_staged.usual) + for_both.usual;

    return o->time_limit_s > 0 ? o->time_limit_s / usual : 1;
}

double xfp_net_pair_s(const struct xfp_net_run *run)
{
    const struct xfp_probe_options *o = run->session.options;
    double usual = 2 * (for_ping.usual + for_stream.usual + for_staged.usual) + for_both.usual;

    return o->time_limit_s > 0 ? o->time_limit_s : usual;
}

static void begin_part(struct xfp_net_run *run, struct seconds seconds)
{
    double s = run->session.options->quick ? seconds.quick : seconds.usual;

    run->session.bench_deadline_ns = xfp_wall_ns() + (uint64_t)(s * scale_of(run) * 1e9);
}

/* What is left of the part's time. */
static double left_ns(const struct xfp_net_run *run)
{
    uint64_t now = xfp_wall_ns(), until = run->session.bench_deadline_ns;

    return until > now ? (double)(until - now) : 0;
}

/* Whether the fewest samples of the next size, of that length in all, would go beyond the part's
 * time; short ones are measured all the same, since a busy machine may have used it up. */
static bool is_too_long(const struct xfp_net_run *run, double ns)
{
    return ns > fmax(left_ns(run), ALWAYS_NS);
}

/* A part that ends before its largest size says so. */
static void warn_of_end(struct xfp_net_run *run, const char *name, uint64_t bytes)
{
    xfp_warn(&run->session.sys,
             "%s: sizes from %llu bytes on are not measured: the time for them is over "
             "(--time-limit)",
             name, (unsigned long long)bytes);
}

static void name_of(char *name, size_t room, const struct xfp_net_run *run, const char *what,
                    int peer)
{
    snprintf(name, room, "%s/%s/rank%d-rank%d", run->loaded ? "net-loaded" : "net", what, run->rank,
             peer);
}

/* ---- messages -------------------------------------------------------------------------------- */

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

/* A window or a number of round trips that takes no more than its part of the time. ns: of one
 * message, about. */
static void size_order(struct xfp_net_order *o, double ns, double slice)
{
    bool ping = o->what == XFP_NET_DO_PING;
    double one = ns * (ping ? 2 : XFP_NET_WINDOW), most = slice / FEWEST / 2;

    o->window = ping ? 1 : XFP_NET_WINDOW;
    if (!ping && one > most && ns > 0)
        o->window = (uint32_t)fmin(fmax(most / ns, 1), XFP_NET_WINDOW);
    if (!ping)
        one = ns * o->window;
    o->repeat = (uint32_t)fmin(fmax(one > 0 ? ORDER_NS / one : 1, 1), ping ? 100 : MOST_REPEATS);
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
static int keep_path(struct xfp_net_run *run, const struct xfp_net_path *path)
{
    struct xfp_network *network = xfp_net_of(run->session.profile);
    struct xfp_net_path copy = *path;
    int bad = !network;

    copy.name = strdup(path->name);
    copy.interface = strdup(path->interface ? path->interface : "");
    copy.points = calloc(path->point_count + 1, sizeof(*copy.points));
    copy.windows = calloc(path->point_count + 1, sizeof(*copy.windows));
    if (bad || !copy.name || !copy.interface || !copy.points || !copy.windows)
        return xfp_fail(&run->session.sys, "out of memory");
    for (size_t i = 0; i < path->point_count; i++) {
        const struct xfp_net_windows *w = &path->windows[i];

        copy.points[i] = path->points[i];
        copy.windows[i] = *w;
        copy.windows[i].ns = malloc((w->count + 1) * sizeof(*w->ns));
        if (!copy.windows[i].ns)
            return xfp_fail(&run->session.sys, "out of memory");
        if (w->count)
            memcpy(copy.windows[i].ns, w->ns, w->count * sizeof(*w->ns));
    }
    if (xfp_net_add_path(network, &copy))
        return xfp_fail(&run->session.sys, "out of memory");
    xfp_net_keep(run);
    return 0;
}

/* About what one of many messages takes. once_ns, of one and its reply, says that of long messages
 * alone: of short ones it is latency, which messages in a row share. */
static double ns_of_many(const struct xfp_net_path *path, uint64_t bytes, double once_ns)
{
    const struct xfp_point *last = path->points + path->point_count;

    if (path->shape == XFP_NET_PING)
        return once_ns;
    if (path->point_count)
        return last[-1].median_ns * (double)bytes / (double)last[-1].bytes;
    return bytes <= MOST_SHORT_BYTES ? once_ns / XFP_NET_WINDOW : once_ns;
}

/* The next size of a path. 1: the time does not suffice for it. */
static int measure_size(struct xfp_net_link *link, struct xfp_net_path *path, uint64_t bytes,
                        size_t sizes_left, uint64_t *sent)
{
    struct xfp_net_run *run = link->run;
    struct xfp_point *p = &path->points[path->point_count];
    struct xfp_net_windows *w = &path->windows[path->point_count];
    struct message m = {.link = link, .order = {.bytes = bytes, .what = what_of(path->shape)}};
    double ns, left = left_ns(run), slice = left * 0.9 / (double)sizes_left;
    int bad;

    if (path->point_count &&
        is_too_long(run, p[-1].median_ns * (double)bytes / (double)p[-1].bytes * FEWEST))
        return 1;
    *p = (struct xfp_point){.bytes = bytes};
    bad = time_once(link, m.order, &ns) || time_once(link, m.order, &ns); /* the first connects */
    if (bad)
        return -1;
    size_order(&m.order, fmin(ns, ns_of_many(path, bytes, ns)), slice);
    if (path->shape != XFP_NET_PING) {
        w->messages = m.order.window;
        m.windows = w;
        m.room = run->kept;
        w->ns = calloc(run->kept + 1, sizeof(*w->ns));
    }
    bad = measure_message(&m, p, slice);
    *sent += (uint64_t)p->n * m.order.window * bytes *
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
            network->paths[i].to == peer)
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

static int sweep(struct xfp_net_link *link, enum xfp_net_shape shape, struct seconds seconds)
{
    struct xfp_net_run *run = link->run;
    struct xfp_net_port before[XFP_NET_MOST_INTERFACES], after[XFP_NET_MOST_INTERFACES];
    size_t ports = xfp_net_read_ports(before);
    uint64_t sizes[MOST_SIZES], sent = 0;
    size_t count = xfp_sweep_sizes(run->session.options, sizes, MOST_SIZES), i;
    struct xfp_point points[MOST_SIZES];
    struct xfp_net_windows windows[MOST_SIZES] = {0};
    char name[XFP_NAME_TEXT], interface[XFP_NET_NAME_BYTES];
    struct xfp_net_path path = {.name = name,
                                .shape = shape,
                                .from = run->rank,
                                .to = link->peer,
                                .loaded = run->loaded,
                                .points = points,
                                .windows = windows};
    int bad = 0;

    name_of(name, sizeof(name), run, xfp_net_shape_word(shape), link->peer);
    begin_part(run, seconds);
    for (i = 0; i < count && !bad; i++) {
        bad = measure_size(link, &path, sizes[i], count - i, &sent);
        if (!bad)
            bad = keep_path(run, &path);
    }
    if (bad > 0)
        warn_of_end(run, name, sizes[i - 1]);
    snprintf(interface, sizeof(interface), "%s",
             xfp_net_used_port(before, ports, after, xfp_net_read_ports(after), sent));
    path.interface = interface;
    if (path.point_count)
        bad = keep_path(run, &path) ? -1 : bad;
    for (i = 0; i < MOST_SIZES; i++)
        free(windows[i].ns);
    return bad < 0 ? -1 : 0;
}

/* The model, when both shapes it needs are there. */
static void fit(struct xfp_net_run *run, int peer)
{
    struct xfp_net_path *ping = own_path(run, XFP_NET_PING, peer);

    if (ping)
        ping->fit = xfp_fit_points(ping->points, ping->point_count, gap_of(run, peer, ping));
}

/* ---- copies between GPUs --------------------------------------------------------------------- */

struct copying {
    struct xfp_net_link *link;
    struct xfp_net_order order;
};

static int copy_once(struct xfp_session *s, void *state, double *ns)
{
    struct copying *c = state;

    return xfp_net_lead(c->link, &c->order, ns);
}

/* Times one way of copying; when asked, first whether the data is right. */
static int measure_copy(struct xfp_net_link *link, struct xfp_net_order order, double slice,
                        double *ns, struct xfp_spread *spread)
{
    struct xfp_session *s = &link->run->session;
    struct copying c = {.link = link, .order = order};
    struct xfp_point p = {0};
    double once;

    c.order.check = s->options->verify && order.bytes <= MOST_CHECKED_BYTES;
    if (c.order.check && xfp_net_lead(link, &c.order, &once))
        return -1;
    c.order.check = false;
    if (xfp_repeat(s, copy_once, &c, (uint64_t)slice, &p))
        return -1;
    *ns = p.n ? p.median_ns : 0;
    *spread = (struct xfp_spread){p.n, p.min_ns, p.max_ns, p.ci_low_ns, p.ci_high_ns};
    return 0;
}

static struct xfp_net_order ring(uint64_t bytes, uint64_t buffer_bytes, uint32_t buffers)
{
    return (struct xfp_net_order){
        .what = XFP_NET_DO_RING, .bytes = bytes, .buffer_bytes = buffer_bytes, .buffers = buffers};
}

static int measure_grid(struct xfp_net_link *link, struct xfp_staged_cell *cells, size_t count,
                        double slice, struct xfp_net_staged_point *p)
{
    for (size_t i = 0; i < count; i++) {
        struct xfp_staged_cell *cell = &cells[i];

        if (measure_copy(link, ring(cell->bytes, cell->buffer_bytes, cell->buffers), slice,
                         &cell->median_ns, &cell->spread))
            return -1;
        if (i && cell->median_ns >= p->adaptive_ns)
            continue;
        p->adaptive_ns = cell->median_ns;
        p->adaptive = cell->spread;
        p->buffers = cell->buffers;
        p->buffer_bytes = cell->buffer_bytes;
    }
    return 0;
}

/* Checking takes longer than copying: of large copies only the ring chosen is checked. */
static int check_chosen(struct xfp_net_link *link, const struct xfp_net_staged_point *p)
{
    struct xfp_net_order order = ring(p->bytes, p->buffer_bytes, p->buffers);
    double ns;

    order.check = true;
    if (!link->run->session.options->verify || p->bytes <= MOST_CHECKED_BYTES)
        return 0;
    return xfp_net_lead(link, &order, &ns);
}

static bool takes_devices(const struct xfp_net_link *link)
{
    const struct xfp_net_run *run = link->run;

    return run->hellos[run->rank].direct == XFP_NET_TAKEN &&
           run->hellos[link->peer].direct == XFP_NET_TAKEN;
}

/* All versions of one size. */
static int measure_staged(struct xfp_net_link *link, uint64_t bytes, double slice,
                          struct xfp_staged_cell *cells, size_t *count,
                          struct xfp_net_staged_point *p)
{
    struct xfp_net_order direct = {.what = XFP_NET_DO_DIRECT, .bytes = bytes};
    int bad;

    *p = (struct xfp_net_staged_point){.bytes = bytes};
    *count = xfp_list_rings(link->run->session.options->quick, bytes, cells);
    bad = measure_copy(link, ring(bytes, bytes, 1), slice / 8, &p->unpipelined_ns, &p->unpipelined);
    if (!bad)
        bad = measure_copy(link, ring(bytes, XFP_STAGED_BUFFER_BYTES, XFP_STAGED_BUFFERS),
                           slice / 8, &p->pipelined_ns, &p->pipelined);
    if (!bad && takes_devices(link))
        bad = measure_copy(link, direct, slice / 8, &p->direct_ns, &p->direct);
    if (!bad)
        bad = measure_grid(link, cells, *count, slice / 2 / (double)*count, p);
    return bad ? bad : check_chosen(link, p);
}

static int keep_staged(struct xfp_net_run *run, const struct xfp_net_staged *staged)
{
    struct xfp_network *network = xfp_net_of(run->session.profile);
    struct xfp_net_staged copy = *staged;

    copy.name = strdup(staged->name);
    copy.points = calloc(staged->point_count + 1, sizeof(*copy.points));
    copy.cells = calloc(staged->cell_count + 1, sizeof(*copy.cells));
    if (!network || !copy.name || !copy.points || !copy.cells)
        return xfp_fail(&run->session.sys, "out of memory");
    memcpy(copy.points, staged->points, staged->point_count * sizeof(*copy.points));
    memcpy(copy.cells, staged->cells, staged->cell_count * sizeof(*copy.cells));
    copy.hybrid_bytes = xfp_net_hybrid_bytes(copy.points, copy.point_count);
    if (xfp_net_add_staged(network, &copy))
        return xfp_fail(&run->session.sys, "out of memory");
    xfp_net_keep(run);
    return 0;
}

static size_t staged_sizes(const struct xfp_net_run *run, uint64_t *sizes)
{
    size_t count = xfp_sweep_sizes(run->session.options, sizes, MOST_SIZES), kept = 0;

    for (size_t i = 0; i < count; i++)
        if (sizes[i] >= LEAST_STAGED_BYTES)
            sizes[kept++] = sizes[i];
    return kept;
}

static bool is_whole(const struct xfp_net_staged_point *p)
{
    return p->unpipelined_ns > 0 && p->pipelined_ns > 0 && p->adaptive_ns > 0;
}

/* What the fewest copies of that size take, in every way. */
static double fewest_ns(const struct xfp_net_run *run, const struct xfp_net_staged_point *last,
                        uint64_t bytes)
{
    struct xfp_staged_cell cells[XFP_MOST_CELLS];
    size_t ways = xfp_list_rings(run->session.options->quick, bytes, cells) + 3;

    return last->adaptive_ns * (double)bytes / (double)last->bytes * FEWEST * (double)ways;
}

static int sweep_staged(struct xfp_net_link *link)
{
    struct xfp_net_run *run = link->run;
    uint64_t sizes[MOST_SIZES];
    size_t count = staged_sizes(run, sizes), cells;
    struct xfp_net_staged_point points[MOST_SIZES];
    struct xfp_staged_cell *grid = calloc(MOST_SIZES * XFP_MOST_CELLS, sizeof(*grid));
    char name[XFP_NAME_TEXT];
    struct xfp_net_staged staged = {.name = name,
                                    .from = run->rank,
                                    .to = link->peer,
                                    .loaded = run->loaded,
                                    .points = points,
                                    .cells = grid};
    int bad = grid ? 0 : xfp_fail(&run->session.sys, "out of memory");

    name_of(name, sizeof(name), run, "staged", link->peer);
    begin_part(run, for_staged);
    for (size_t i = 0; i < count && !bad; i++) {
        struct xfp_net_staged_point *p = &points[staged.point_count];
        double left = left_ns(run);

        if (i && is_too_long(run, fewest_ns(run, &p[-1], sizes[i]))) {
            warn_of_end(run, name, sizes[i]);
            break;
        }
        bad = measure_staged(link, sizes[i], left * 0.9 / (double)(count - i),
                             &grid[staged.cell_count], &cells, p);
        if (bad || !is_whole(p))
            break;
        staged.point_count++;
        staged.cell_count += cells;
        bad = keep_staged(run, &staged);
    }
    free(grid);
    return bad;
}

/* ---- a pair ---------------------------------------------------------------------------------- */

static bool have_gpus(const struct xfp_net_link *link)
{
    const struct xfp_net_run *run = link->run;

    return run->hellos[run->rank].gpu >= 0 && run->hellos[link->peer].gpu >= 0;
}

static int lead_gpus(struct xfp_net_link *link)
{
    struct xfp_net_order order = {.what = XFP_NET_OPEN};
    uint64_t sizes[MOST_SIZES];
    size_t count = staged_sizes(link->run, sizes);
    int bad;

    if (!have_gpus(link) || !count)
        return 0;
    order.bytes = sizes[count - 1];
    bad = xfp_net_lead(link, &order, NULL);
    if (!bad)
        bad = sweep_staged(link);
    order.what = XFP_NET_CLOSE;
    xfp_net_lead(link, &order, NULL);
    return bad;
}

/* Figures of one part are worth keeping although another part failed. */
static void judge(struct xfp_net_run *run, int peer, int bad)
{
    char who[XFP_NET_WHO_BYTES], what[XFP_NET_WHO_BYTES + 260];

    if (!bad)
        return;
    snprintf(what, sizeof(what), "with %s: %s", xfp_net_who(run, peer, who),
             run->session.sys.error);
    xfp_warn(&run->session.sys, "%s", what);
    xfp_net_say("%s", what);
    run->failed++;
}

static void lead(struct xfp_net_link *link, bool first)
{
    struct xfp_net_run *run = link->run;
    int bad = sweep(link, XFP_NET_PING, for_ping) || sweep(link, XFP_NET_STREAM, for_stream);

    fit(run, link->peer);
    if (!bad && first) /* the same from either end */
        bad = sweep(link, XFP_NET_BOTH, for_both);
    judge(run, link->peer, bad);
    judge(run, link->peer, lead_gpus(link));
    xfp_net_end_orders(link);
    xfp_net_end_lead(run);
}

void xfp_net_measure_pair(struct xfp_net_run *run, const struct xfp_net_pair *pair)
{
    bool first = run->rank == pair->a;
    struct xfp_net_link link = {.run = run, .peer = first ? pair->b : pair->a};

    if (first)
        lead(&link, true);
    xfp_net_follow(&link);
    if (!first)
        lead(&link, false);
}
