#include "probe/report/network.h"

#include <inttypes.h>
#include <libsmartcols.h>
#include <math.h>
#include <string.h>

#include "common/text.h"
#include "probe/progress.h"
#include "probe/report/summary.h"
#include "probe/report/width.h"

#define SIZE_TEXT 32

static double gbps_of(const struct xfp_point *p)
{
    return xfp_gbps(p->bytes, p->median_ns);
}

const struct xfp_point *xfp_net_best(const struct xfp_net_path *path)
{
    const struct xfp_point *best = path->point_count ? path->points : NULL;

    for (size_t i = 1; i < path->point_count; i++)
        if (gbps_of(&path->points[i]) > gbps_of(best))
            best = &path->points[i];
    return best;
}

uint64_t xfp_net_half_bytes(const struct xfp_net_path *path)
{
    const struct xfp_point *best = xfp_net_best(path);

    for (size_t i = 0; i < path->point_count; i++)
        if (gbps_of(&path->points[i]) >= gbps_of(best) / 2)
            return path->points[i].bytes;
    return 0;
}

bool xfp_net_is_of(const struct xfp_net_protocol *p, bool devices)
{
    return strstr(p->messages, "tag_send") &&
           strstr(p->messages, devices ? "from cuda" : "from host memory");
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void set_cell(struct libscols_line *line, size_t column, const char *format, double x)
{
    char text[64];

    snprintf(text, sizeof(text), format, x);
    scols_line_set_data(line, column, isfinite(x) && x > 0 ? text : "-");
}

static int add_path(struct libscols_table *table, const struct xfp_net_path *path)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    const struct xfp_point *best = xfp_net_best(path);
    const struct xfp_fit *fit = &path->fit;
    char size[SIZE_TEXT];

    if (!line)
        return -1;
    xfp_set_text(line, 0, path->name);
    xfp_set_text(line, 1, path->interface && *path->interface ? path->interface : "-");
    set_cell(line, 2, "%.2f", path->points[0].median_ns / 1e3);
    set_cell(line, 3, "%.3f", gbps_of(best) * (path->shape == XFP_NET_BOTH ? 2 : 1));
    scols_line_set_data(line, 4, xfp_size_text(best->bytes, size, sizeof(size)));
    set_cell(line, 5, "%.2f", fit->valid ? fit->Lo_ns / 1e3 : NAN);
    set_cell(line, 6, "%.2f", fit->valid ? fit->g_ns / 1e3 : NAN);
    set_cell(line, 7, "%.3f", fit->valid ? 1 / fit->G_ns_per_byte : NAN);
    return 0;
}

static int add_staged(struct libscols_table *table, const struct xfp_net_staged_point *p)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    char size[SIZE_TEXT], ring[2 * SIZE_TEXT];

    if (!line)
        return -1;
    scols_line_set_data(line, 0, xfp_size_text(p->bytes, size, sizeof(size)));
    set_cell(line, 1, "%.1f", p->adaptive_ns / 1e3);
    set_cell(line, 2, "%.3f", xfp_gbps(p->bytes, p->unpipelined_ns));
    set_cell(line, 3, "%.3f", xfp_gbps(p->bytes, p->pipelined_ns));
    set_cell(line, 4, "%.3f", xfp_gbps(p->bytes, p->adaptive_ns));
    snprintf(ring, sizeof(ring), "%u of %s", p->buffers,
             xfp_size_text(p->buffer_bytes, size, sizeof(size)));
    scols_line_set_data(line, 5, ring);
    set_cell(line, 6, "%.3f", xfp_gbps(p->bytes, p->direct_ns));
    set_cell(line, 7, "%.3f", xfp_gbps(p->bytes, p->posted_ns));
    return 0;
}

static struct libscols_table *new_table(const char *const *columns, size_t count)
{
    struct libscols_table *table = scols_new_table();

