#include "profile_sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double xfp_streams_ns(const struct xfp_fit *fit, uint64_t bytes, uint32_t streams)
{
    double gap = isfinite(fit->g_ns) ? fit->g_ns : 0;

    return fit->Lo_ns + (double)bytes * fit->G_ns_per_byte + (streams ? streams - 1 : 0) * gap;
}

const struct xfp_staged *xfp_find_staged(const struct xfp_profile *profile, int src, int dst)
{
    for (size_t i = 0; i < profile->staged_count; i++)
        if (profile->staged[i].src_device == src && profile->staged[i].dst_device == dst)
            return &profile->staged[i];
    return NULL;
}

const struct xfp_staged_point *xfp_staged_at(const struct xfp_staged *staged, uint64_t bytes)
{
    const struct xfp_staged_point *best = staged->point_count ? staged->points : NULL;

    for (size_t i = 1; i < staged->point_count; i++)
        if (staged->points[i].bytes <= bytes)
            best = &staged->points[i];
    return best;
}

struct xfp_spread xfp_spread_of(const struct xfp_point *point)
{
    return (struct xfp_spread){point->n, point->min_ns, point->max_ns, point->ci_low_ns,
                               point->ci_high_ns};
}

int xfp_overlap_category(bool implicit_sync, int copy_engines)
{
    if (implicit_sync)
        return copy_engines == 1 ? 1 : 0;
    return copy_engines == 1 ? 2 : 3;
}

static bool fewest_bytes(const struct xfp_stream_point *p, uint64_t bytes)
{
    return !bytes || p->bytes < bytes;
}

static double largest_error(const struct xfp_fit *fit, const struct xfp_stream_point *points,
                            size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        double ns = xfp_streams_ns(fit, points[i].bytes, points[i].streams);

        most = fmax(most, fabs(ns / points[i].median_ns - 1));
    }
    return most;
}

/* ---- the parameters with the least largest error -------------------------------------------- */

/*
 * The error is the largest of several |a + b Lo + c g + d G|, so it is convex, and so is what is
 * left of it when some of the three are chosen best: golden section, one inside the other. From
 * `first` on they are chosen, the ones before are as given.
 */
enum { PARAMETERS = 3, STEPS = 40 };
#define GOLDEN 0.6180339887498949

struct search {
    struct xfp_fit fit;
    const struct xfp_stream_point *points;
    size_t count;
    double high[PARAMETERS]; /* none can be more, without being all of a point's time */
};

static double *parameter(struct xfp_fit *fit, int i)
{
    return i == 0 ? &fit->G_ns_per_byte : i == 1 ? &fit->Lo_ns : &fit->g_ns;
}

static double best_from(struct search *s, int first);

static double error_at(struct search *s, int i, double value)
{
    *parameter(&s->fit, i) = value;
    return best_from(s, i + 1);
}

/* Leaves the best parameters in the fit and returns their error. */
static double best_from(struct search *s, int first)
{
    double low = 0, high = first < PARAMETERS ? s->high[first] : 0;
    double x[2], error[2];

    if (first == PARAMETERS)
        return largest_error(&s->fit, s->points, s->count);
    x[0] = high - GOLDEN * (high - low);
    x[1] = low + GOLDEN * (high - low);
    error[0] = error_at(s, first, x[0]);
    error[1] = error_at(s, first, x[1]);
    for (int step = 0; step < STEPS; step++) {
        bool lower = error[0] <= error[1];

        if (lower) {
            high = x[1];
            x[1] = x[0];
            error[1] = error[0];
            x[0] = high - GOLDEN * (high - low);
        } else {
            low = x[0];
            x[0] = x[1];
            error[0] = error[1];
            x[1] = low + GOLDEN * (high - low);
        }
        error[lower ? 0 : 1] = error_at(s, first, x[lower ? 0 : 1]);
    }
    return error_at(s, first, (low + high) / 2);
}

static void bound(struct search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct xfp_stream_point *p = &s->points[i];

        s->high[0] = fmax(s->high[0], p->median_ns / (double)p->bytes);
        s->high[1] = i ? fmin(s->high[1], p->median_ns) : p->median_ns;
        if (p->streams > 1)
            s->high[2] = fmax(s->high[2], p->median_ns / (p->streams - 1));
    }
}

