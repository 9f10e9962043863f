/* The section "By phase". */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

enum column {
    COL_PHASE,
    COL_TIMES,
    COL_TIME,
    COL_COUNT,
    COL_H2D,
    COL_D2H,
    COL_OTHER,
    COL_TOOK,
    COL_LOST,
    COLUMNS
};

static const struct xfa_column columns[COLUMNS] = {
    [COL_PHASE] = {"PHASE", "/:_ ", 0},
    [COL_TIMES] = {"TIMES", NULL, SCOLS_FL_RIGHT},
    [COL_TIME] = {"TIME", NULL, SCOLS_FL_RIGHT},
    [COL_COUNT] = {"TRANSFERS", NULL, SCOLS_FL_RIGHT},
    [COL_H2D] = {"H2D", NULL, SCOLS_FL_RIGHT},
    [COL_D2H] = {"D2H", NULL, SCOLS_FL_RIGHT},
    [COL_OTHER] = {"OTHER", NULL, SCOLS_FL_RIGHT},
    [COL_TOOK] = {"TOOK", NULL, SCOLS_FL_RIGHT},
    [COL_LOST] = {"LOST", NULL, SCOLS_FL_RIGHT},
};

static uint64_t other_bytes(const struct xfa_phase_figures *figures)
{
    uint64_t bytes = 0;
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++)
        if (d != XFT_DIR_H2D && d != XFT_DIR_D2H)
            bytes = xfa_add(bytes, figures->by_direction[d].bytes);
    return bytes;
}

static void set_bytes(struct libscols_line *line, enum column column, uint64_t bytes)
{
    char text[XFA_UNIT_CHARS];
    scols_line_set_data(line, column, bytes ? xfa_bytes_text(text, bytes) : "");
}

/* ns: the sum over `known` of the transfers. */
static void set_time(struct libscols_line *line, enum column column, double ns, uint64_t known,
                     uint64_t transfers)
{
    char text[XFA_UNIT_CHARS];
    xfa_time_text(text, known ? ns : NAN);
    scols_line_refer_data(line, column,
                          xfa_print("%s%s", known && known < transfers ? ">=" : "", text));
}

static void add_row(struct libscols_table *table, const struct xfa_phases *phases,
                    const struct xfa_phase *phase)
{
    const struct xfa_phase_figures *figures = &phase->figures;
    char text[XFA_PHASE_TEXT_CHARS], name[sizeof text + sizeof " (process)"], time[XFA_UNIT_CHARS];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    bool outside = phase == xfa_table_at(&phases->all, 0);
    if (!line)
        return;
    xfa_phase_text(phases, phase, text);
    snprintf(name, sizeof name, "%s%s", text, phase->process ? " (process)" : "");
    xfa_set_cell(line, COL_PHASE, name);
    if (!outside) {
        scols_line_refer_data(line, COL_TIMES, xfa_print("%" PRIu64, figures->times));
        scols_line_set_data(line, COL_TIME, xfa_time_text(time, figures->ns));
    }
    scols_line_refer_data(line, COL_COUNT, xfa_print("%" PRIu64, figures->transfers));
    set_bytes(line, COL_H2D, figures->by_direction[XFT_DIR_H2D].bytes);
    set_bytes(line, COL_D2H, figures->by_direction[XFT_DIR_D2H].bytes);
    set_bytes(line, COL_OTHER, other_bytes(figures));
    set_time(line, COL_TOOK, figures->transfer_ns, figures->timed, figures->transfers);
    set_time(line, COL_LOST, figures->lost_ns, figures->priced, figures->transfers);
}

/* Which columns are empty in rows that are shown. */
struct gaps {
    bool no_bytes, no_time, no_loss;
};

static void look_at(struct gaps *gaps, const struct xfa_phase *phase)
{
    const struct xfa_phase_figures *figures = &phase->figures;
    gaps->no_bytes = gaps->no_bytes || figures->by_direction[XFT_DIR_H2D].bytes == 0 ||
                     figures->by_direction[XFT_DIR_D2H].bytes == 0 || other_bytes(figures) == 0;
    gaps->no_time = gaps->no_time || figures->timed == 0;
    gaps->no_loss = gaps->no_loss || figures->priced == 0;
}

static void write_gaps(const struct gaps *gaps, bool profile, int width, FILE *out)
{
    if (gaps->no_bytes)
        xfa_write_words(out, width, "  ",
                        "nothing moved that way where H2D, D2H or OTHER is empty");
    if (gaps->no_time)
        xfa_write_words(out, width, "  -  ", "TOOK is not known where no transfer's time is");
    if (gaps->no_loss)
        xfa_write_words(out, width, "  -  ", "LOST is not known %s",
                        profile ? "where TOOK is not, or the profile has no such transfers"
                                : "without a machine profile");
}

/* Ranges without begin or end, and ranges beyond the limits. */
static void write_unmatched(const struct xfa_analysis *analysis, int width, FILE *out)
{
    const struct xfa_range_counts *counts = &analysis->counts.ranges;
    uint64_t beyond = xfa_add(analysis->phases.beyond, counts->beyond);
    if (counts->stray_ends)
        xfa_write_words(out, width, "  ",
                        "ends of ranges without a beginning, which change nothing: %" PRIu64,
                        counts->stray_ends);
    if (counts->unended)
        xfa_write_words(out, width, "  ",
                        "ranges without an end, taken to last until the last call: %" PRIu64,
                        counts->unended);
    if (beyond)
        xfa_write_words(out, width, "  ",
                        "ranges beyond the limits, counted to those around them: %" PRIu64, beyond);
}

void xfa_write_phases(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_phases *phases = &report->analysis->phases;
    size_t shown = 0, hidden = 0, empty = 0;
    struct gaps gaps = {false, false, false};
    if (phases->all.count == 0)
        return;
    xfa_write_title(view, out,
                    "By phase (NVTX; a transfer counts in the innermost range of its thread, "
                    "and in ranges of the process)");
    struct libscols_table *table = xfa_text_table(columns, COLUMNS, out);
    const struct xfa_phase **order = xfa_phases_order(phases);
    for (size_t i = 0; table && i < phases->all.count; i++) {
        if (view->filter && !xfa_filter_phase(view->filter, order[i]))
            continue;
        if (order[i]->figures.transfers == 0)
            empty++;
        else if (view->top && shown == view->top)
            hidden++;
        else
            add_row(table, phases, order[i]), look_at(&gaps, order[i]), shown++;
    }
    free(order);
    xfa_text_table_print(table, columns, view->width, out);
    xfa_write_hidden(out, hidden);
    if (empty)
        xfc_print(out, "  ... and %zu without transfers of their own\n", empty);
    write_gaps(&gaps, report->analysis->profile, view->width, out);
    write_unmatched(report->analysis, view->width, out);
}
