#include "probe/profile/profile_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/profile/profile_json.h"

/* Where the reader is, for its line on what is wrong. */
struct place {
    const char *file, *section;
    size_t index;
    char *error;
    size_t error_bytes;
};

static int fail(struct place *at, const char *what)
{
    snprintf(at->error, at->error_bytes, "%s: %s[%zu]: %s", at->file, at->section, at->index, what);
    return -1;
}

/* json_unpack_ex() of an object; what jansson says is made of key and type names. */
#define UNPACK(at, object, ...)                                                                    \
    (json_unpack_ex((json_t *)(uintptr_t)(object), &why, 0, __VA_ARGS__) ? fail(at, why.text) : 0)

static bool is_time(double ns)
{
    return isfinite(ns) && ns > 0 && ns <= 1e18;
}

static bool is_ordinal(int n)
{
    return n >= -1 && n < 4096;
}

static char *copy_name(struct place *at, const char *text)
{
    char *name = NULL;

    if (strlen(text) > XFP_MAX_TEXT)
        fail(at, "name: too long");
    else if (!(name = strdup(text)))
        fail(at, "out of memory");
    for (const char *c = name; c && *c; c++)
        if (*c < 0x20 || *c > 0x7e) {
            free(name);
            return fail(at, "name: must be printable ASCII"), NULL;
        }
    return name;
}

static unsigned direction_of(const char *word)
{
    for (unsigned i = 1; i < XFT_DIRECTION_COUNT; i++)
        if (!strcmp(word, xft_direction_word(i)))
            return i;
    return 0;
}

static unsigned memory_of(const char *word)
{
    for (unsigned i = 1; i < XFT_MEMORY_COUNT; i++)
        if (!strcmp(word, xft_memory_word(i)))
            return i;
    return 0;
}

static int read_end(struct place *at, const json_t *object, struct xfp_place *end)
{
    const char *memory;
    json_error_t why;

    end->device = end->numa = -1;
    if (UNPACK(at, object, "{s:s, s?i, s?i}", "memory", &memory, "device", &end->device, "numa",
               &end->numa))
        return -1;
    end->memory = (enum xft_memory)memory_of(memory);
    if (!end->memory || !is_ordinal(end->device) || !is_ordinal(end->numa))
        return fail(at, "not a place");
    return 0;
}

/* direction, src and dst of an object. */
static int read_way(struct place *at, const json_t *object, struct xfp_flow *way)
{
    json_t *src, *dst;
    const char *direction;
    json_error_t why;

    if (UNPACK(at, object, "{s:s, s:o, s:o}", "direction", &direction, "src", &src, "dst", &dst))
        return -1;
    way->direction = (enum xft_direction)direction_of(direction);
    if (!way->direction)
        return fail(at, "direction: not a word this version knows");
    return read_end(at, src, &way->src) || read_end(at, dst, &way->dst) ? -1 : 0;
}

/* Room for an array's entries; -1 when it is none, or has more than `most`. */
static int make_room(struct place *at, const json_t *array, size_t most, size_t bytes, void **items)
{
    if (!json_is_array(array) || json_array_size(array) > most)
        return fail(at, json_is_array(array) ? "too many entries" : "must be an array");
    *items = calloc(json_array_size(array) + 1, bytes);
    return *items ? 0 : fail(at, "out of memory");
}

/* The spread around the median; the median itself if it is missing. */
static int read_limits(struct place *at, const json_t *object, json_int_t n, double median_ns,
                       struct xfp_point *p)
{
    json_error_t why;

    p->median_ns = median_ns;
    p->min_ns = p->max_ns = p->ci_low_ns = p->ci_high_ns = p->median_ns;
    if (UNPACK(at, object, "{s?F, s?F, s?F, s?F}", "min_ns", &p->min_ns, "max_ns", &p->max_ns,
               "ci_low_ns", &p->ci_low_ns, "ci_high_ns", &p->ci_high_ns))
        return -1;
    if (n < 1 || n > UINT32_MAX || !is_time(median_ns))
        return fail(at, "n and median_ns must be above 0");
    if (!(p->ci_low_ns > 0 && p->ci_low_ns <= p->median_ns && p->ci_high_ns >= p->median_ns &&
          is_time(p->ci_high_ns) && p->min_ns > 0 && p->min_ns <= p->median_ns &&
          p->max_ns >= p->median_ns && is_time(p->max_ns)))
        return fail(at, "median_ns is not within its limits");
    p->n = (uint32_t)n;
    return 0;
}

