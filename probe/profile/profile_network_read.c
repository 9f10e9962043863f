#include "probe/profile/profile_network_json.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "probe/profile/profile_json.h"

struct word {
    unsigned number;
    const char *word;
};
#define WORD(symbol, number, word) {number, word},
static const struct word shapes[] = {XFP_NET_SHAPE_LIST(WORD)},
                         directs[] = {XFP_NET_DIRECT_LIST(WORD)};
#undef WORD

static void at(struct xfp_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where the reader is from now on. */
static void at(struct xfp_reader *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->where, sizeof(r->where), format, args);
    va_end(args);
}

static unsigned read_word(struct xfp_reader *r, const json_t *object, const char *key,
                          const struct word *words, size_t count)
{
    const char *text = json_string_value(json_object_get(object, key));

    for (size_t i = 0; text && i < count; i++)
        if (!strcmp(text, words[i].word))
            return words[i].number;
    xfp_refuse(r, key, text ? "not a word this version knows" : "must be a string");
    return 0;
}

static int read_rank(struct xfp_reader *r, const json_t *object, const char *key)
{
    int64_t rank = xfp_read_integer(r, object, key, 0, XFP_MAX_RANKS - 1, -1);

    if (rank < 0)
        xfp_refuse(r, key, "missing");
    return (int)rank;
}

/* The entries of an array of objects; what each is goes to `take`. */
typedef void take_entry(struct xfp_reader *r, const json_t *object, void *item);

static void *read_list(struct xfp_reader *r, const json_t *object, const char *key, size_t most,
                       size_t item_bytes, size_t *count, take_entry *take)
{
    const json_t *array = xfp_read_array(r, object, key, most);
    size_t entries = json_array_size(array);
    char *items = xfp_new_items(r, entries, item_bytes);
    char where[sizeof(r->where)];

    memcpy(where, r->where, sizeof(where));
    for (size_t i = 0; items && i < entries && !r->failed; i++) {
        const json_t *entry = json_array_get(array, i);

        at(r, "%.80s.%s[%zu]", where, key, i);
        *count = i + 1;
        if (json_is_object(entry))
            take(r, entry, items + i * item_bytes);
        else
            xfp_refuse(r, "", "must be an object");
    }
    if (!r->failed)
        memcpy(r->where, where, sizeof(where));
    return items;
}

static void take_interface(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_interface *interface = item;

    interface->name = xfp_read_text(r, object, "name");
    interface->driver = xfp_read_text(r, object, "driver");
    interface->mbps = (uint64_t)xfp_read_integer(r, object, "mbps", 0, INT64_MAX, 0);
    interface->mtu = (int)xfp_read_integer(r, object, "mtu", 0, INT32_MAX, 0);
}

static void take_rank(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_rank *rank = item;

    rank->hostname = xfp_read_text(r, object, "hostname");
    rank->machine_id = xfp_read_text(r, object, "machine_id");
    rank->gpu = (int)xfp_read_integer(r, object, "gpu", -1, XFP_MAX_GPUS - 1, -1);
    rank->gpu_name = xfp_read_text(r, object, "gpu_name");
    rank->gpu_uuid = xfp_read_text(r, object, "gpu_uuid");
    rank->driver_version = (int)xfp_read_integer(r, object, "driver_version", 0, INT32_MAX, 0);
    rank->simulated = xfp_read_bool(r, object, "simulated", false);
    if (json_object_get(object, "direct"))
        rank->direct = (enum xfp_net_direct)read_word(r, object, "direct", directs,
                                                      sizeof(directs) / sizeof(directs[0]));
    rank->interfaces = read_list(r, object, "interfaces", XFP_MAX_INTERFACES,
                                 sizeof(*rank->interfaces), &rank->interface_count, take_interface);
}

