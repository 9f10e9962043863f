#include "analyzer/live/rates.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "common/text.h"

#define LINE_BYTES 1024

/* What one line is about. */
struct moved {
    const struct xfa_live_row *row; /* of a site; of a kind: its first */
    uint64_t transfers, bytes;
};

static int by_bytes(const void *a, const void *b)
{
    const struct moved *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->transfers != y->transfers)
        return x->transfers > y->transfers ? -1 : 1;
    return xfa_live_row_order(x->row, y->row);
}

static const struct xfa_live_row *found(const struct xfa_look *look, const struct xfa_live_row *row)
{
    return look ? bsearch(row, look->rows, look->row_count, sizeof *row, xfa_live_row_order) : NULL;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static size_t moved_by_site(const struct xfa_look *before, const struct xfa_look *now,
                            struct moved *list)
{
    size_t count = 0;
    for (size_t i = 0; i < now->row_count; i++) {
        const struct xfa_live_row *row = &now->rows[i], *was = found(before, row);
        struct moved moved = {row, more(row->transfers, was ? was->transfers : 0),
                              more(row->bytes, was ? was->bytes : 0)};
        if (moved.transfers)
            list[count++] = moved;
    }
    qsort(list, count, sizeof *list, by_bytes);
    return count;
}

static bool same_kind(const struct xfa_live_row *a, const struct xfa_live_row *b)
{
    char x[64], y[64];
    return strcmp(xfa_live_kind(a, x), xfa_live_kind(b, y)) == 0;
}

static size_t moved_by_kind(const struct moved *sites, size_t count, struct moved *list)
{
    size_t kinds = 0;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < kinds && !same_kind(list[k].row, sites[i].row))
            k++;
        if (k == kinds)
            list[kinds++] = (struct moved){sites[i].row, 0, 0};
        list[k].transfers += sites[i].transfers;
        list[k].bytes += sites[i].bytes;
    }
    qsort(list, kinds, sizeof *list, by_bytes);
    return kinds;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void write_line(const struct xfa_live_view *view, const char *line, FILE *out)
{
    int bytes = (int)strnlen(line, view->width > 0 ? (size_t)view->width : 0);
    while (bytes > 0 && ((unsigned char)line[bytes] & 0xc0) == 0x80)
        bytes--;
    fprintf(out, "%.*s%s\n", view->terminal ? bytes : (int)strlen(line), line,
            view->terminal ? "\033[K" : "");
}

/* "  1.20 GB/s   300/s  H2D pageable  train_step (train.py:19)" */
static void write_moved(const struct moved *moved, double seconds, bool site,
                        const struct xfa_live_view *view, FILE *out)
{
    char kind[64], gbps[XFA_UNIT_CHARS], line[LINE_BYTES];
    xfa_gbps_text(gbps, (double)moved->bytes / seconds / 1e9);
    snprintf(line, sizeof line, "%*s%8s GB/s %8.0f/s  %-16s%s%s%s%s", site ? 4 : 2, "", gbps,
             (double)moved->transfers / seconds, xfa_live_kind(moved->row, kind), site ? "  " : "",
             site ? moved->row->site : "", site ? ", " : "", site ? moved->row->function : "");
    write_line(view, line, out);
}

static void write_head(const struct xfa_look *before, const struct xfa_look *now, double seconds,
                       const struct xfa_live_view *view, FILE *out)
{
    char bytes[XFA_UNIT_CHARS], run[XFA_UNIT_CHARS], rate[XFA_UNIT_CHARS], line[LINE_BYTES];
    uint64_t moved = more(now->bytes, before ? before->bytes : 0);
    uint64_t count = more(now->transfers, before ? before->transfers : 0);
    snprintf(line, sizeof line,
             "%s: %s GB/s, %.0f transfers/s %s; in all %s in %llu; %zu of %zu "
             "process%s work%s%s",
             xfa_time_text(run, now->run_s * 1e9),
             xfa_gbps_text(rate, (double)moved / seconds / 1e9), (double)count / seconds,
             before ? "now" : "since the start", xfa_bytes_text(bytes, now->bytes),
             (unsigned long long)now->transfers, now->working, now->processes,
             now->processes == 1 ? "" : "es", now->working == 1 ? "s" : "",
             now->simulated ? " (simulated GPU)" : "");
    write_line(view, line, out);
}

void xfa_rates_write(const struct xfa_look *before, const struct xfa_look *now,
                     const struct xfa_live_view *view, FILE *out)
{
    struct moved *sites = xfa_alloc((now->row_count + 1) * sizeof *sites);
    struct moved *kinds = xfa_alloc((now->row_count + 1) * sizeof *kinds);
    double seconds = before ? now->at_s - before->at_s : now->run_s;
    size_t count = moved_by_site(before, now, sites);
    size_t kind_count = moved_by_kind(sites, count, kinds);
    if (!(seconds > 0))
        seconds = 1e-9;
    if (view->terminal)
        fputs("\033[H", out);
    write_head(before, now, seconds, view, out);
    for (size_t i = 0; i < kind_count; i++)
        write_moved(&kinds[i], seconds, false, view, out);
    for (size_t i = 0; i < count && i < view->top; i++)
        write_moved(&sites[i], seconds, true, view, out);
    if (view->terminal)
        fputs("\033[J", out);
    fflush(out);
    free(sites);
    free(kinds);
}
