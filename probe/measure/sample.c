#include "sample.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"

#define MOST_STEP_NS 400000000u
#define MOST_QUICK_STEP_NS 60000000u
enum { MOST_SPOILED = 20 };

int xfp_sample(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_stats *stats, size_t values)
{
    double samples[XFP_MOST_VALUES][XFP_MOST_SAMPLES], sorted[XFP_MOST_SAMPLES];
    double got[XFP_MOST_VALUES] = {0};
    uint64_t until;
    size_t n = 0;
    int spoiled = 0;

    memset(stats, 0, values * sizeof(*stats));
    if (once(s, state, got))
        return -1;
    for (until = xfp_wall_ns() + budget_ns; !xfp_interrupted();) {
        memcpy(sorted, samples[0], n * sizeof(*sorted));
        if (xfp_enough(s, sorted, n, until))
            break;
        if (once(s, state, got))
            return -1;
        if (!(got[0] > 0) && ++spoiled == MOST_SPOILED)
            break;
        for (size_t v = 0; v < values; v++)
            samples[v][n] = got[v];
        n += got[0] > 0;
    }
    for (size_t v = 0; v < values && n >= XFP_FEWEST_SAMPLES; v++)
        stats[v] = xfp_stats_of(samples[v], n);
    return 0;
}

static void set_point(struct xfp_point *point, const struct xfp_stats *stats)
{
    point->n = (uint32_t)stats->n;
    point->median_ns = stats->median;
    point->min_ns = stats->min;
    point->max_ns = stats->max;
    point->ci_low_ns = stats->ci_low;
    point->ci_high_ns = stats->ci_high;
}

int xfp_repeat(struct xfp_session *s, xfp_once *once, void *state, uint64_t budget_ns,
               struct xfp_point *point)
{
    struct xfp_stats stats;
    int bad = xfp_sample(s, once, state, budget_ns, &stats, 1);

    if (!bad)
        set_point(point, &stats);
    return bad;
}

uint64_t xfp_step_ns(const struct xfp_session *s, size_t left)
{
    uint64_t now = xfp_wall_ns(), most = s->options->quick ? MOST_QUICK_STEP_NS : MOST_STEP_NS;
    uint64_t step = s->bench_deadline_ns > now ? (s->bench_deadline_ns - now) / 5 * 4 : 0;

    step /= left ? left : 1;
    return step < most ? step : most;
}

static bool one_size(const struct xfp_session *s)
{
    return s->options->min_bytes == s->options->max_bytes;
}

size_t xfp_coarse_most(const struct xfp_session *s, uint64_t most)
{
    return one_size(s) || s->most_bytes < most ? s->most_bytes : most;
}

size_t xfp_coarse_sizes(const struct xfp_session *s, uint64_t least, uint64_t most, uint64_t *sizes,
                        size_t room)
{
    int shift = s->options->quick ? 4 : 2;
    size_t count = 0;

    if (one_size(s) && s->options->min_bytes >= least) {
        sizes[0] = s->options->min_bytes;
        return sizes[0] <= most;
    }
    for (uint64_t bytes = least; bytes <= most && count < room; bytes <<= shift)
        if (bytes >= s->options->min_bytes && bytes <= s->options->max_bytes)
            sizes[count++] = bytes;
    return count;
}

bool xfp_has_sizes(const struct xfp_session *s, uint64_t least, uint64_t most)
{
    uint64_t one;

    if (one_size(s))
        return s->options->min_bytes >= least;
    return xfp_coarse_sizes(s, least, most, &one, 1);
}

bool xfp_gate_usable(const struct xfp_device *d)
{
    return d->gate && d->gave_up < 3;
}

int xfp_elapsed(struct xfp_session *s, xcu_event from, xcu_event to, double *ns)
{
    float ms = 0;
    int bad = xfp_check(s, s->cu->cuEventElapsedTime(&ms, from, to), "reading events");

    *ns = (double)ms * 1e6;
    return bad;
}

/* Events: 0 start, 1 end of the first, 2 end of the second. */
static xcu_result queue_timed(struct xfp_session *s, const struct xfp_timed *t)
{
    const struct xfp_driver *cu = s->cu;
    struct xfp_device *d = t->device;
    xcu_result result = t->lead ? t->lead(s, t->state, d->stream) : XCU_SUCCESS;

    if (!result)
        result = cu->cuEventRecord(d->events[0], d->stream);
    if (!result && t->second)
        result = cu->cuStreamWaitEvent(t->other, d->events[0], 0);
    if (!result)
        result = t->first(s, t->state, d->stream);
    if (!result && t->second)
        result = t->second(s, t->state, t->other);
    if (!result)
        result = cu->cuEventRecord(d->events[1], d->stream);
    if (!result && t->second)
        result = cu->cuEventRecord(d->events[2], t->other);
    return result;
}