    for (size_t c = 0; table && c < count; c++)
        if (!scols_table_new_column(table, columns[c], 0, c ? SCOLS_FL_RIGHT : 0)) {
            scols_unref_table(table);
            return NULL;
        }
    return table;
}

/* Prints and frees it. The columns from `spare` on may be left out, the last one first. */
static int finish(struct libscols_table *table, size_t spare, int bad, FILE *out)
{
    size_t last_first[8], count = 0;

    for (size_t i = table ? scols_table_get_ncols(table) : 0; i > spare && count < 8; i--)
        last_first[count++] = i - 1;
    if (table && !bad) {
        fputc('\n', out);
        bad = xfp_print_fitting(table, last_first, count, xfp_width(out), out);
        fputc('\n', out);
    }
    scols_unref_table(table);
    return !table || bad ? -1 : 0;
}

static int print_paths(const struct xfp_network *n, FILE *out)
{
    static const char *const columns[] = {"messages", "over",   "us",   "best GB/s",
                                          "at",       "L+o us", "g us", "1/G GB/s"};
    struct libscols_table *table = new_table(columns, 8);
    int bad = 0;

    for (size_t i = 0; table && i < n->path_count && !bad; i++)
        if (n->paths[i].point_count)
            bad = add_path(table, &n->paths[i]);
    return finish(table, 5, bad, out);
}

static int print_staged(const struct xfp_net_staged *s, FILE *out)
{
    const char *const columns[] = {s->name,   "4B us",    "2B GB/s",  "3B GB/s",
                                   "4B GB/s", "its ring", "MPI GB/s", "at once GB/s"};
    struct libscols_table *table = new_table(columns, 8);
    int bad = 0;

    for (size_t i = 0; table && i < s->point_count && !bad; i++)
        bad = add_staged(table, &s->points[i]);
    return finish(table, 5, bad, out);
}

const struct xfp_point *xfp_net_best_of(const struct xfp_net_collective *c)
{
    const struct xfp_point *best = &c->points[0];

    for (size_t i = 1; i < c->point_count; i++)
        if (gbps_of(&c->points[i]) > gbps_of(best))
            best = &c->points[i];
    return best;
}

/* Bandwidths as nccl-tests define them: of the algorithm, and what a bus would need for it. */
static int add_collective(struct libscols_table *table, const struct xfp_net_collective *c)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    const struct xfp_point *best = xfp_net_best_of(c);
    char size[SIZE_TEXT];

    if (!line)
        return -1;
    xfp_set_text(line, 0, c->name);
    set_cell(line, 1, "%.2f", c->points[0].median_ns / 1e3);
    scols_line_set_data(line, 2,
                        best->bytes ? xfp_size_text(best->bytes, size, sizeof(size)) : "-");
    set_cell(line, 3, "%.3f", gbps_of(best));
    set_cell(line, 4, "%.3f", gbps_of(best) * c->bus_per_algbw);
    return 0;
}

static int print_collectives(const struct xfp_network *n, FILE *out)
{
    static const char *const columns[] = {"collective", "us", "best at", "algorithm GB/s",
                                          "bus GB/s"};
    struct libscols_table *table = new_table(columns, 5);
    int bad = 0;

    for (size_t i = 0; table && i < n->collective_count && !bad; i++)
        if (n->collectives[i].point_count)
            bad = add_collective(table, &n->collectives[i]);
    return finish(table, 5, bad, out);
}

/* The highest bandwidth of such messages of device memory; NAN: none was measured. */
static double best_of_devices(const struct xfp_network *n, const struct xfp_net_protocol *p)
{
    double best = NAN;

    for (size_t i = 0; i < n->staged_count; i++)
        for (size_t j = 0; j < n->staged[i].point_count; j++) {
            const struct xfp_net_staged_point *point = &n->staged[i].points[j];

            if (point->direct_ns > 0 && point->bytes >= p->first_bytes &&
                point->bytes <= p->last_bytes)
                best = fmax(best, xfp_gbps(point->bytes, point->direct_ns));
        }
    return best;
}

