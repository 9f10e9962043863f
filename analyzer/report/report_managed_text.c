/* Managed memory, for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "analyzer/report/report.h"
#include "analyzer/report/report_text.h"
#include "analyzer/base/units.h"

#define SHOWN_FAULTS 5 /* kernels and lines, for each site */

static const char *cause_word(size_t cause)
{
    static const char *const words[XFA_MIGRATION_CAUSES] = {
#define PHRASE(symbol, number, word, phrase) [symbol] = phrase,
        XFT_CAUSE_LIST(PHRASE)
#undef PHRASE
    };
    return words[cause];
}

static void write_moved(const struct xfa_managed_figures *f, FILE *out)
{
    char text[XFA_UNIT_CHARS];
    const char *before = "     moved ";
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        if (f->bytes[d] == 0)
            continue;
        xfc_print(out, "%s%s %s", before, xft_direction_word(d), xfa_bytes_text(text, f->bytes[d]));
        before = ", ";
    }
    if (f->migrations)
        xfc_print(out, " in %" PRIu64 " migration%s, %s", f->migrations,
                  f->migrations == 1 ? "" : "s", xfa_time_text(text, f->migration_ns));
    before = ": ";
    for (size_t cause = 0; cause < XFA_MIGRATION_CAUSES; cause++) {
        if (f->by_cause[cause] == 0)
            continue;
        xfc_print(out, "%s%s %s", before, xfa_bytes_text(text, f->by_cause[cause]),
                  cause_word(cause));
        before = ", ";
    }
    fputs(f->migrations ? "\n" : "     nothing moved\n", out);
}

static void write_kernels(const struct xfa_report_managed *m, const struct xfa_managed_row *row,
                          FILE *out)
{
    const struct xfa_managed_figures *f = &row->figures;
    char text[XFA_UNIT_CHARS];
    size_t shown = 0;
    if (f->fault_groups == 0)
        return;
    xfc_print(out, "     device faults: %" PRIu64 " in %" PRIu64 " group%s, served in %s\n",
              f->faults, f->fault_groups, f->fault_groups == 1 ? "" : "s",
              xfa_time_text(text, f->fault_ns));
    for (size_t i = 0; i < m->kernels.count && shown < SHOWN_FAULTS; i++) {
        const struct xfa_managed_fault_kernel *kernel = m->kernel_order[i];
        if (kernel->key.site != row->identity)
            continue;
        xfc_print(out, "       in %s: %" PRIu64 " in %" PRIu64 " group%s, %s\n",
                  kernel->name ? kernel->name : "(no kernel is known to have run)", kernel->faults,
                  kernel->groups, kernel->groups == 1 ? "" : "s", xfa_time_text(text, kernel->ns));
        shown++;
    }
}

static void write_call(const char *when, const struct xfa_managed_call *call, FILE *out)
{
    if (call->function)
        xfc_print(out, "%s%s at %s", when, call->function, call->site->text);
}

static void write_line(const struct xfa_managed_fault_line *line, int width, FILE *out)
{
    char lead[48];
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory == NULL)
        return;
    xfc_print(memory, "%s",
              line->line->chosen >= 0 ? line->line->text : "a line that is not known");
    write_call(", after ", &line->before, memory);
    write_call(", before ", &line->after, memory);
    if (line->key.tid)
        xfc_print(memory, ", thread %" PRIu64, line->key.tid);
    snprintf(lead, sizeof lead, "       %" PRIu64 " at ", line->faults);
    if (fclose(memory) == 0)
        xfa_write_paragraph(out, lead, text, width);
    free(text);
}

static void write_lines(const struct xfa_report_managed *m, const struct xfa_managed_row *row,
                        int width, FILE *out)
{
    size_t shown = 0;
    if (row->figures.host_faults == 0)
        return;
    xfc_print(out, "     host faults: %" PRIu64 "\n", row->figures.host_faults);
    for (size_t i = 0; i < m->lines.count && shown < SHOWN_FAULTS; i++) {
        const struct xfa_managed_fault_line *line = m->line_order[i];
        if (line->key.site != row->identity)
            continue;
        write_line(line, width, out);
        shown++;
    }
}

static void write_site(const struct xfa_report_managed *m, const struct xfa_managed_row *row,
                       int width, FILE *out)
{
    const struct xfa_managed_figures *f = &row->figures;
    char text[XFA_UNIT_CHARS];
    if (f->allocations)
        xfc_print(out, "  %s: %" PRIu64 " allocation%s, %s\n", row->site->text, f->allocations,
                  f->allocations == 1 ? "" : "s", xfa_bytes_text(text, f->allocated));
    else
        fputs("  memory that no recorded allocation holds (variables declared managed)\n", out);
    write_moved(f, out);
    write_kernels(m, row, out);
    write_lines(m, row, width, out);
}

void xfa_write_managed(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_report_managed *m = &report->managed;
    size_t shown = view->top && view->top < m->rows.count ? view->top : m->rows.count;
    const char *why = m->why ? m->why : m->unseen ? "that takes CUPTI, and no --no-managed" : NULL;
    if (m->rows.count == 0 && !why)
        return;
    fputs("\nManaged memory, by the place that allocated it\n", out);
    if (why)
        xfc_print(out, "  migrations and faults were not recorded in every process: %s\n", why);
    for (size_t i = 0; i < shown; i++)
        write_site(m, m->order[i], view->width, out);
    if (shown < m->rows.count)
        xfc_print(out, "  ... and %zu more (--top 0 shows all)\n", m->rows.count - shown);
    if (m->beyond)
        xfc_print(out, "  beyond the limits, perhaps set to the wrong place: %" PRIu64 "\n",
                  m->beyond);
}
