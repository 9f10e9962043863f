/* The section "Waits of the host". */
#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_WAITS 10 /* at most, unless --top 0 */

enum column { COL_SITE, COL_CALL, COL_TIMES, COL_TIME, COL_LONGEST, COLUMNS };

static const struct xfa_column columns[COLUMNS] = {
    [COL_SITE] = {"CALL SITE", XFA_SITE_BREAKS, 0},
    [COL_CALL] = {"FUNCTION", XFA_SITE_BREAKS, 0},
    [COL_TIMES] = {"TIMES", NULL, SCOLS_FL_RIGHT},
    [COL_TIME] = {"TIME", NULL, SCOLS_FL_RIGHT},
    [COL_LONGEST] = {"LONGEST", NULL, SCOLS_FL_RIGHT},
};

static void add_row(struct libscols_table *table, const struct xfa_run *run,
                    const struct xfa_wait *wait)
{
    char text[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (!line)
        return;
    xfa_set_cell(line, COL_SITE, xfa_run_site(run, wait->key.site)->text);
    xfa_set_cell(line, COL_CALL, xfa_run_function(run, wait->key.function)->name);
    scols_line_refer_data(line, COL_TIMES, xfa_print("%" PRIu64, wait->times));
    scols_line_set_data(line, COL_TIME, xfa_time_text(text, wait->ns));
    scols_line_set_data(line, COL_LONGEST, xfa_time_text(text, wait->most_ns));
}

static void write_table(const struct xfa_wait **order, size_t count, const struct xfa_run *run,
                        const struct xfa_view *view, FILE *out)
{
    size_t shown = xfa_view_shown(view, count);
    if (view->top && shown > SHOWN_WAITS)
        shown = SHOWN_WAITS;
    xfa_write_title(view, out, "Waits of the host, by call site");
    struct libscols_table *table = xfa_text_table(columns, COLUMNS, out);
    for (size_t i = 0; table && i < shown; i++)
        add_row(table, run, order[i]);
    xfa_text_table_print(table, columns, view->width, out);
    xfa_write_hidden(out, count - shown);
}

void xfa_write_waits(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_waits *waits = &report->analysis->waits;
    const struct xfa_run *run = report->analysis->run;
    const struct xfa_wait **order = xfa_waits_order(waits);
    size_t count = 0;
    for (size_t i = 0; i < waits->all.count; i++)
        if (!view->filter || xfa_filter_site(view->filter, xfa_run_site(run, order[i]->key.site)))
            order[count++] = order[i];
    if (count > 0)
        write_table(order, count, run, view, out);
    free(order);
}
