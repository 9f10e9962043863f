#include "probe/report/report_csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "xferscope/profile_network.h"

/* One row. Names are made of the words of terms.h and of numbers, if the profile is of ours. */
struct row {
    const char *part, *name, *method, *load, *by, *figure;
    const struct xfp_flow *way;
    uint64_t bytes, at, moved; /* moved: for the bandwidth */
    uint32_t n, streams, buffers;
    uint64_t buffer_bytes;
    double median, min, max, ci_low, ci_high, host, blocking; /* 0 = not measured */
    double blocking_low, blocking_high;
};

static void print_text(FILE *out, const char *text)
{
    char *shown = xfc_shown(text, strlen(text));
    if (shown)
        xfc_csv_field(out, shown);
    free(shown);
}

static void print_words(FILE *out, const char *words)
{
    fputc(',', out);
    print_text(out, words ? words : "");
}

static void print_number(FILE *out, uint64_t number)
{
    if (number)
        fprintf(out, ",%llu", (unsigned long long)number);
    else
        fputc(',', out);
}

static void print_figure(FILE *out, double figure, const char *format)
{
    fputc(',', out);
    if (isfinite(figure) && figure > 0)
        fprintf(out, format, figure);
}

static void print_place(FILE *out, const struct xfp_place *place)
{
    if (place)
        fprintf(out, ",%s,%d,%d", xft_memory_word(place->memory), place->device, place->numa);
    else
        fputs(",,,", out);
}

static void print_row(FILE *out, const struct row *r)
{
    const double times[] = {r->median, r->min, r->max, r->ci_low, r->ci_high, r->host, r->blocking};

    print_text(out, r->name);
    print_words(out, r->method);
    print_words(out, r->way ? xft_direction_word(r->way->direction) : NULL);
    print_place(out, r->way ? &r->way->src : NULL);
    print_place(out, r->way ? &r->way->dst : NULL);
    print_number(out, r->bytes);
    print_number(out, r->n);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        print_figure(out, times[i], "%.10g");
    print_figure(out, r->moved ? xfp_gbps(r->moved, r->median) : 0, "%.6g");
    if (r->n > 1 && r->ci_low > 0 && r->median > 0)
        fprintf(out, ",%.4g", (r->ci_high - r->ci_low) / 2 / r->median);
    else
        fputc(',', out);
    print_words(out, r->part);
    print_words(out, r->load);
    print_words(out, r->by);
    print_number(out, r->at);
    print_words(out, r->figure);
    print_number(out, r->streams);
    print_number(out, r->buffers);
    print_number(out, r->buffer_bytes);
    print_figure(out, r->blocking_low, "%.10g");
    print_figure(out, r->blocking_high, "%.10g");
    fputc('\n', out);
}

static void set_point(struct row *r, const struct xfp_point *p)
{
    r->bytes = r->moved = p->bytes;
    r->n = p->n;
    r->median = p->median_ns;
    r->min = p->min_ns;
    r->max = p->max_ns;
    r->ci_low = p->ci_low_ns;
    r->ci_high = p->ci_high_ns;
    r->host = p->host_ns;
    r->blocking = p->blocking_ns;
    r->blocking_low = p->blocking_low_ns;
    r->blocking_high = p->blocking_high_ns;
}

static void set_cost(struct row *r, const struct xfp_cost *c)
{
    r->n = c->n;
    r->median = c->median;
    r->min = c->min;
    r->max = c->max;
    r->ci_low = c->ci_low;
    r->ci_high = c->ci_high;
}

static void set_spread(struct row *r, const struct xfp_spread *s)
{
    r->n = s->n;
    r->min = s->min_ns;
    r->max = s->max_ns;
    r->ci_low = s->ci_low_ns;
    r->ci_high = s->ci_high_ns;
}

static void print_paths(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->path_count; i++) {
        const struct xfp_path *p = &profile->paths[i];
        struct xfp_flow way = {p->direction, p->src, p->dst};
        struct row r = {.part = "path",
                        .name = p->name,
                        .method = xfp_method_word(p->method),
                        .load = xfp_load_word(p->load),
                        .way = &way};

        for (size_t j = 0; j < p->point_count; j++) {
            set_point(&r, &p->points[j]);
            print_row(out, &r);
        }
    }
}