static bool sizes_differ(const struct xfp_stream_point *points, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (points[i].bytes != points[0].bytes)
            return true;
    return false;
}

struct xfp_fit xfp_fit_streams(const struct xfp_stream_point *points, size_t count,
                               uint64_t first_bytes, double first_ns)
{
    struct search s = {.fit = {.g_ns = NAN}, .points = points, .count = count};
    struct xfp_fit *fit = &s.fit;
    double time = 0, bytes = 0;

    for (size_t i = 0; i < count; i++) {
        if (points[i].streams != 1 || points[i].bytes <= first_bytes)
            continue;
        time += points[i].median_ns - first_ns;
        bytes += (double)(points[i].bytes - first_bytes);
        if (fewest_bytes(&points[i], fit->fit_min_bytes))
            fit->fit_min_bytes = points[i].bytes;
    }
    fit->G_ns_per_byte = bytes > 0 ? time / bytes : 0;
    fit->Lo_ns = fmax(first_ns - (double)first_bytes * fit->G_ns_per_byte, 0);
    bound(&s);
    if (fit->G_ns_per_byte > 0 && first_ns > 0 && s.high[2] > 0) {
        best_from(&s, sizes_differ(points, count) ? 0 : 2);
        fit->valid = isfinite(fit->g_ns);
    }
    fit->max_error = largest_error(fit, points, count);
    return *fit;
}

uint64_t xfp_hybrid_bytes(const struct xfp_staged_point *points, size_t count)
{
    uint64_t from = 0;

    for (size_t i = count; i > 0 && points[i - 1].adaptive_ns < points[i - 1].peer_ns; i--)
        from = points[i - 1].bytes;
    return from;
}

static void free_concurrent(struct xfp_concurrent *c)
{
    free(c->name);
    free(c->flows);
    free(c->points);
}

static void free_streams(struct xfp_streams *c)
{
    free(c->name);
    free(c->points);
}

static void free_staged(struct xfp_staged *c)
{
    free(c->name);
    free(c->points);
    free(c->cells);
}

static void free_overlap(struct xfp_overlap *c)
{
    free(c->name);
}

/* A section: its list in the profile and the functions over it. */
#define SECTION(kind, list, count)                                                                 \
    int xfp_add_##kind(struct xfp_profile *profile, struct xfp_##kind *item)                       \
    {                                                                                              \
        struct xfp_##kind *items;                                                                  \
                                                                                                   \
        for (size_t i = 0; i < profile->count; i++)                                                \
            if (!strcmp(profile->list[i].name, item->name)) {                                      \
                free_##kind(&profile->list[i]);                                                    \
                profile->list[i] = *item;                                                          \
                return 0;                                                                          \
            }                                                                                      \
        items = realloc(profile->list, (profile->count + 1) * sizeof(*items));                     \
        if (!items) {                                                                              \
            free_##kind(item);                                                                     \
            return -1;                                                                             \
        }                                                                                          \
        profile->list = items;                                                                     \
        items[profile->count++] = *item;                                                           \
        return 0;                                                                                  \
    }                                                                                              \
                                                                                                   \
    static void free_all_##kind(struct xfp_profile *profile)                                       \
    {                                                                                              \
        for (size_t i = 0; i < profile->count; i++)                                                \
            free_##kind(&profile->list[i]);                                                        \
        free(profile->list);                                                                       \
    }                                                                                              \
                                                                                                   \
    static bool has_##kind(const struct xfp_profile *profile, const char *name)                    \
    {                                                                                              \
        for (size_t i = 0; i < profile->count; i++)                                                \
            if (profile->list[i].name && !strcmp(profile->list[i].name, name))                     \
                return true;                                                                       \
        return false;                                                                              \
    }

SECTION(concurrent, concurrent, concurrent_count)
SECTION(streams, streams, streams_count)
SECTION(staged, staged, staged_count)
SECTION(overlap, overlap, overlap_count)

void xfp_free_sections(struct xfp_profile *profile)
{
    free_all_concurrent(profile);
    free_all_streams(profile);
    free_all_staged(profile);
    free_all_overlap(profile);
}

bool xfp_has_section(const struct xfp_profile *profile, const char *name)
{
    return has_concurrent(profile, name) || has_streams(profile, name) ||
           has_staged(profile, name) || has_overlap(profile, name);
}
