#include "probe/profile/profile_network_json.h"

#include <math.h>
#include <stdlib.h>

/* Begins with a line end and two spaces; jansson orders the keys as they were set. */
static int put(FILE *out, size_t i, json_t *item)
{
    char *text = item ? json_dumps(item, JSON_REAL_PRECISION(10)) : NULL;
    int written = text ? fprintf(out, "%s\n   %s", i ? "," : "", text) : -1;

    free(text);
    json_decref(item);
    return written < 0 ? -1 : 0;
}

static json_t *known(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *set(json_t *object, const char *key, json_t *value)
{
    if (!object || !json_object_set_new(object, key, value))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *append(json_t *array, json_t *value)
{
    if (array && !json_array_append_new(array, value))
        return array;
    json_decref(array);
    return NULL;
}

static const char *text(const char *known_text)
{
    return known_text ? known_text : "";
}

static json_t *with_spread(json_t *object, const struct xfp_spread *s)
{
    object = set(object, "n", json_integer((json_int_t)s->n));
    object = set(object, "min_ns", json_real(s->min_ns));
    object = set(object, "max_ns", json_real(s->max_ns));
    object = set(object, "ci_low_ns", json_real(s->ci_low_ns));
    return set(object, "ci_high_ns", json_real(s->ci_high_ns));
}

static json_t *with_spread_of(json_t *object, const char *key, const struct xfp_spread *s)
{
    return s->n ? set(object, key, with_spread(json_object(), s)) : object;
}

static json_t *pack_point(const struct xfp_point *p)
{
    const struct xfp_spread spread = {p->n, p->min_ns, p->max_ns, p->ci_low_ns, p->ci_high_ns};

    return with_spread(
        json_pack("{sI sf}", "bytes", (json_int_t)p->bytes, "median_ns", p->median_ns), &spread);
}

static json_t *with_windows(json_t *object, const struct xfp_net_windows *w)
{
    json_t *array;

    if (!w->messages)
        return object;
    object = set(object, "window", json_integer((json_int_t)w->messages));
    array = json_array();
    for (size_t i = 0; i < w->count; i++) /* whole ns: there are many of them */
        array = append(array, json_integer((json_int_t)fmax(1, w->ns[i])));
    return set(object, "windows_ns", array);
}

static json_t *pack_fit(const struct xfp_fit *fit)
{
    if (!fit->valid)
        return json_null();
    return json_pack("{sf so sf sf sI}", "Lo_ns", fit->Lo_ns, "g_ns", known(fit->g_ns),
                     "G_ns_per_byte", fit->G_ns_per_byte, "max_error", fit->max_error,
                     "fit_min_bytes", (json_int_t)fit->fit_min_bytes);
}

static json_t *pack_path(const struct xfp_net_path *path)
{
    json_t *points = json_array(), *object;

    for (size_t i = 0; i < path->point_count; i++) {
        json_t *point = pack_point(&path->points[i]);

        if (path->windows)
            point = with_windows(point, &path->windows[i]);
        points = append(points, point);
    }
    object =
        json_pack("{ss ss si si sb ss so}", "name", path->name, "shape",
                  xfp_net_shape_word(path->shape), "from", path->from, "to", path->to, "loaded",
                  path->loaded, "interface", text(path->interface), "fit", pack_fit(&path->fit));
    if (path->bound) {
        object = set(object, "from_node", json_integer(path->from_node));
        object = set(object, "to_node", json_integer(path->to_node));
    }
    return set(object, "points", points);
}

static json_t *pack_staged_point(const struct xfp_net_staged_point *p)
{
    json_t *point =
        json_pack("{sI sf sf sf sI sI}", "bytes", (json_int_t)p->bytes, "unpipelined_ns",
                  p->unpipelined_ns, "pipelined_ns", p->pipelined_ns, "adaptive_ns", p->adaptive_ns,
                  "buffers", (json_int_t)p->buffers, "buffer_bytes", (json_int_t)p->buffer_bytes);

    if (p->direct_ns > 0)
        point = set(point, "direct_ns", json_real(p->direct_ns));
    if (p->posted_ns > 0)
        point = set(point, "posted_ns", json_real(p->posted_ns));
    point = with_spread_of(point, "unpipelined", &p->unpipelined);
    point = with_spread_of(point, "pipelined", &p->pipelined);
    point = with_spread_of(point, "adaptive", &p->adaptive);
    point = with_spread_of(point, "posted", &p->posted);
    return with_spread_of(point, "direct", &p->direct);
}

static json_t *pack_cell(const struct xfp_staged_cell *cell)
{
    return with_spread(json_pack("{sI sI sI sf}", "bytes", (json_int_t)cell->bytes, "buffers",
                                 (json_int_t)cell->buffers, "buffer_bytes",
                                 (json_int_t)cell->buffer_bytes, "median_ns", cell->median_ns),
                       &cell->spread);
}

static json_t *pack_first_uses(const struct xfp_net_staged *s)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->first_use_count; i++) {
        const struct xfp_net_first_use *f = &s->first_uses[i];

        list = append(list, json_pack("{sI sf sI}", "bytes", (json_int_t)f->bytes, "ns", f->ns,
                                      "rounds", (json_int_t)f->rounds));
    }
    return list;
}