/* What `at` counts is bytes, or else: of how many bytes. */
static void print_tables(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->table_count; i++) {
        const struct xfp_table *t = &profile->tables[i];
        enum xfp_by by = xfp_by_of(t->by);
        bool sizes = by == XFP_BY_BYTES || by == XFP_BY_BYTES_EACH_WAY;
        struct row r = {.part = "table", .name = t->name, .by = t->by};

        for (size_t j = 0; j < t->row_count; j++) {
            r.at = t->rows[j].at;
            r.bytes = sizes ? r.at : t->bytes;
            r.moved = xfp_table_moved(t, r.at);
            set_cost(&r, &t->rows[j].cost);
            print_row(out, &r);
        }
    }
}

static void print_scalars(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->scalar_count; i++) {
        struct row r = {.part = "scalar", .name = profile->scalars[i].name};

        set_cost(&r, &profile->scalars[i].cost);
        print_row(out, &r);
    }
}

/* Both places where there is one flow; the bandwidth is that of all together. */
static void print_concurrent(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->concurrent_count; i++) {
        const struct xfp_concurrent *c = &profile->concurrent[i];
        struct row r = {.part = "concurrent",
                        .name = c->name,
                        .method = "copy",
                        .by = "bytes each",
                        .way = c->flow_count == 1 ? &c->flows[0] : NULL};

        for (size_t j = 0; j < c->point_count; j++) {
            set_point(&r, &c->points[j]);
            r.at = r.bytes;
            r.moved = c->flow_count * r.bytes;
            print_row(out, &r);
        }
    }
}

static void print_streams(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->streams_count; i++) {
        const struct xfp_streams *s = &profile->streams[i];
        struct xfp_flow way = {s->direction, s->src, s->dst};

        for (size_t j = 0; j < s->point_count; j++) {
            const struct xfp_stream_point *p = &s->points[j];
            struct row r = {.part = "streams",
                            .name = s->name,
                            .method = "copy",
                            .way = &way,
                            .by = "streams",
                            .at = p->streams,
                            .bytes = p->bytes,
                            .moved = p->bytes,
                            .streams = p->streams,
                            .n = p->n,
                            .median = p->median_ns,
                            .min = p->min_ns,
                            .max = p->max_ns,
                            .ci_low = p->ci_low_ns,
                            .ci_high = p->ci_high_ns};

            print_row(out, &r);
        }
    }
}

/* The time of one way of copying. */
struct figure {
    const char *figure;
    double ns;
    const struct xfp_spread *spread;
};

/* What a 4B's ring was. */
struct ring {
    uint32_t buffers, streams;
    uint64_t buffer_bytes;
};

static void print_versions(FILE *out, struct row r, const struct figure *figures, size_t count,
                           const struct ring *ring)
{
    for (size_t i = 0; i < count; i++) {
        bool adaptive = !strcmp(figures[i].figure, "4B");

        if (!(figures[i].ns > 0))
            continue;
        r.figure = figures[i].figure;
        r.median = figures[i].ns;
        set_spread(&r, figures[i].spread);
        r.buffers = adaptive ? ring->buffers : 0;
        r.buffer_bytes = adaptive ? ring->buffer_bytes : 0;
        r.streams = adaptive ? ring->streams : 0;
        print_row(out, &r);
    }
}

static void print_cells(FILE *out, struct row r, const struct xfp_staged_cell *cells, size_t count)
{
    r.figure = "ring";
    for (size_t i = 0; i < count; i++) {
        r.bytes = r.moved = cells[i].bytes;
        r.buffers = cells[i].buffers;
        r.buffer_bytes = cells[i].buffer_bytes;
        r.median = cells[i].median_ns;
        set_spread(&r, &cells[i].spread);
        print_row(out, &r);
    }
}

static void print_staged_point(FILE *out, struct row r, const struct xfp_staged_point *p)
{
    const struct figure figures[] = {{"driver", p->peer_ns, &p->peer},
                                     {"2B", p->unpipelined_ns, &p->unpipelined},
                                     {"3B", p->pipelined_ns, &p->pipelined},
                                     {"4B", p->adaptive_ns, &p->adaptive}};
    const struct ring ring = {p->buffers, p->streams, p->buffer_bytes};

    r.bytes = r.moved = p->bytes;
    print_versions(out, r, figures, 4, &ring);
}

static void print_staged(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->staged_count; i++) {
        const struct xfp_staged *s = &profile->staged[i];
        struct xfp_flow way = {
            XFT_DIR_P2P, {XFT_MEM_DEVICE, s->src_device, -1}, {XFT_MEM_DEVICE, s->dst_device, -1}};
        struct row r = {.part = "staged", .name = s->name, .method = "copy", .way = &way};

        for (size_t j = 0; j < s->point_count; j++)
            print_staged_point(out, r, &s->points[j]);
        print_cells(out, r, s->cells, s->cell_count);
    }
}

