#include "probe/measure/results.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "probe/measure/sample.h"
#include "probe/measure/sizes.h"

#define UNIT "ns"

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

static int add_scalar(struct xfp_session *s, const struct xfp_stats *stats, const char *format,
                      va_list args)
{
    struct xfp_profile *p = s->profile;
    struct xfp_scalar *new;

    if (!xfc_resize(&p->scalars, p->scalar_count + 1, sizeof(*new)))
        return xfp_fail(&s->sys, "out of memory");
    new = &p->scalars[p->scalar_count++];
    *new = (struct xfp_scalar){name_of(format, args), strdup(UNIT), cost_of(stats)};
    s->results++;
    return new->name &&new->unit ? 0 : xfp_fail(&s->sys, "out of memory");
}

int xfp_add_scalar(struct xfp_session *s, const struct xfp_stats *stats, const char *format, ...)
{
    va_list args;
    int bad;

    if (!stats->n || !(stats->median > 0))
        return 0;
    va_start(args, format);
    bad = add_scalar(s, stats, format, args);
    va_end(args);
    return bad;
}

static double not_below_0(double ns)
{
    return ns > 0 ? ns : 0;
}

int xfp_add_added(struct xfp_session *s, const struct xfp_stats *stats, const char *format, ...)
{
    struct xfp_stats added = {.n = stats->n,
                              .median = not_below_0(stats->median),
                              .min = not_below_0(stats->min),
                              .max = not_below_0(stats->max),
                              .ci_low = not_below_0(stats->ci_low),
                              .ci_high = not_below_0(stats->ci_high)};
    va_list args;
    int bad;

    if (stats->n < XFP_FEWEST_SAMPLES)
        return 0;
    va_start(args, format);
    bad = add_scalar(s, &added, format, args);
    va_end(args);
    return bad;
}

void xfp_add_row(struct xfp_rows *rows, uint64_t at, const struct xfp_stats *stats)
{
    if (!stats->n || !(stats->median > 0) ||
        rows->count == sizeof(rows->rows) / sizeof(*rows->rows))
        return;
    rows->rows[rows->count++] = (struct xfp_row){at, cost_of(stats)};
}

int xfp_add_table(struct xfp_session *s, const struct xfp_rows *rows, enum xfp_by by,
                  uint64_t bytes, const char *format, ...)
{
    struct xfp_profile *p = s->profile;
    struct xfp_table *new;
    va_list args;

    if (!rows->count)
        return 0;
    if (!xfc_resize(&p->tables, p->table_count + 1, sizeof(*new)))
        return xfp_fail(&s->sys, "out of memory");
    new = &p->tables[p->table_count++];
    va_start(args, format);
    *new = (struct xfp_table){.name = name_of(format, args),
                              .by = strdup(xfp_by_word(by)),
                              .unit = strdup(UNIT),
                              .bytes = bytes,
                              .rows = calloc(rows->count, sizeof(*new->rows))};
    va_end(args);
    s->results++;
    if (!new->name || !new->by || !new->unit || !new->rows)
        return xfp_fail(&s->sys, "out of memory");
    memcpy(new->rows, rows->rows, rows->count * sizeof(*new->rows));
    new->row_count = rows->count;
    return 0;
}

void xfp_add_point(struct xfp_path *path, uint64_t bytes, const struct xfp_stats *stats)
{
    if (!stats->n || !(stats->median > 0) || path->point_count == XFP_COARSE_ROOM)
        return;
    path->points[path->point_count].bytes = bytes;
    xfp_set_point(&path->points[path->point_count++], stats);
}