static int read_point(struct place *at, const json_t *object, struct xfp_point *p)
{
    json_int_t bytes, n = 1;
    double median;
    json_error_t why;

    if (UNPACK(at, object, "{s:I, s?I, s:F}", "bytes", &bytes, "n", &n, "median_ns", &median))
        return -1;
    if (bytes < 1)
        return fail(at, "bytes must be above 0");
    p->bytes = (uint64_t)bytes;
    return read_limits(at, object, n, median, p);
}

/* Reads the statistics whose median stands beside the object. Without the object, or its n, they
 * are unknown. */
static int read_spread(struct place *at, const json_t *object, double median_ns,
                       struct xfp_spread *spread)
{
    struct xfp_point p = {0};
    json_int_t n = 0;
    json_error_t why;

    if (!object || json_is_null(object))
        return 0;
    if (UNPACK(at, object, "{s?I}", "n", &n))
        return -1;
    if (!json_object_get(object, "n"))
        return 0;
    if (read_limits(at, object, n, median_ns, &p))
        return -1;
    *spread = xfp_spread_of(&p);
    return 0;
}

static int read_concurrent(struct place *at, const json_t *object, struct xfp_profile *profile)
{
    struct xfp_concurrent *c = &profile->concurrent[profile->concurrent_count++];
    json_t *flows, *points;
    const char *name;
    json_error_t why;

    if (UNPACK(at, object, "{s:s, s:o, s:o}", "name", &name, "flows", &flows, "points", &points) ||
        !(c->name = copy_name(at, name)) ||
        make_room(at, flows, XFP_MAX_POINTS, sizeof(*c->flows), (void **)&c->flows) ||
        make_room(at, points, XFP_MAX_POINTS, sizeof(*c->points), (void **)&c->points))
        return -1;
    for (; c->flow_count < json_array_size(flows); c->flow_count++)
        if (read_way(at, json_array_get(flows, c->flow_count), &c->flows[c->flow_count]))
            return -1;
    for (; c->point_count < json_array_size(points); c->point_count++) {
        struct xfp_point *p = &c->points[c->point_count];

        if (read_point(at, json_array_get(points, c->point_count), p))
            return -1;
        if (c->point_count && p->bytes <= p[-1].bytes)
            return fail(at, "sizes must ascend");
    }
    return 0;
}

static int read_stream_fit(struct place *at, const json_t *object, struct xfp_fit *fit)
{
    json_t *gap = NULL;
    json_error_t why;

    if (UNPACK(at, object, "{s:F, s?o, s:F, s:F}", "Lo_ns", &fit->Lo_ns, "g_ns", &gap,
               "G_ns_per_byte", &fit->G_ns_per_byte, "max_error", &fit->max_error))
        return -1;
    fit->g_ns = json_is_number(gap) ? json_number_value(gap) : NAN;
    fit->valid = fit->Lo_ns >= 0 && is_time(fit->Lo_ns + 1) && is_time(fit->G_ns_per_byte) &&
                 fit->max_error >= 0 && isfinite(fit->max_error) && !(fit->g_ns < 0);
    return fit->valid ? 0 : fail(at, "fit: not times above 0");
}

static int read_stream_point(struct place *at, const json_t *object, struct xfp_stream_point *p)
{
    json_int_t streams = 0;
    struct xfp_point common = {0};
    json_error_t why;

    if (UNPACK(at, object, "{s:I}", "streams", &streams) || read_point(at, object, &common))
        return -1;
    if (streams < 1 || streams > UINT32_MAX)
        return fail(at, "streams: must be above 0");
    *p = (struct xfp_stream_point){.bytes = common.bytes,
                                   .streams = (uint32_t)streams,
                                   .n = common.n,
                                   .median_ns = common.median_ns,
                                   .ci_low_ns = common.ci_low_ns,
                                   .ci_high_ns = common.ci_high_ns};
    if (json_object_get(object, "min_ns"))
        p->min_ns = common.min_ns;
    if (json_object_get(object, "max_ns"))
        p->max_ns = common.max_ns;
    return 0;
}