/* Times around a median: they must surround it. The median is needed, the others default to it. */
static void read_times(struct xfp_reader *r, const json_t *object, double median,
                       struct xfp_point *p)
{
    p->n = (uint32_t)xfp_read_integer(r, object, "n", 1, UINT32_MAX, 1);
    p->median_ns = median;
    p->min_ns = xfp_read_positive(r, object, "min_ns", median);
    p->max_ns = xfp_read_positive(r, object, "max_ns", median);
    p->ci_low_ns = xfp_read_positive(r, object, "ci_low_ns", median);
    p->ci_high_ns = xfp_read_positive(r, object, "ci_high_ns", median);
    if (!(p->min_ns <= median && p->max_ns >= median && p->ci_low_ns <= median &&
          p->ci_high_ns >= median))
        xfp_refuse(r, "median_ns", "not within its limits");
}

static double read_time(struct xfp_reader *r, const json_t *object, const char *key)
{
    double ns = xfp_read_positive(r, object, key, 0);

    if (!(ns > 0))
        xfp_refuse(r, key, "must be there and above 0");
    return ns;
}

static uint64_t read_size(struct xfp_reader *r, const json_t *object)
{
    uint64_t bytes = (uint64_t)xfp_read_integer(r, object, "bytes", 1, INT64_MAX, 0);

    if (!bytes)
        xfp_refuse(r, "bytes", "missing");
    return bytes;
}

static void take_point(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_point *p = item;

    p->bytes = read_size(r, object);
    read_times(r, object, read_time(r, object, "median_ns"), p);
}

static void check_ascent(struct xfp_reader *r, const struct xfp_point *points, size_t count)
{
    for (size_t i = 1; i < count && !r->failed; i++)
        if (points[i].bytes <= points[i - 1].bytes)
            xfp_refuse(r, "points", "sizes must ascend");
}

static void take_windows(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_windows *w = item;
    const json_t *array = xfp_read_array(r, object, "windows_ns", XFP_MAX_WINDOWS);
    size_t count = json_array_size(array);

    w->messages = (uint32_t)xfp_read_integer(r, object, "window", 0, UINT32_MAX, 0);
    w->ns = count ? xfp_new_items(r, count, sizeof(*w->ns)) : NULL;
    for (; w->ns && w->count < count && !r->failed; w->count++) {
        double ns = json_number_value(json_array_get(array, w->count));

        if (!(isfinite(ns) && ns > 0 && ns <= 1e18))
            xfp_refuse(r, "windows_ns", "not times above 0");
        w->ns[w->count] = ns;
    }
}

enum { MOST_NODE = 4095 };

static void take_path(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_path *path = item;
    size_t windows = 0;

    path->name = xfp_copy_text(r, "name", json_object_get(object, "name"));
    path->shape = (enum xfp_net_shape)read_word(r, object, "shape", shapes,
                                                sizeof(shapes) / sizeof(shapes[0]));
    path->from = read_rank(r, object, "from");
    path->to = read_rank(r, object, "to");
    path->loaded = xfp_read_bool(r, object, "loaded", false);
    path->bound = json_object_get(object, "from_node") || json_object_get(object, "to_node");
    path->from_node = (int)xfp_read_integer(r, object, "from_node", -1, MOST_NODE, -1);
    path->to_node = (int)xfp_read_integer(r, object, "to_node", -1, MOST_NODE, -1);
    path->interface = xfp_read_text(r, object, "interface");
    xfp_read_fit(r, object, &path->fit);
    path->points = read_list(r, object, "points", XFP_MAX_POINTS, sizeof(*path->points),
                             &path->point_count, take_point);
    if (r->failed)
        path->point_count = 0; /* not as many windows */
    else
        path->windows = read_list(r, object, "points", XFP_MAX_POINTS, sizeof(*path->windows),
                                  &windows, take_windows);
    check_ascent(r, path->points, path->point_count);
}

/* The statistics beside a time, under the time's name. */
static void read_spread(struct xfp_reader *r, const json_t *object, const char *key, double median,
                        struct xfp_spread *spread)
{
    const json_t *inner = json_object_get(object, key);
    struct xfp_point p = {0};