/* 1: the gate gave up, to be repeated; 0; -1. */
static int run_timed(struct xfp_session *s, const struct xfp_timed *t)
{
    const struct xfp_driver *cu = s->cu;
    bool gated = t->gated && xfp_gate_usable(t->device);
    xcu_result queued, done;

    if (t->prepare && t->prepare(s, t->state))
        return -1;
    if (gated && xfp_gate_close(s, t->device))
        return -1;
    queued = queue_timed(s, t);
    if (gated)
        xfp_gate_open(t->device);
    done = cu->cuStreamSynchronize(t->device->stream);
    if (!done && t->second)
        done = cu->cuStreamSynchronize(t->other);
    if (xfp_check(s, queued ? queued : done, "measuring"))
        return -1;
    return gated && !xfp_gate_held(t->device);
}

int xfp_once_timed(struct xfp_session *s, void *timed, double *ns)
{
    const struct xfp_timed *t = timed;
    xcu_event *events = t->device->events;
    double second = 0;
    int state;

    do
        state = run_timed(s, t);
    while (state > 0);
    if (state || xfp_elapsed(s, events[0], events[1], ns))
        return -1;
    if (t->second && xfp_elapsed(s, events[0], events[2], &second))
        return -1;
    *ns = second > *ns ? second : *ns;
    return 0;
}

static struct xfp_cost cost_of(const struct xfp_stats *stats)
{
    return (struct xfp_cost){(uint32_t)stats->n, stats->median, stats->min,
                             stats->max,         stats->ci_low, stats->ci_high};
}

static char *name_of(const char *format, va_list args)
{
    char name[128];

    vsnprintf(name, sizeof(name), format, args);
    return strdup(name);
}

int xfp_add_scalar(struct xfp_session *s, const char *unit, const struct xfp_stats *stats,
                   const char *format, ...)
{
    struct xfp_profile *p = s->profile;
    struct xfp_scalar *scalars, *new;
    va_list args;

    if (!stats->n || !(stats->median > 0))
        return 0;
    scalars = realloc(p->scalars, (p->scalar_count + 1) * sizeof(*scalars));
    if (!scalars)
        return xfp_fail(s, "out of memory");
    p->scalars = scalars;
    new = &scalars[p->scalar_count++];
    va_start(args, format);
    *new = (struct xfp_scalar){name_of(format, args), strdup(unit), cost_of(stats)};
    va_end(args);
    s->results++;
    return new->name &&new->unit ? 0 : xfp_fail(s, "out of memory");
}

void xfp_add_row(struct xfp_rows *rows, uint64_t at, const struct xfp_stats *stats)
{
    if (!stats->n || !(stats->median > 0) ||
        rows->count == sizeof(rows->rows) / sizeof(*rows->rows))
        return;
    rows->rows[rows->count++] = (struct xfp_row){at, cost_of(stats)};
}

int xfp_add_table(struct xfp_session *s, const struct xfp_rows *rows, const char *by,
                  const char *unit, uint64_t bytes, const char *format, ...)
{
    struct xfp_profile *p = s->profile;
    struct xfp_table *tables, *new;
    va_list args;

    if (!rows->count)
        return 0;
    tables = realloc(p->tables, (p->table_count + 1) * sizeof(*tables));
    if (!tables)
        return xfp_fail(s, "out of memory");
    p->tables = tables;
    new = &tables[p->table_count++];
    va_start(args, format);
    *new = (struct xfp_table){.name = name_of(format, args),
                              .by = strdup(by),
                              .unit = strdup(unit),
                              .bytes = bytes,
                              .rows = calloc(rows->count, sizeof(*new->rows))};
    va_end(args);
    s->results++;
    if (!new->name || !new->by || !new->unit || !new->rows)
        return xfp_fail(s, "out of memory");
    memcpy(new->rows, rows->rows, rows->count * sizeof(*new->rows));
    new->row_count = rows->count;
    return 0;
}

void xfp_add_point(struct xfp_path *path, uint64_t bytes, const struct xfp_stats *stats)
{
    if (!stats->n || !(stats->median > 0) || path->point_count == XFP_COARSE_ROOM)
        return;
    path->points[path->point_count].bytes = bytes;
    set_point(&path->points[path->point_count++], stats);
}
