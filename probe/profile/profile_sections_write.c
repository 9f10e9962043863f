#include "probe/profile/profile_sections.h"

#include <math.h>
#include <stdlib.h>

#include "probe/profile/profile_json.h"

static json_t *place(const struct xfp_place *p)
{
    return json_pack("{ss si si}", "memory", xft_memory_word(p->memory), "device", p->device,
                     "numa", p->numa);
}

static json_t *known(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* json_pack takes ownership of its arguments, also on failure: a NULL argument is a failure. */
static json_t *append(json_t *array, json_t *value)
{
    if (array && !json_array_append_new(array, value))
        return array;
    json_decref(array);
    return NULL;
}

/* Adds a time, if it is known. */
static json_t *with_time(json_t *object, const char *key, double ns)
{
    if (!object || !(ns > 0) || !json_object_set_new(object, key, json_real(ns)))
        return object;
    json_decref(object);
    return NULL;
}

/* Adds the statistics to the object, if they are known. On failure frees it and returns NULL. */
static json_t *with_spread(json_t *object, const struct xfp_spread *s)
{
    json_t *more = NULL;

    if (!object || !s->n)
        return object;
    more = json_pack("{sI sf sf sf sf}", "n", (json_int_t)s->n, "min_ns", s->min_ns, "max_ns",
                     s->max_ns, "ci_low_ns", s->ci_low_ns, "ci_high_ns", s->ci_high_ns);
    if (!more || json_object_update(object, more)) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return object;
}

/* The same under a key of its own. */
static json_t *with_spread_of(json_t *object, const char *key, const struct xfp_spread *s)
{
    if (!object || !s->n || !json_object_set_new(object, key, with_spread(json_object(), s)))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *pack_concurrent(const struct xfp_concurrent *c)
{
    json_t *flows = json_array(), *points = json_array();

    for (size_t i = 0; i < c->flow_count; i++)
        flows = append(flows, json_pack("{ss so so}", "direction",
                                        xft_direction_word(c->flows[i].direction), "src",
                                        place(&c->flows[i].src), "dst", place(&c->flows[i].dst)));
    for (size_t i = 0; i < c->point_count; i++) {
        const struct xfp_point *p = &c->points[i];

        points = append(points, json_pack("{sI sI sf sf sf sf sf}", "bytes", (json_int_t)p->bytes,
                                          "n", (json_int_t)p->n, "median_ns", p->median_ns,
                                          "min_ns", p->min_ns, "max_ns", p->max_ns, "ci_low_ns",
                                          p->ci_low_ns, "ci_high_ns", p->ci_high_ns));
    }
    return json_pack("{ss so so}", "name", c->name, "flows", flows, "points", points);
}

static json_t *pack_streams(const struct xfp_streams *c)
{
    const struct xfp_fit *fit = &c->fit;
    json_t *points = json_array();

    for (size_t i = 0; i < c->point_count; i++) {
        const struct xfp_stream_point *p = &c->points[i];

        json_t *point =
            json_pack("{sI sI sI sf sf sf}", "bytes", (json_int_t)p->bytes, "streams",
                      (json_int_t)p->streams, "n", (json_int_t)p->n, "median_ns", p->median_ns,
                      "ci_low_ns", p->ci_low_ns, "ci_high_ns", p->ci_high_ns);

        point = with_time(point, "min_ns", p->min_ns);
        points = append(points, with_time(point, "max_ns", p->max_ns));
    }
    return json_pack("{ss ss so so s{sf so sf sf} so}", "name", c->name, "direction",
                     xft_direction_word(c->direction), "src", place(&c->src), "dst", place(&c->dst),
                     "fit", "Lo_ns", fit->Lo_ns, "g_ns", known(fit->g_ns), "G_ns_per_byte",
                     fit->G_ns_per_byte, "max_error", fit->max_error, "points", points);
}

static json_t *pack_staged_point(const struct xfp_staged_point *p)
{
    json_t *point =
        json_pack("{sI sf sf sf sf sI sI sI}", "bytes", (json_int_t)p->bytes, "peer_ns", p->peer_ns,
                  "unpipelined_ns", p->unpipelined_ns, "pipelined_ns", p->pipelined_ns,
                  "adaptive_ns", p->adaptive_ns, "buffers", (json_int_t)p->buffers, "buffer_bytes",
                  (json_int_t)p->buffer_bytes, "streams", (json_int_t)p->streams);

    point = with_spread_of(point, "peer", &p->peer);
    point = with_spread_of(point, "unpipelined", &p->unpipelined);
    point = with_spread_of(point, "pipelined", &p->pipelined);
    return with_spread_of(point, "adaptive", &p->adaptive);
}

static json_t *pack_cell(const struct xfp_staged_cell *cell)
{
    json_t *object = json_pack("{sI sI sI sf}", "bytes", (json_int_t)cell->bytes, "buffers",
                               (json_int_t)cell->buffers, "buffer_bytes",
                               (json_int_t)cell->buffer_bytes, "median_ns", cell->median_ns);

    return with_spread(object, &cell->spread);
}

static json_t *pack_staged(const struct xfp_staged *c)
{
    json_t *points = json_array(), *cells = json_array();

    for (size_t i = 0; i < c->point_count; i++)
        points = append(points, pack_staged_point(&c->points[i]));
    for (size_t i = 0; i < c->cell_count; i++)
        cells = append(cells, pack_cell(&c->cells[i]));
    return json_pack("{ss si si sI so so}", "name", c->name, "src_device", c->src_device,
                     "dst_device", c->dst_device, "hybrid_bytes", (json_int_t)c->hybrid_bytes,
                     "points", points, "cells", cells);
}

static json_t *pack_overlap(const struct xfp_overlap *c)
{
    json_t *object = json_pack("{ss si si sb si sI sf sf sf}", "name", c->name, "device", c->device,
                               "copy_engines", c->copy_engines, "implicit_sync", c->implicit_sync,
                               "category", c->category, "bytes", (json_int_t)c->bytes, "h2d_ns",
                               c->h2d_ns, "d2h_ns", c->d2h_ns, "both_ns", c->both_ns);

    object = with_spread_of(object, "h2d", &c->h2d);
    object = with_spread_of(object, "d2h", &c->d2h);
    return with_spread_of(object, "both", &c->both);
}

/* `"key": [` before the first item; a line per item, as jansson orders its keys. */
static int put(FILE *out, const char *key, size_t i, size_t count, json_t *item)
{
    char *text = item ? json_dumps(item, JSON_REAL_PRECISION(10)) : NULL;
    int written = -1;

    if (text && !i)
        fprintf(out, " \"%s\": [\n", key);
    if (text)
        written = fprintf(out, "  %s%s\n", text, i + 1 < count ? "," : "\n ],");
    free(text);
    json_decref(item);
    return written < 0 ? -1 : 0;
}

int xfp_write_sections(const struct xfp_profile *p, FILE *out)
{
    int bad = 0;

    for (size_t i = 0; i < p->concurrent_count; i++)
        bad |= put(out, "concurrent", i, p->concurrent_count, pack_concurrent(&p->concurrent[i]));
    for (size_t i = 0; i < p->streams_count; i++)
        bad |= put(out, "streams", i, p->streams_count, pack_streams(&p->streams[i]));
    for (size_t i = 0; i < p->staged_count; i++)
        bad |= put(out, "staged", i, p->staged_count, pack_staged(&p->staged[i]));
    for (size_t i = 0; i < p->overlap_count; i++)
        bad |= put(out, "overlap", i, p->overlap_count, pack_overlap(&p->overlap[i]));
    return bad;
}