    if (!json_is_object(inner) || !(median > 0))
        return;
    read_times(r, inner, median, &p);
    *spread = (struct xfp_spread){p.n, p.min_ns, p.max_ns, p.ci_low_ns, p.ci_high_ns};
}

static void read_ring(struct xfp_reader *r, const json_t *object, uint32_t *buffers,
                      uint64_t *buffer_bytes)
{
    *buffers = (uint32_t)xfp_read_integer(r, object, "buffers", 1, 1 << 20, 0);
    *buffer_bytes = (uint64_t)xfp_read_integer(r, object, "buffer_bytes", 1, INT64_MAX, 0);
    if (!*buffers || !*buffer_bytes)
        xfp_refuse(r, "buffers", "needs buffers and buffer_bytes");
}

static void take_staged_point(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_staged_point *p = item;

    p->bytes = read_size(r, object);
    p->unpipelined_ns = read_time(r, object, "unpipelined_ns");
    p->pipelined_ns = read_time(r, object, "pipelined_ns");
    p->adaptive_ns = read_time(r, object, "adaptive_ns");
    p->posted_ns = xfp_read_positive(r, object, "posted_ns", 0);
    p->direct_ns = xfp_read_positive(r, object, "direct_ns", 0);
    read_ring(r, object, &p->buffers, &p->buffer_bytes);
    read_spread(r, object, "unpipelined", p->unpipelined_ns, &p->unpipelined);
    read_spread(r, object, "pipelined", p->pipelined_ns, &p->pipelined);
    read_spread(r, object, "adaptive", p->adaptive_ns, &p->adaptive);
    read_spread(r, object, "posted", p->posted_ns, &p->posted);
    read_spread(r, object, "direct", p->direct_ns, &p->direct);
}

static void take_cell(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_staged_cell *cell = item;
    struct xfp_point p = {0};

    cell->bytes = read_size(r, object);
    cell->median_ns = read_time(r, object, "median_ns");
    read_ring(r, object, &cell->buffers, &cell->buffer_bytes);
    read_times(r, object, cell->median_ns, &p);
    cell->spread = (struct xfp_spread){p.n, p.min_ns, p.max_ns, p.ci_low_ns, p.ci_high_ns};
}

static void take_first_use(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_first_use *f = item;

    f->bytes = read_size(r, object);
    f->ns = xfp_read_positive(r, object, "ns", 0);
    f->rounds = (uint32_t)xfp_read_integer(r, object, "rounds", 0, UINT32_MAX, 0);
}

static void take_staged(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_staged *s = item;

    s->name = xfp_copy_text(r, "name", json_object_get(object, "name"));
    s->from = read_rank(r, object, "from");
    s->to = read_rank(r, object, "to");
    s->loaded = xfp_read_bool(r, object, "loaded", false);
    s->hybrid_bytes = (uint64_t)xfp_read_integer(r, object, "hybrid_bytes", 0, INT64_MAX, 0);
    s->points = read_list(r, object, "points", XFP_MAX_POINTS, sizeof(*s->points), &s->point_count,
                          take_staged_point);
    s->cells =
        read_list(r, object, "cells", XFP_MAX_POINTS, sizeof(*s->cells), &s->cell_count, take_cell);
    s->first_uses = read_list(r, object, "first_uses", XFP_MAX_POINTS, sizeof(*s->first_uses),
                              &s->first_use_count, take_first_use);
    for (size_t i = 1; i < s->point_count && !r->failed; i++)
        if (s->points[i].bytes <= s->points[i - 1].bytes)
            xfp_refuse(r, "points", "sizes must ascend");
    for (size_t i = 1; i < s->first_use_count && !r->failed; i++)
        if (s->first_uses[i].bytes <= s->first_uses[i - 1].bytes)
            xfp_refuse(r, "first_uses", "sizes must ascend");
}

