/* The section "Transfers". */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"

#define FOLDED_WIDTH 100 /* below it the function is on a line of its own, under the site */

enum column {
    COL_SITE,
    COL_CALL,
    COL_PATH,
    COL_COUNT,
    COL_BYTES,
    COL_SIZE,
    COL_HAD,
    COL_BEST,
    COL_LOST,
    COLUMNS
};

struct layout {
    struct xfa_column columns[COLUMNS];
    bool folded;
};

static struct layout layout_of(int width, bool other_machine)
{
    bool folded = width < FOLDED_WIDTH;
    return (struct layout){
        .columns =
            {
                [COL_SITE] = {folded ? "SITE, FUNCTION" : "CALL SITE", XFA_SITE_BREAKS, 0},
                [COL_CALL] = {"FUNCTION", XFA_SITE_BREAKS, folded ? SCOLS_FL_HIDDEN : 0},
                [COL_PATH] = {"TRANSFER", " >", 0},
                [COL_COUNT] = {"COUNT", NULL, SCOLS_FL_RIGHT},
                [COL_BYTES] = {"BYTES", NULL, SCOLS_FL_RIGHT},
                [COL_SIZE] = {"SIZE", "-", SCOLS_FL_RIGHT},
                [COL_HAD] = {"ACHIEVED", NULL, SCOLS_FL_RIGHT},
                [COL_BEST] = {other_machine ? "ACHIEVABLE*" : "ACHIEVABLE", " ", SCOLS_FL_RIGHT},
                [COL_LOST] = {"LOST", NULL, SCOLS_FL_RIGHT},
            },
        .folded = folded,
    };
}

static void set_size(struct libscols_line *line, const struct xfa_figures *figures)
{
    char least[XFA_UNIT_CHARS], most[XFA_UNIT_CHARS];
    xfa_bytes_text(least, figures->smallest);
    xfa_bytes_text(most, figures->largest);
    if (figures->smallest == figures->largest)
        scols_line_set_data(line, COL_SIZE, most);
    else
        scols_line_refer_data(line, COL_SIZE, xfa_print("%s-%s", least, most));
}

/* Host time is an upper bound: what was achieved is at least this. */
static char *achieved_text(const struct xfa_figures *figures)
{
    char gbps[XFA_UNIT_CHARS];
    enum xfa_basis basis = xfa_achieved_basis(figures);
    bool least = basis == XFA_BASIS_HOST || basis == XFA_BASIS_MIXED;
    xfa_gbps_text(gbps, xfa_achieved_gbps(figures));
    return xfa_print("%s%s", least ? ">=" : "", gbps);
}

static char *achievable_text(const struct xfa_figures *figures)
{
    char gbps[XFA_UNIT_CHARS];
    double error = xfa_achievable_error(figures);
    xfa_gbps_text(gbps, xfa_achievable_gbps(figures));
    if (isnan(error) || error < 0.0005)
        return xfa_text(gbps);
    return xfa_print("%s +-%.*f%%", gbps, error < 0.0995 ? 1 : 0, error * 100);
}

static void set_site(struct libscols_line *line, const struct xfa_row *row, bool folded)
{
    const char *site = row->site->text, *call = xfa_row_called(row)->name;
    if (!folded) {
        xfa_set_cell(line, COL_SITE, site);
        xfa_set_cell(line, COL_CALL, call);
        return;
    }
    char *above = xfa_clean(site, strlen(site)), *below = xfa_clean(call, strlen(call));
    scols_line_refer_data(line, COL_SITE, xfa_print("%s\n%s", above, below));
    free(above);
    free(below);
}

static void add_row(struct libscols_table *table, const struct xfa_analysis *analysis,
                    const struct xfa_view *view, uint32_t number, bool folded)
{
    const struct xfa_row *row = xfa_analysis_row(analysis, number);
    const struct xfa_figures *figures = xfa_view_figures(analysis, view, number);
    char text[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line)
        return;
    set_site(line, row, folded);
    scols_line_refer_data(line, COL_PATH, xfa_path_text(&row->key, analysis->run->gpu_count <= 1));
    scols_line_refer_data(line, COL_COUNT, xfa_print("%" PRIu64, figures->transfers));
    scols_line_set_data(line, COL_BYTES, xfa_bytes_text(text, figures->bytes));
    set_size(line, figures);
    scols_line_refer_data(line, COL_HAD, achieved_text(figures));
    scols_line_refer_data(line, COL_BEST, achievable_text(figures));
    scols_line_set_data(line, COL_LOST, xfa_time_text(text, xfa_lost_ns(figures)));
}

