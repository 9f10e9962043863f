#include "analyzer/whatif/changes/new_memory.h"

#include <math.h>
#include <stdio.h>

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/op/recording_cost.h"

/* By how much processes differ: requests that filled new memory took 589 to 728 ms in three of them
 * (docs/results/written-apart-h200-2026-11-29.md). */
#define VARIES 0.25

/* Of one ordinary page: the fault, clearing it, and giving it back, where the profile has no such
 * figures. Guesses: on a virtual machine it took 1.6 to 5 us (docs/method.md). most: where the time
 * that it is taken from is known to be for nothing else. */
static const double page_ns[] = {[XFW_LOW] = 250, [XFW_LIKELY] = 700, [XFW_HIGH] = 1600};
static const double most_page_ns[] = {[XFW_LOW] = 700, [XFW_LIKELY] = 6400, [XFW_HIGH] = 6400};
#define MOST_OF_CALL 0.75 /* guessed faults take no more of a call: it copies, too */

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

double xfw_kept_by_profile_ns(const struct xfw_new_call *call)
{
    double measured =
        xfw_kept_copy_ns(call->achievable, call->direction, call->huge, call->gpu, call->bytes);
    const struct xfp_path *path =
        xfw_host_path(call->achievable, call->direction, XFT_MEM_PAGEABLE, -1, call->gpu);
    struct xfw_copy_cost touched = {0};
    if (path && isnan(measured))
        touched = xfw_copy_cost(path, call->bytes, XFW_LIKELY);
    return touched.known ? touched.blocking_ns : measured;
}

/* What the call took beyond a copy of touched memory, as far as an estimate has it. */
static double guessed_ns(const struct xfw_new_call *call, enum xfw_certainty certainty)
{
    double pages = (double)call->bytes / XFW_PAGE * (call->huge ? XFW_OF_HUGE : 1);
    double most = MOST_OF_CALL * call->took_ns;
    if (isnan(call->kept_ns))
        return xfw_min(most, pages * page_ns[certainty]);
    most = xfw_min(most, xfw_max(0, call->took_ns - call->kept_ns));
    return xfw_min(most, pages * most_page_ns[certainty]);
}

double xfw_new_within_ns(const struct xfw_new_call *call, enum xfw_certainty certainty)
{
    const struct xfw_new_cost faults =
        xfw_new_copy(call->achievable, call->direction, call->huge, call->gpu, call->bytes);
    if (!faults.known)
        return guessed_ns(call, certainty);
    if (isnan(call->kept_ns))
        return xfw_min(call->took_ns, faults.ns[certainty]);
    double longer = xfw_max(0, call->took_ns - call->kept_ns);
    return certainty == XFW_HIGH     ? longer
           : certainty == XFW_LIKELY ? xfw_min(longer, faults.ns[XFW_HIGH])
                                     : xfw_min(longer, faults.ns[XFW_LIKELY]);
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

double xfw_touching_ns(const struct xfa_achievable *achievable, uint64_t bytes,
                       enum xfw_certainty certainty)
{
    const struct xfw_new_cost cost = xfw_new_touched(achievable, false, 1, bytes);
    enum xfw_certainty costs = xfw_opposite(certainty);
    return cost.known ? cost.ns[costs] : (double)bytes / XFW_PAGE * page_ns[costs];
}

double xfw_touching_part(const struct xfa_achievable *achievable, unsigned threads)
{
    return threads > 1 && host_table(achievable, "touch-threads", false)
               ? xfw_min(1, contended(achievable, threads) / threads)
               : 1;
}

struct xfw_new_cost xfw_new_released(const struct xfa_achievable *achievable, bool huge,
                                     uint64_t bytes)
{
    double error = 0, ns = scaled(host_table(achievable, "release", huge), bytes, &error);
    return cost_of(achievable, ns, error, 1);
}
