#include "analyzer/whatif/changes/rows.h"

#include <math.h>

/* What each row takes beyond its part of a contiguous copy, in a table of copies by the length of
 * their rows; NAN: not measured. */
static double more_ns(const struct xfa_achievable *achievable, const char *what,
                      const struct xfw_rows_way *way, uint64_t row_bytes,
                      enum xfw_certainty certainty)
{
    const struct xfp_table *table = xfw_gpu_table(achievable, what, way->node, way->gpu);
    if (!table || !table->row_count || !table->bytes)
        return NAN;
    uint64_t shortest = table->rows[0].at, longest = table->rows[table->row_count - 1].at;
    if (row_bytes >= longest) /* nothing is known of longer ones, and they hardly cost more */
        return 0;
    uint64_t at = row_bytes > shortest ? row_bytes : shortest;
    struct xfp_estimate rows = xfp_table_at(table, at), one = xfp_time(way->path, table->bytes);
    if (rows.basis == XFP_UNKNOWN || one.basis == XFP_UNKNOWN)
        return NAN;
    double all_ns = xfw_as_sure(rows.ns, rows.error, certainty) - one.ns;
    double each_ns = xfw_max(0, all_ns) * (double)at / (double)table->bytes;
    if (row_bytes >= shortest)
        return each_ns;
    double part = (double)(shortest - row_bytes) / (double)shortest;
    double bytes_ns = part * one.ns * (double)shortest / (double)table->bytes;
    return certainty == XFW_HIGH     ? each_ns * (1 - part)
           : certainty == XFW_LIKELY ? each_ns + bytes_ns
                                     : 2 * (each_ns + bytes_ns);
}

struct xfw_copy_cost xfw_rows_cost(const struct xfa_achievable *achievable,
                                   const struct xfw_rows_way *way, uint64_t bytes,
                                   uint64_t row_bytes, enum xfw_certainty certainty)
{
    bool up = way->direction == XFT_DIR_H2D;
    struct xfw_copy_cost cost = xfw_copy_cost(way->path, bytes, certainty);
    if (!cost.known || row_bytes == 0 || row_bytes >= bytes)
        return cost;
    double more = more_ns(achievable, up ? "copy-2d/pinned/h2d" : "copy-2d/pinned/d2h", way,
                          row_bytes, certainty);
    if (certainty == XFW_LOW)
        more = fmax(more, more_ns(achievable, up ? "copy-3d/pinned/h2d" : "copy-3d/pinned/d2h", way,
                                  row_bytes, certainty));
    if (isnan(more) && certainty == XFW_LOW)
        return (struct xfw_copy_cost){0};
    double ns = isnan(more) ? 0 : more * (double)bytes / (double)row_bytes;
    cost.device_ns += ns;
    cost.blocking_ns += ns;
    return cost;
}

static bool same_way(const struct xfw_rows_way *a, const struct xfw_rows_way *b)
{
    return a->direction == b->direction && a->node == b->node && a->gpu == b->gpu &&
           a->path == b->path;
}

struct xfw_copy_cost xfw_asked_rows(struct xfw_asked_rows *asked,
                                    const struct xfa_achievable *achievable,
                                    const struct xfw_rows_way *way, uint64_t bytes,
                                    uint64_t row_bytes, enum xfw_certainty certainty)
{
    for (unsigned i = 0; i < XFW_ASKED_ROWS; i++) {
        const struct xfw_asked_row *row = &asked->rows[i];
        if (row->bytes == bytes && row->row_bytes == row_bytes && row->certainty == certainty &&
            row->way.path && same_way(&row->way, way))
            return row->cost;
    }
    struct xfw_asked_row *row = &asked->rows[asked->next++ % XFW_ASKED_ROWS];
    *row = (struct xfw_asked_row){*way, bytes, row_bytes, certainty,
                                  xfw_rows_cost(achievable, way, bytes, row_bytes, certainty)};
    return row->cost;
}