#define FAR_ABOVE 1.1 /* more than two measurements differ by */

/* Which marks and missing figures the shown rows have. */
struct marks {
    bool host, no_time, no_profile, not_measured, above;
};

static struct marks marks_of(const struct xfa_analysis *analysis, const struct xfa_view *view,
                             const uint32_t *rows, size_t shown)
{
    struct marks marks = {0};
    for (size_t i = 0; i < shown; i++) {
        const struct xfa_figures *figures = xfa_view_figures(analysis, view, rows[i]);
        bool no_best = isnan(xfa_achievable_gbps(figures));
        marks.above =
            marks.above || xfa_achieved_gbps(figures) > FAR_ABOVE * xfa_achievable_gbps(figures);
        marks.host = marks.host || figures->host.transfers;
        marks.no_time = marks.no_time || isnan(xfa_achieved_gbps(figures));
        marks.no_profile = marks.no_profile || (no_best && !analysis->profile);
        marks.not_measured = marks.not_measured || (no_best && analysis->profile);
    }
    return marks;
}

static void write_legend(const struct xfa_analysis *analysis, const struct xfa_view *view,
                         const uint32_t *rows, size_t shown, FILE *out)
{
    const struct marks marks = marks_of(analysis, view, rows, shown);
    if (marks.host)
        xfa_write_paragraph(
            out, "  >=  ",
            "from the host's time in a blocking call, which includes waiting for earlier "
            "work: at least this was achieved, at most this was lost",
            view->width);
    if (marks.above && analysis->achievable.match != XFA_MATCH_NO)
        xfa_write_paragraph(
            out, "      ",
            "ACHIEVED is far above ACHIEVABLE where the device timed small copies by "
            "themselves, or where a cache still held the data: nothing is lost "
            "there",
            view->width);
    if (marks.no_time)
        xfa_write_paragraph(out, "  -   ",
                            "ACHIEVED is not known where the device's times were not recorded and "
                            "the call returned before the copy was done",
                            view->width);
    if (marks.no_profile)
        xfa_write_paragraph(out, "  -   ",
                            "ACHIEVABLE and LOST are not known without a machine profile",
                            view->width);
    if (marks.not_measured)
        xfa_write_paragraph(out, "  -   ",
                            "ACHIEVABLE is not known where the profile has no such transfers",
                            view->width);
    if (analysis->achievable.match == XFA_MATCH_NO)
        xfa_write_paragraph(out, "  *   ",
                            "of another machine than the run's, see \"Machine profile\"",
                            view->width);
}

static void write_rows(const struct xfa_analysis *analysis, const struct xfa_view *view, FILE *out)
{
    size_t count;
    uint32_t *rows = xfa_view_rows(analysis, view, &count);
    size_t shown = xfa_view_shown(view, count);
    bool other_machine = analysis->achievable.match == XFA_MATCH_NO;
    struct layout layout = layout_of(view->width, other_machine);
    struct libscols_table *table = xfa_text_table(layout.columns, COLUMNS, out);
    for (size_t i = 0; table && i < shown; i++)
        add_row(table, analysis, view, rows[i], layout.folded);
    xfa_text_table_print(table, layout.columns, view->width, out);
    xfa_write_hidden(out, count - shown);
    if (count)
        write_legend(analysis, view, rows, shown, out);
    else
        fputs("  none\n", out);
    free(rows);
}

void xfa_write_transfers(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    xfa_write_title(view, out,
                    "Transfers, by call site and kind (ACHIEVED and ACHIEVABLE in GB/s, 10^9 "
                    "bytes/s)");
    write_rows(report->analysis, view, out);
}
