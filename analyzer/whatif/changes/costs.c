#include "analyzer/whatif/changes/costs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_NODES 8
#define ENOUGH 1.1        /* of the fastest */
#define THREAD_NS 50000.0 /* to make one and end it: nobody measures that */
#define BUSY 2            /* the host copies so many times slower, at worst */

double xfw_as_sure(double ns, double error, enum xfw_certainty certainty)
{
    double off = fmin(fmax(error, 0), 0.5);
    return certainty == XFW_LOW ? ns * (1 + off) : certainty == XFW_HIGH ? ns * (1 - off) : ns;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static double submit_of(const struct xfp_path *path, uint64_t bytes)
{
    double ns = XFW_SUBMIT_NS;
    for (size_t i = 0; i < path->point_count; i++) {
        if (path->points[i].host_ns > 0)
            ns = path->points[i].host_ns;
        if (path->points[i].bytes >= bytes)
            break;
    }
    return ns;
}

struct xfw_copy_cost xfw_copy_cost(const struct xfp_path *path, uint64_t bytes,
                                   enum xfw_certainty certainty)
{
    struct xfw_copy_cost cost = {0};
    struct xfp_estimate device = path ? xfp_time(path, bytes) : (struct xfp_estimate){0};
    if (device.basis == XFP_UNKNOWN || !(device.ns > 0))
        return cost;
    struct xfp_estimate blocking = xfp_blocking_time(path, bytes);
    cost.known = true;
    cost.device_ns = xfw_as_sure(device.ns, device.error, certainty);
    cost.submit_ns = submit_of(path, bytes);
    cost.blocking_ns = cost.device_ns + 2 * cost.submit_ns;
    if (blocking.basis != XFP_UNKNOWN)
        cost.blocking_ns =
            fmax(cost.device_ns, xfw_as_sure(blocking.ns, blocking.error, certainty));
    return cost;
}

const struct xfp_path *xfw_host_path(const struct xfa_achievable *achievable,
                                     enum xft_direction direction, enum xft_memory memory, int node,
                                     int gpu)
{
    if (!achievable->profile)
        return NULL;
    struct xfp_place host = {memory, -1, node};
    struct xfp_place device = {XFT_MEM_DEVICE, xfa_achievable_gpu(achievable, gpu), -1};
    return direction == XFT_DIR_H2D ? xfp_find(achievable->profile, XFP_COPY, host, device, false)
                                    : xfp_find(achievable->profile, XFP_COPY, device, host, false);
}

/* ---- tables and scalars ---------------------------------------------------------------------- */

/* On machines of several nodes names have the node. */
static const struct xfp_table *gpu_table(const struct xfa_achievable *achievable, const char *what,
                                         int node, int gpu)
{
    char name[96];
    const struct xfp_profile *profile = achievable->profile;
    if (!profile)
        return NULL;
    int number = xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu);
    snprintf(name, sizeof name, "%s/gpu%d", what, number);
    const struct xfp_table *table = xfp_find_table(profile, name);
    for (int n = node < 0 ? 0 : node; !table && n <= (node < 0 ? MOST_NODES : node); n++) {
        snprintf(name, sizeof name, "%s/node%d-gpu%d", what, n, number);
        table = xfp_find_table(profile, name);
    }
    return table;
}

static const struct xfp_table *host_table(const struct xfp_profile *profile, const char *what)
{
    char name[96];
    snprintf(name, sizeof name, "%s/host", what);
    const struct xfp_table *table = profile ? xfp_find_table(profile, name) : NULL;
    for (int n = 0; profile && !table && n < MOST_NODES; n++) {
        snprintf(name, sizeof name, "%s/node%d-node%d", what, n, n);
        table = xfp_find_table(profile, name);
    }
    return table;
}

double xfw_table_cost(const struct xfa_achievable *achievable, const char *what, int node, int gpu,
                      uint64_t at, enum xfw_certainty certainty)
{
    const struct xfp_table *table = gpu_table(achievable, what, node, gpu);
    struct xfp_estimate cost = table ? xfp_table_at(table, at) : (struct xfp_estimate){0};
    return cost.basis == XFP_UNKNOWN ? 0 : xfw_as_sure(cost.ns, cost.error, certainty);
}