static int read_streams(struct place *at, const json_t *object, struct xfp_profile *profile)
{
    struct xfp_streams *c = &profile->streams[profile->streams_count++];
    struct xfp_flow way;
    json_t *fit, *points;
    const char *name;
    json_error_t why;

    if (UNPACK(at, object, "{s:s, s:o, s:o}", "name", &name, "fit", &fit, "points", &points) ||
        !(c->name = copy_name(at, name)) || read_way(at, object, &way) ||
        read_stream_fit(at, fit, &c->fit) ||
        make_room(at, points, XFP_MAX_POINTS, sizeof(*c->points), (void **)&c->points))
        return -1;
    c->direction = way.direction;
    c->src = way.src;
    c->dst = way.dst;
    for (; c->point_count < json_array_size(points); c->point_count++)
        if (read_stream_point(at, json_array_get(points, c->point_count),
                              &c->points[c->point_count]))
            return -1;
    return 0;
}

static int read_staged_spreads(struct place *at, const json_t *object, struct xfp_staged_point *p)
{
    return read_spread(at, json_object_get(object, "peer"), p->peer_ns, &p->peer) ||
                   read_spread(at, json_object_get(object, "unpipelined"), p->unpipelined_ns,
                               &p->unpipelined) ||
                   read_spread(at, json_object_get(object, "pipelined"), p->pipelined_ns,
                               &p->pipelined) ||
                   read_spread(at, json_object_get(object, "adaptive"), p->adaptive_ns,
                               &p->adaptive)
               ? -1
               : 0;
}

static int read_staged_point(struct place *at, const json_t *object, struct xfp_staged_point *p)
{
    json_int_t bytes, buffers, size, streams = 1;
    json_error_t why;

    if (UNPACK(at, object, "{s:I, s:F, s:F, s:F, s:F, s:I, s:I, s?I}", "bytes", &bytes, "peer_ns",
               &p->peer_ns, "unpipelined_ns", &p->unpipelined_ns, "pipelined_ns", &p->pipelined_ns,
               "adaptive_ns", &p->adaptive_ns, "buffers", &buffers, "buffer_bytes", &size,
               "streams", &streams))
        return -1;
    if (bytes < 1 || size < 1 || buffers < 1 || buffers > 4096 || streams < 1 || streams > 2)
        return fail(at, "sizes and numbers must be above 0");
    if (!is_time(p->peer_ns) || !is_time(p->unpipelined_ns) || !is_time(p->pipelined_ns) ||
        !is_time(p->adaptive_ns))
        return fail(at, "times must be above 0");
    p->bytes = (uint64_t)bytes;
    p->buffer_bytes = (uint64_t)size;
    p->buffers = (uint32_t)buffers;
    p->streams = (uint32_t)streams;
    return read_staged_spreads(at, object, p);
}

static int read_cell(struct place *at, const json_t *object, struct xfp_staged_cell *cell)
{
    json_int_t bytes, buffers, size;
    json_error_t why;

    if (UNPACK(at, object, "{s:I, s:I, s:I, s:F}", "bytes", &bytes, "buffers", &buffers,
               "buffer_bytes", &size, "median_ns", &cell->median_ns))
        return -1;
    if (bytes < 1 || size < 1 || buffers < 1 || buffers > 4096 || !is_time(cell->median_ns))
        return fail(at, "sizes, numbers and times must be above 0");
    cell->bytes = (uint64_t)bytes;
    cell->buffer_bytes = (uint64_t)size;
    cell->buffers = (uint32_t)buffers;
    return read_spread(at, object, cell->median_ns, &cell->spread);
}