static void print_overlap(const struct xfp_profile *profile, FILE *out)
{
    for (size_t i = 0; i < profile->overlap_count; i++) {
        const struct xfp_overlap *o = &profile->overlap[i];
        struct row r = {.part = "overlap", .name = o->name, .method = "copy", .bytes = o->bytes};
        const struct {
            const char *figure;
            double ns;
            const struct xfp_spread *spread;
            int ways;
        } figures[] = {{"h2d", o->h2d_ns, &o->h2d, 1},
                       {"d2h", o->d2h_ns, &o->d2h, 1},
                       {"both", o->both_ns, &o->both, 2}};

        for (size_t j = 0; j < sizeof(figures) / sizeof(figures[0]); j++) {
            r.figure = figures[j].figure;
            r.median = figures[j].ns;
            set_spread(&r, figures[j].spread);
            r.moved = o->bytes * (uint64_t)figures[j].ways;
            print_row(out, &r);
        }
    }
}

/* gbps is the algorithm's bandwidth. */
static void print_collectives(const struct xfp_network *n, FILE *out)
{
    for (size_t i = 0; i < n->collective_count; i++) {
        const struct xfp_net_collective *c = &n->collectives[i];
        struct row r = {.part = "network",
                        .name = c->name,
                        .method = strncmp(c->name, "net/mpi/", 8) ? "nccl" : "mpi",
                        .figure = "collective"};

        for (size_t j = 0; j < c->point_count; j++) {
            set_point(&r, &c->points[j]);
            print_row(out, &r);
        }
    }
}

/* Of both directions at once the bandwidth is that of both together. */
static void print_messages(const struct xfp_network *n, FILE *out)
{
    for (size_t i = 0; i < n->path_count; i++) {
        const struct xfp_net_path *p = &n->paths[i];
        struct row r = {.part = "network",
                        .name = p->name,
                        .method = "message",
                        .figure = xfp_net_shape_word(p->shape),
                        .load = p->loaded ? "loaded" : "alone"};

        for (size_t j = 0; j < p->point_count; j++) {
            set_point(&r, &p->points[j]);
            r.moved = (p->shape == XFP_NET_BOTH ? 2 : 1) * r.bytes;
            print_row(out, &r);
        }
    }
}

static void print_net_staged_point(FILE *out, struct row r, const struct xfp_net_staged_point *p)
{
    const struct figure figures[] = {{"2B", p->unpipelined_ns, &p->unpipelined},
                                     {"3B", p->pipelined_ns, &p->pipelined},
                                     {"4B", p->adaptive_ns, &p->adaptive},
                                     {"at once", p->posted_ns, &p->posted},
                                     {"MPI", p->direct_ns, &p->direct}};
    const struct ring ring = {p->buffers, 0, p->buffer_bytes};

    r.bytes = r.moved = p->bytes;
    print_versions(out, r, figures, 5, &ring);
}

static void print_first_uses(FILE *out, struct row r, const struct xfp_net_staged *s)
{
    r.figure = "MPI's first";
    for (size_t i = 0; i < s->first_use_count; i++) {
        r.bytes = r.moved = s->first_uses[i].bytes;
        r.median = s->first_uses[i].ns;
        if (r.median > 0)
            print_row(out, &r);
    }
}

static void print_network(const struct xfp_network *n, FILE *out)
{
    print_messages(n, out);
    print_collectives(n, out);
    for (size_t i = 0; i < n->staged_count; i++) {
        const struct xfp_net_staged *s = &n->staged[i];
        struct row r = {.part = "network",
                        .name = s->name,
                        .method = "copy",
                        .load = s->loaded ? "loaded" : "alone"};

        for (size_t j = 0; j < s->point_count; j++)
            print_net_staged_point(out, r, &s->points[j]);
        print_first_uses(out, r, s);
        print_cells(out, r, s->cells, s->cell_count);
    }
}

int xfp_print_csv(const struct xfp_profile *profile, FILE *out)
{
    fputs("name,method,direction,src_memory,src_device,src_numa,dst_memory,dst_device,dst_numa,"
          "bytes,n,median_ns,min_ns,max_ns,ci_low_ns,ci_high_ns,host_ns,blocking_ns,gbps,spread,"
          "part,load,by,at,figure,streams,buffers,buffer_bytes,blocking_ci_low_ns,"
          "blocking_ci_high_ns\n",
          out);
    print_paths(profile, out);
    print_concurrent(profile, out);
    print_streams(profile, out);
    print_staged(profile, out);
    print_overlap(profile, out);
    if (profile->network)
        print_network(profile->network, out);
    print_tables(profile, out);
    print_scalars(profile, out);
    return ferror(out) ? -1 : 0;
}
