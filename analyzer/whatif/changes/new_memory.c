#include "analyzer/whatif/changes/new_memory.h"

#include <math.h>
#include <stdio.h>

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/op/recording_cost.h"

/* By how much processes differ: requests that filled new memory took 589 to 728 ms in three of them
 * (docs/results/written-apart-h200-2026-11-29.md). */
#define VARIES 0.25

static const char *page_word(bool huge)
{
    return huge ? "huge-pages" : "pages";
}

static const struct xfp_table *copy_table(const struct xfa_achievable *achievable, const char *what,
                                          enum xft_direction direction, bool huge, int gpu)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s/%s", what, page_word(huge),
             direction == XFT_DIR_H2D ? "h2d" : "d2h");
    return xfw_gpu_table(achievable, name, -1, gpu);
}

static const struct xfp_table *host_table(const struct xfa_achievable *achievable, const char *what,
                                          bool huge)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%s/host", what, page_word(huge));
    return achievable->profile ? xfp_find_table(achievable->profile, name) : NULL;
}

/* Beyond what was measured each page takes what one did there: xfp_table_at() is cautious about
 * lines that go on, and below the first row it has that row. */
static double scaled(const struct xfp_table *table, uint64_t bytes, double *error)
{
    if (!table || table->row_count == 0)
        return NAN;
    uint64_t least = table->rows[0].at, most = table->rows[table->row_count - 1].at;
    uint64_t at = bytes < least ? least : bytes > most ? most : bytes;
    struct xfp_estimate cost = xfp_table_at(table, at);
    if (cost.basis == XFP_UNKNOWN || at == 0)
        return NAN;
    *error = fmax(*error, cost.error);
    return cost.ns * ((double)bytes / (double)at);
}

/* How far the driver's calls differ between processes widens all savings (xfw_unsure_ns()): at
 * worst that is not counted twice. */
static struct xfw_new_cost cost_of(const struct xfa_achievable *achievable, double ns, double error,
                                   double at_best)
{
    double speed = achievable->profile ? xfw_speed_error(achievable->profile) : 0;
    double own = fmin(error, 0.5), varies = fmax(VARIES, own);
    if (!(ns >= 0))
        return (struct xfw_new_cost){0};
    return (struct xfw_new_cost){.known = true,
                                 .ns = {[XFW_LOW] = ns * (1 - fmax(own, varies - speed)),
                                        [XFW_LIKELY] = ns,
                                        [XFW_HIGH] = ns * (1 + varies) * at_best}};
}

struct xfw_new_cost xfw_new_copy(const struct xfa_achievable *achievable,
                                 enum xft_direction direction, bool huge, int gpu, uint64_t bytes)
{
    double error = 0, kept = xfw_kept_copy_ns(achievable, direction, huge, gpu, bytes);
    double ns =
        scaled(copy_table(achievable, "new-copy", direction, huge, gpu), bytes, &error) - kept;
    return cost_of(achievable, ns < 0 ? 0 : ns, error, 1);
}

double xfw_kept_copy_ns(const struct xfa_achievable *achievable, enum xft_direction direction,
                        bool huge, int gpu, uint64_t bytes)
{
    double error = 0;
    return scaled(copy_table(achievable, "kept-copy", direction, huge, gpu), bytes, &error);
}

/* What so many threads take of the time of one, where they do it all at once, each as much. */
static double contended(const struct xfa_achievable *achievable, unsigned threads)
{
    const struct xfp_table *table = host_table(achievable, "touch-threads", false);
    struct xfp_estimate one = {0}, all = {0};
    if (threads < 2 || !table)
        return 1;
    one = xfp_table_at(table, 1);
    all = xfp_table_at(table, threads);
    if (one.basis == XFP_UNKNOWN || all.basis == XFP_UNKNOWN || !(one.ns > 0))
        return 1;
    return fmax(1, all.ns * threads / one.ns);
}

struct xfw_new_cost xfw_new_touched(const struct xfa_achievable *achievable, bool huge,
                                    unsigned threads, uint64_t bytes)
{
    double error = 0, ns = scaled(host_table(achievable, "touch", huge), bytes, &error);
    return cost_of(achievable, ns, error, contended(achievable, threads));
}

struct xfw_new_cost xfw_new_released(const struct xfa_achievable *achievable, bool huge,
                                     uint64_t bytes)
{
    double error = 0, ns = scaled(host_table(achievable, "release", huge), bytes, &error);
    return cost_of(achievable, ns, error, 1);
}
