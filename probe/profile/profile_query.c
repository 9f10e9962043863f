/*
 * Queries of a machine profile: which path, and how long a transfer takes on it.
 */
#include "probe/profile/profile_model.h"

#include <math.h>
#include <string.h>

/* 0: does not match; a larger number is a better match. A path measured without binding matches
 * every node, but less well than one measured on that node. */
static int match_ordinal(int asked, int measured)
{
    if (asked == measured)
        return 2;
    return asked < 0 || measured < 0 ? 1 : 0;
}

static int match_place(const struct xfp_place *asked, const struct xfp_place *measured)
{
    int device = match_ordinal(asked->device, measured->device);
    int numa = match_ordinal(asked->numa, measured->numa);

    if (asked->memory != measured->memory || !device || !numa)
        return 0;
    return device + numa;
}

enum { SWEPT = 100 }; /* a path with a whole sweep is preferred to a better match */

static const struct xfp_path *find(const struct xfp_profile *profile, enum xfp_method method,
                                   struct xfp_place src, struct xfp_place dst, bool blocking,
                                   const struct xfp_conditions *under)
{
    const struct xfp_path *best = NULL;
    int best_score = 0;

    for (size_t i = 0; i < profile->path_count; i++) {
        const struct xfp_path *path = &profile->paths[i];
        int from = match_place(&src, &path->src), to = match_place(&dst, &path->dst);

        if (path->method != method || !from || !to || !path->point_count)
            continue;
        if (path->load != under->load || path->cache != under->cache ||
            path->row_bytes != under->row_bytes)
            continue;
        if (blocking && !path->blocking)
            continue;
        if (from + to + (path->chosen ? 0 : SWEPT) > best_score) {
            best = path;
            best_score = from + to + (path->chosen ? 0 : SWEPT);
        }
    }
    return best;
}

const struct xfp_path *xfp_find(const struct xfp_profile *profile, enum xfp_method method,
                                struct xfp_place src, struct xfp_place dst, bool blocking)
{
    return find(profile, method, src, dst, blocking, &(struct xfp_conditions){.load = XFP_ALONE});
}

const struct xfp_path *xfp_find_loaded(const struct xfp_profile *profile, enum xfp_method method,
                                       struct xfp_place src, struct xfp_place dst,
                                       enum xfp_load load)
{
    return find(profile, method, src, dst, false, &(struct xfp_conditions){.load = load});
}

const struct xfp_path *xfp_find_under(const struct xfp_profile *profile, enum xfp_method method,
                                      struct xfp_place src, struct xfp_place dst,
                                      const struct xfp_conditions *conditions)
{
    return find(profile, method, src, dst, false, conditions);
}

const struct xfp_path *xfp_find_path(const struct xfp_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->path_count; i++)
        if (!strcmp(profile->paths[i].name, name))
            return &profile->paths[i];
    return NULL;
}

/* The point's time, of the copy or as a blocking caller sees it. */
static double point_time(const struct xfp_path *path, const struct xfp_point *p, bool blocking)
{
    if (!blocking)
        return p->median_ns;
    if (p->blocking_ns > 0)
        return p->blocking_ns;
    /* measured by the host around the synchronous call: that is what its caller sees */
    return path->blocking && !path->device_timed ? p->median_ns : 0;
}

/* Relative half-width of the measurement's confidence interval. */
static double interval(const struct xfp_point *p)
{
    return p->median_ns > 0
               ? fmax(p->ci_high_ns - p->median_ns, p->median_ns - p->ci_low_ns) / p->median_ns
               : 0;
}

static struct xfp_fit path_fit(const struct xfp_path *path, bool blocking)
{
    double times[XFP_MOST_FITTED];
    size_t count = path->point_count < XFP_MOST_FITTED ? path->point_count : XFP_MOST_FITTED;

    if (!blocking && path->fit.valid)
        return path->fit;
    for (size_t i = 0; i < count; i++)
        times[i] = point_time(path, &path->points[i], blocking);
    return xfp_fit_times(path->points, times, count);
}

/* The measured neighbours of a size: NULL where there is none. */
struct neighbours {
    const struct xfp_point *below, *above;
};

static struct neighbours find_neighbours(const struct xfp_path *path, uint64_t bytes, bool blocking)
{
    struct neighbours n = {0};

    for (size_t i = 0; i < path->point_count; i++) {
        const struct xfp_point *p = &path->points[i];

        if (!(point_time(path, p, blocking) > 0))
            continue;
        if (p->bytes <= bytes)
            n.below = p;
        if (p->bytes >= bytes) {
            n.above = p;
            break;
        }
    }
    return n;
}

static struct xfp_estimate between(const struct xfp_path *path, struct neighbours n, uint64_t bytes,
                                   bool blocking)
{
    double t0 = point_time(path, n.below, blocking), t1 = point_time(path, n.above, blocking);
    double part = (double)(bytes - n.below->bytes) / (double)(n.above->bytes - n.below->bytes);
    struct xfp_estimate e = {XFP_INTERPOLATED, t0 + part * (t1 - t0), 0};
    struct xfp_fit fit = path_fit(path, blocking);

    e.error = fmax(interval(n.below), interval(n.above));
    if (fit.valid)
        e.error += fmax(xfp_model_error(&fit, n.below, t0), xfp_model_error(&fit, n.above, t1)) / 2;
    else /* the time lies between its neighbours': that is all that is known */
        e.error += fmax(fabs(e.ns - t0), fabs(t1 - e.ns)) / e.ns;
    return e;
}

/* Below the smallest size: its time; the error is at most the model's reduction. */
static struct xfp_estimate below_all(const struct xfp_path *path, const struct xfp_point *smallest,
                                     uint64_t bytes, bool blocking)
{
    struct xfp_estimate e = {XFP_INTERPOLATED, point_time(path, smallest, blocking), 0};
    struct xfp_fit fit = path_fit(path, blocking);
    double off = fit.valid ? (double)(smallest->bytes - bytes) * fit.G_ns_per_byte / e.ns : 0;

    e.error = interval(smallest) + fmin(off, 1);
    return e;
}

/* Chosen sizes that are far apart say little about sizes between them. */
static bool near_each_other(const struct neighbours *n)
{
    return n->below && n->above && n->above->bytes - n->below->bytes <= n->below->bytes;
}

static struct xfp_estimate estimate(const struct xfp_path *path, uint64_t bytes, bool blocking)
{
    struct neighbours n = find_neighbours(path, bytes, blocking);
    struct xfp_fit fit;

    if (n.below && n.below == n.above)
        return (struct xfp_estimate){XFP_MEASURED, point_time(path, n.below, blocking),
                                     interval(n.below)};
    if (path->chosen && !near_each_other(&n))
        return (struct xfp_estimate){0};
    if (n.below && n.above)
        return between(path, n, bytes, blocking);
    if (n.above)
        return below_all(path, n.above, bytes, blocking);
    if (!n.below)
        return (struct xfp_estimate){0};
    fit = path_fit(path, blocking);
    if (!fit.valid)
        return (struct xfp_estimate){0};
    return (struct xfp_estimate){XFP_MODELLED, xfp_model_ns(&fit, bytes), fit.max_error};
}

struct xfp_estimate xfp_time(const struct xfp_path *path, uint64_t bytes)
{
    return path ? estimate(path, bytes, false) : (struct xfp_estimate){0};
}

struct xfp_estimate xfp_blocking_time(const struct xfp_path *path, uint64_t bytes)
{
    return path ? estimate(path, bytes, true) : (struct xfp_estimate){0};
}