double xfw_scalar_cost(const struct xfa_achievable *achievable, const char *what, int gpu,
                       double otherwise)
{
    char name[96];
    if (!achievable->profile)
        return otherwise;
    snprintf(name, sizeof name, "%s/gpu%d", what,
             xfa_achievable_gpu(achievable, gpu < 0 ? 0 : gpu));
    const struct xfp_scalar *scalar = xfp_find_scalar(achievable->profile, name);
    return scalar ? scalar->cost.median : otherwise;
}

double xfw_registration_cost(const struct xfa_achievable *achievable, int node, int gpu,
                             uint64_t bytes, enum xfw_certainty certainty, bool *known)
{
    if (known)
        *known = gpu_table(achievable, "register/pageable", node, gpu);
    return xfw_table_cost(achievable, "register/pageable", node, gpu, bytes, certainty) +
           xfw_table_cost(achievable, "unregister/pageable", node, gpu, bytes, certainty);
}

/* ---- staging --------------------------------------------------------------------------------- */

/* From pageable memory into the ring, or out of it: both were measured. */
static const struct xfp_table *staging_table(const struct xfa_achievable *achievable,
                                             enum xft_direction direction)
{
    const struct xfp_table *table =
        host_table(achievable->profile,
                   direction == XFT_DIR_H2D ? "host-copy/pageable/h2h" : "host-copy/pinned/h2h");
    return table && table->bytes > 0 ? table : NULL;
}

unsigned xfw_staging_threads(const struct xfa_achievable *achievable, enum xft_direction direction)
{
    const struct xfp_table *table = staging_table(achievable, direction);
    uint64_t most = table ? (uint64_t)(achievable->profile->machine.cpus / 2) : 0;
    double least_ns = INFINITY;
    for (size_t i = 0; table && i < table->row_count; i++)
        if (table->rows[i].at <= most)
            least_ns = fmin(least_ns, table->rows[i].cost.median);
    for (size_t i = 0; table && i < table->row_count; i++)
        if (table->rows[i].at <= most && table->rows[i].cost.median <= ENOUGH * least_ns)
            return (unsigned)table->rows[i].at;
    return 0;
}

double xfw_staging_setup(const struct xfa_achievable *achievable, int gpu, unsigned threads,
                         enum xfw_certainty certainty)
{
    uint64_t bytes = XFW_STAGE_PIECES * XFW_STAGE_PIECE;
    double ring_ns = xfw_table_cost(achievable, "alloc/pinned", -1, gpu, bytes, certainty) +
                     xfw_table_cost(achievable, "free/pinned", -1, gpu, bytes, certainty);
    if (!(ring_ns > 0))
        ring_ns = xfw_registration_cost(achievable, -1, gpu, bytes, certainty, NULL);
    return ring_ns + threads * THREAD_NS;
}

struct xfw_staging xfw_staging_cost(const struct xfa_achievable *achievable,
                                    const struct xfp_path *path, uint64_t bytes, unsigned threads,
                                    enum xfw_certainty certainty)
{
    struct xfw_staging staging = {0};
    const struct xfp_table *table = path ? staging_table(achievable, path->direction) : NULL;
    struct xfw_copy_cost piece = xfw_copy_cost(path, XFW_STAGE_PIECE, certainty);
    struct xfp_estimate host = table ? xfp_table_at(table, threads) : (struct xfp_estimate){0};
    if (bytes < XFW_STAGE_LEAST || !piece.known || host.basis == XFP_UNKNOWN)
        return staging;
    double slower = certainty == XFW_LOW ? BUSY : 1;
    double host_ns = slower * xfw_as_sure(host.ns, host.error, certainty) *
                         (double)XFW_STAGE_PIECE / (double)table->bytes +
                     piece.submit_ns;
    double pieces = (double)bytes / (double)XFW_STAGE_PIECE;
    double end_ns = (piece.blocking_ns - piece.device_ns) / 2;
    bool up = path->direction == XFT_DIR_H2D;
    staging.known = true;
    staging.first_ns = up ? host_ns : end_ns;
    staging.during_ns = fmax(host_ns, piece.device_ns) * (pieces - 1) + piece.device_ns;
    staging.last_ns = up ? end_ns : end_ns + host_ns;
    return staging;
}