static int read_staged(struct place *at, const json_t *object, struct xfp_profile *profile)
{
    struct xfp_staged *c = &profile->staged[profile->staged_count++];
    json_t *points, *cells;
    json_int_t hybrid = 0;
    const char *name;
    json_error_t why;

    if (UNPACK(at, object, "{s:s, s:i, s:i, s?I, s:o, s:o}", "name", &name, "src_device",
               &c->src_device, "dst_device", &c->dst_device, "hybrid_bytes", &hybrid, "points",
               &points, "cells", &cells) ||
        !(c->name = copy_name(at, name)) ||
        make_room(at, points, XFP_MAX_POINTS, sizeof(*c->points), (void **)&c->points) ||
        make_room(at, cells, XFP_MAX_POINTS, sizeof(*c->cells), (void **)&c->cells))
        return -1;
    if (hybrid < 0 || !is_ordinal(c->src_device) || !is_ordinal(c->dst_device))
        return fail(at, "hybrid_bytes or a device is out of range");
    c->hybrid_bytes = (uint64_t)hybrid;
    for (; c->point_count < json_array_size(points); c->point_count++) {
        struct xfp_staged_point *p = &c->points[c->point_count];

        if (read_staged_point(at, json_array_get(points, c->point_count), p))
            return -1;
        if (c->point_count && p->bytes <= p[-1].bytes)
            return fail(at, "sizes must ascend");
    }
    for (; c->cell_count < json_array_size(cells); c->cell_count++)
        if (read_cell(at, json_array_get(cells, c->cell_count), &c->cells[c->cell_count]))
            return -1;
    return 0;
}

static int read_overlap(struct place *at, const json_t *object, struct xfp_profile *profile)
{
    struct xfp_overlap *c = &profile->overlap[profile->overlap_count++];
    json_int_t bytes;
    const char *name;
    json_error_t why;
    int implicit;

    if (UNPACK(at, object, "{s:s, s:i, s:i, s:b, s:i, s:I, s:F, s:F, s:F}", "name", &name, "device",
               &c->device, "copy_engines", &c->copy_engines, "implicit_sync", &implicit, "category",
               &c->category, "bytes", &bytes, "h2d_ns", &c->h2d_ns, "d2h_ns", &c->d2h_ns, "both_ns",
               &c->both_ns) ||
        !(c->name = copy_name(at, name)))
        return -1;
    c->implicit_sync = implicit;
    c->bytes = (uint64_t)bytes;
    if (bytes < 1 || !is_ordinal(c->device) || c->copy_engines < 1 || c->copy_engines > 2 ||
        c->category < 0 || c->category > 3 || !is_time(c->h2d_ns) || !is_time(c->d2h_ns) ||
        !is_time(c->both_ns))
        return fail(at, "a figure is out of range");
    return read_spread(at, json_object_get(object, "h2d"), c->h2d_ns, &c->h2d) ||
                   read_spread(at, json_object_get(object, "d2h"), c->d2h_ns, &c->d2h) ||
                   read_spread(at, json_object_get(object, "both"), c->both_ns, &c->both)
               ? -1
               : 0;
}

/* One section: an array under its key, or nothing. */
static int read_section(struct place *at, const json_t *root, const char *key, size_t bytes,
                        void **items, struct xfp_profile *profile,
                        int (*read)(struct place *, const json_t *, struct xfp_profile *))
{
    const json_t *array = json_object_get(root, key);

    at->section = key;
    at->index = 0;
    if (!array || json_is_null(array))
        return 0;
    if (make_room(at, array, XFP_MAX_POINTS, bytes, items))
        return -1;
    for (; at->index < json_array_size(array); at->index++) {
        const json_t *object = json_array_get(array, at->index);
        const char *name = json_string_value(json_object_get(object, "name"));

        if (name && xfp_has_section(profile, name))
            return fail(at, "a name that is there twice");
        if (read(at, object, profile))
            return -1;
    }
    return 0;
}

int xfp_read_sections(const json_t *root, const char *name, struct xfp_profile *p, char *error,
                      size_t error_bytes)
{
    struct place at = {.file = name, .error = error, .error_bytes = error_bytes};

    return read_section(&at, root, "concurrent", sizeof(*p->concurrent), (void **)&p->concurrent, p,
                        read_concurrent) ||
                   read_section(&at, root, "streams", sizeof(*p->streams), (void **)&p->streams, p,
                                read_streams) ||
                   read_section(&at, root, "staged", sizeof(*p->staged), (void **)&p->staged, p,
                                read_staged) ||
                   read_section(&at, root, "overlap", sizeof(*p->overlap), (void **)&p->overlap, p,
                                read_overlap)
               ? -1
               : 0;
}