/* The highest bandwidth of windows of such messages; NAN: none was measured. */
static double best_gbps(const struct xfp_network *n, const struct xfp_net_protocol *p)
{
    double best = NAN;

    for (size_t i = 0; i < n->path_count; i++)
        for (size_t j = 0; n->paths[i].shape == XFP_NET_STREAM && j < n->paths[i].point_count;
             j++) {
            const struct xfp_point *point = &n->paths[i].points[j];

            if (point->bytes >= p->first_bytes && point->bytes <= p->last_bytes)
                best = fmax(best, gbps_of(point));
        }
    return best;
}

static int add_protocol(struct libscols_table *table, const struct xfp_network *n,
                        const struct xfp_net_protocol *p)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    double best = xfp_net_is_of(p, false)  ? best_gbps(n, p)
                  : xfp_net_is_of(p, true) ? best_of_devices(n, p)
                                           : NAN;
    char range[64];

    if (!line)
        return -1;
    if (p->last_bytes == UINT64_MAX)
        snprintf(range, sizeof(range), "from %" PRIu64, p->first_bytes);
    else
        snprintf(range, sizeof(range), "%" PRIu64 " to %" PRIu64, p->first_bytes, p->last_bytes);
    xfp_set_text(line, 0, p->protocol);
    scols_line_set_data(line, 1, range);
    xfp_set_text(line, 2, p->transport);
    set_cell(line, 3, "%.3f", best);
    xfp_set_text(line, 4, p->messages);
    return 0;
}

/* What UCX says that it does, beside what was measured of messages of that size. */
static int print_protocols(const struct xfp_network *n, FILE *out)
{
    static const char *const columns[] = {"UCX's protocol", "bytes", "over", "best GB/s", "of"};
    struct libscols_table *table = new_table(columns, 5);
    int bad = 0;

    for (size_t i = 0; table && i < n->protocol_count && !bad; i++)
        bad = add_protocol(table, n, &n->protocols[i]);
    return finish(table, 4, bad, out);
}

static void print_rank(const struct xfp_net_rank *r, size_t rank, FILE *out)
{
    xfc_print(out, "rank %zu: %s", rank, r->hostname);
    if (r->gpu >= 0)
        xfc_print(out, ", GPU %d (%s%s), device memory given to MPI: %s", r->gpu, r->gpu_name,
                  r->simulated ? ", SIMULATED" : "", xfp_net_direct_word(r->direct));
    for (size_t i = 0; i < r->interface_count; i++) {
        const struct xfp_net_interface *f = &r->interfaces[i];

        xfc_print(out, "%s%s", i ? ", " : "; ", f->name);
        if (*f->driver)
            xfc_print(out, " (%s", f->driver);
        if (*f->driver && f->mbps)
            xfc_print(out, ", %.4g Gbit/s", (double)f->mbps / 1e3);
        if (*f->driver)
            fputc(')', out);
    }
    fputc('\n', out);
}

int xfp_print_network(const struct xfp_profile *profile, FILE *out)
{
    const struct xfp_network *n = profile->network;
    int bad = 0;

    if (!n)
        return 0;
    xfc_print(out, "\n%s", n->mpi);
    if (n->ucx && *n->ucx)
        xfc_print(out, ", UCX %s", n->ucx);
    if (n->nccl && *n->nccl)
        xfc_print(out, ", NCCL %s", n->nccl);
    fputc('\n', out);
    for (size_t i = 0; i < n->rank_count; i++)
        print_rank(&n->ranks[i], i, out);
    if (n->path_count)
        bad = print_paths(n, out);
    for (size_t i = 0; i < n->staged_count && n->staged_count <= 2 && !bad; i++)
        bad = print_staged(&n->staged[i], out);
    if (n->collective_count && !bad)
        bad = print_collectives(n, out);
    if (n->protocol_count && !bad)
        bad = print_protocols(n, out);
    return bad || ferror(out) ? -1 : 0;
}