static json_t *pack_staged(const struct xfp_net_staged *s)
{
    json_t *points = json_array(), *cells = json_array(), *object;

    for (size_t i = 0; i < s->point_count; i++)
        points = append(points, pack_staged_point(&s->points[i]));
    for (size_t i = 0; i < s->cell_count; i++)
        cells = append(cells, pack_cell(&s->cells[i]));
    object = json_pack("{ss si si sb sI so so}", "name", s->name, "from", s->from, "to", s->to,
                       "loaded", s->loaded, "hybrid_bytes", (json_int_t)s->hybrid_bytes, "points",
                       points, "cells", cells);
    return s->first_use_count ? set(object, "first_uses", pack_first_uses(s)) : object;
}

static json_t *pack_collective(const struct xfp_net_collective *c)
{
    json_t *points = json_array();

    for (size_t i = 0; i < c->point_count; i++)
        points = append(points, pack_point(&c->points[i]));
    return json_pack("{ss si si sf so}", "name", c->name, "ranks", (int)c->ranks, "hosts",
                     (int)c->hosts, "bus_per_algbw", c->bus_per_algbw, "points", points);
}

static json_t *pack_rank(const struct xfp_net_rank *rank)
{
    json_t *interfaces = json_array();

    for (size_t i = 0; i < rank->interface_count; i++) {
        const struct xfp_net_interface *f = &rank->interfaces[i];

        interfaces = append(interfaces,
                            json_pack("{ss ss sI si}", "name", text(f->name), "driver",
                                      text(f->driver), "mbps", (json_int_t)f->mbps, "mtu", f->mtu));
    }
    return json_pack("{ss ss si ss ss si sb ss so}", "hostname", text(rank->hostname), "machine_id",
                     text(rank->machine_id), "gpu", rank->gpu, "gpu_name", text(rank->gpu_name),
                     "gpu_uuid", text(rank->gpu_uuid), "driver_version", rank->driver_version,
                     "simulated", rank->simulated, "direct", xfp_net_direct_word(rank->direct),
                     "interfaces", interfaces);
}

static json_t *pack_protocol(const struct xfp_net_protocol *p)
{
    json_t *last =
        p->last_bytes == UINT64_MAX ? json_null() : json_integer((json_int_t)p->last_bytes);

    return json_pack("{ss sI so ss ss}", "messages", text(p->messages), "first_bytes",
                     (json_int_t)p->first_bytes, "last_bytes", last, "protocol", text(p->protocol),
                     "transport", text(p->transport));
}

static int put_text(FILE *out, const char *key, const char *value)
{
    json_t *string = json_string(text(value));
    char *dumped = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    int written = dumped ? fprintf(out, "\"%s\": %s,\n  ", key, dumped) : -1;

    free(dumped);
    json_decref(string);
    return written < 0 ? -1 : 0;
}

int xfp_write_network(const struct xfp_profile *profile, FILE *out)
{
    const struct xfp_network *n = profile->network;
    int bad = 0;

    if (!n)
        return 0;
    fputs(" \"network\": {", out);
    bad |= put_text(out, "mpi", n->mpi) | put_text(out, "ucx", n->ucx) |
           put_text(out, "nccl", n->nccl);
    fputs("\"ranks\": [", out);
    for (size_t i = 0; i < n->rank_count; i++)
        bad |= put(out, i, pack_rank(&n->ranks[i]));
    fputs("],\n  \"paths\": [", out);
    for (size_t i = 0; i < n->path_count; i++)
        bad |= put(out, i, pack_path(&n->paths[i]));
    fputs("],\n  \"staged\": [", out);
    for (size_t i = 0; i < n->staged_count; i++)
        bad |= put(out, i, pack_staged(&n->staged[i]));
    fputs("],\n  \"collectives\": [", out);
    for (size_t i = 0; i < n->collective_count; i++)
        bad |= put(out, i, pack_collective(&n->collectives[i]));
    fputs("],\n  \"protocols\": [", out);
    for (size_t i = 0; i < n->protocol_count; i++)
        bad |= put(out, i, pack_protocol(&n->protocols[i]));
    return bad | (fputs("]},\n", out) < 0);
}