/* Of a barrier, which moves nothing, bytes are 0. */
static void take_collective_point(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_point *p = item;

    if (!json_object_get(object, "bytes"))
        xfp_refuse(r, "bytes", "missing");
    p->bytes = (uint64_t)xfp_read_integer(r, object, "bytes", 0, INT64_MAX, 0);
    read_times(r, object, read_time(r, object, "median_ns"), p);
}

static void take_collective(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_collective *c = item;

    c->name = xfp_copy_text(r, "name", json_object_get(object, "name"));
    c->bus_per_algbw = xfp_read_positive(r, object, "bus_per_algbw", 1);
    c->ranks = (uint32_t)xfp_read_integer(r, object, "ranks", 0, XFP_MAX_RANKS, 0);
    c->hosts = (uint32_t)xfp_read_integer(r, object, "hosts", 0, XFP_MAX_RANKS, 0);
    c->points = read_list(r, object, "points", XFP_MAX_POINTS, sizeof(*c->points), &c->point_count,
                          take_collective_point);
    check_ascent(r, c->points, c->point_count);
}

static void take_protocol(struct xfp_reader *r, const json_t *object, void *item)
{
    struct xfp_net_protocol *p = item;
    const json_t *last = json_object_get(object, "last_bytes");

    p->messages = xfp_read_text(r, object, "messages");
    p->protocol = xfp_read_text(r, object, "protocol");
    p->transport = xfp_read_text(r, object, "transport");
    p->first_bytes = (uint64_t)xfp_read_integer(r, object, "first_bytes", 0, INT64_MAX, 0);
    p->last_bytes = !last || json_is_null(last)
                        ? UINT64_MAX
                        : (uint64_t)xfp_read_integer(r, object, "last_bytes", 0, INT64_MAX, 0);
    if (p->last_bytes < p->first_bytes)
        xfp_refuse(r, "last_bytes", "is below first_bytes");
}

/* Names are unique over all of it. */
static void see_names(struct xfp_reader *r, const json_t *object)
{
    static const char *const lists[] = {"paths", "staged", "collectives"};
    json_t *seen = json_object(), *entry;
    size_t at_entry;

    for (int i = 0; i < 3; i++)
        json_array_foreach(json_object_get(object, lists[i]), at_entry, entry)
        {
            const char *name = json_string_value(json_object_get(entry, "name"));

            if (name && json_object_get(seen, name))
                xfp_refuse(r, lists[i], "a name that is there twice");
            if (name && json_object_set_new(seen, name, json_true()))
                xfp_refuse(r, lists[i], "out of memory");
        }
    json_decref(seen);
}

void xfp_read_network(struct xfp_reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *object = json_object_get(root, "network");
    struct xfp_network *n;

    if (r->failed || !object || json_is_null(object))
        return;
    at(r, "network");
    if (!json_is_object(object)) {
        xfp_refuse(r, "", "must be an object");
        return;
    }
    n = xfp_net_of(profile);
    if (!n) {
        xfp_refuse(r, "", "out of memory");
        return;
    }
    n->mpi = xfp_read_text(r, object, "mpi");
    n->ucx = xfp_read_text(r, object, "ucx");
    n->nccl = xfp_read_text(r, object, "nccl");
    n->ranks =
        read_list(r, object, "ranks", XFP_MAX_RANKS, sizeof(*n->ranks), &n->rank_count, take_rank);
    n->paths =
        read_list(r, object, "paths", XFP_MAX_PATHS, sizeof(*n->paths), &n->path_count, take_path);
    n->staged = read_list(r, object, "staged", XFP_MAX_PATHS, sizeof(*n->staged), &n->staged_count,
                          take_staged);
    n->collectives = read_list(r, object, "collectives", XFP_MAX_PATHS, sizeof(*n->collectives),
                               &n->collective_count, take_collective);
    n->protocols = read_list(r, object, "protocols", XFP_MAX_PATHS, sizeof(*n->protocols),
                             &n->protocol_count, take_protocol);
    see_names(r, object);
    at(r, "%s", "");
}
