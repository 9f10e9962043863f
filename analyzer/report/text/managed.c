/* Managed memory, for people. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/units.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_FAULTS 5 /* kernels and lines, for each site */

/* The sums of managed memory, sorted, and where they are written. */
struct managed {
    const struct xfa_managed *sums;
    const struct xfa_run *run;
    const struct xfa_managed_site **sites;
    const struct xfa_managed_kernel **kernels;
    const struct xfa_managed_line **lines;
    int width;
    FILE *out;
};

static const char *cause_word(size_t cause)
{
    static const char *const words[XFA_MIGRATION_CAUSES] = {
#define PHRASE(symbol, number, word, phrase) [symbol] = phrase,
        XFT_CAUSE_LIST(PHRASE)
#undef PHRASE
    };
    return words[cause];
}

/* "H2D 12 MiB, D2H 9 MiB in 6 migrations, 350 us: 2 MiB by prefetches, 7 MiB by faults" */
static void say_moved(const struct xfa_managed_figures *f, FILE *out)
{
    char text[XFA_UNIT_CHARS];
    const char *before = "";
    for (unsigned d = 0; d < XFT_DIRECTION_COUNT; d++) {
        if (f->bytes[d] == 0)
            continue;
        fprintf(out, "%s%s %s", before, xft_direction_word(d), xfa_bytes_text(text, f->bytes[d]));
        before = ", ";
    }
    fprintf(out, " in %" PRIu64 " migration%s, %s", f->migrations, xfa_plural(f->migrations),
            xfa_time_text(text, f->migration_ns));
    before = ": ";
    for (size_t cause = 0; cause < XFA_MIGRATION_CAUSES; cause++) {
        if (f->by_cause[cause] == 0)
            continue;
        fprintf(out, "%s%s %s", before, xfa_bytes_text(text, f->by_cause[cause]),
                cause_word(cause));
        before = ", ";
    }
}

static void write_moved(const struct managed *m, const struct xfa_managed_figures *f)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = f->migrations ? open_memstream(&text, &bytes) : NULL;
    if (memory) {
        say_moved(f, memory);
        if (fclose(memory) == 0)
            xfa_write_paragraph(m->out, "     moved ", text, m->width);
        free(text);
    } else {
        fputs("     nothing moved\n", m->out);
    }
}

static void write_kernels(const struct managed *m, const struct xfa_managed_site *site)
{
    const struct xfa_managed_figures *f = &site->figures;
    char text[XFA_UNIT_CHARS];
    size_t shown = 0;
    if (f->fault_groups == 0)
        return;
    xfa_write_words(m->out, m->width,
                    "     device faults: ", "%" PRIu64 " in %" PRIu64 " group%s, served in %s",
                    f->faults, f->fault_groups, xfa_plural(f->fault_groups),
                    xfa_time_text(text, f->fault_ns));
    for (size_t i = 0; i < m->sums->kernels.count && shown < SHOWN_FAULTS; i++) {
        const struct xfa_managed_kernel *kernel = m->kernels[i];
        if (kernel->key.site != site->site)
            continue;
        xfa_write_words(
            m->out, m->width, "       in ", "%s: %" PRIu64 " in %" PRIu64 " group%s, %s",
            kernel->name ? kernel->name : "(no kernel is known to have run)", kernel->faults,
            kernel->groups, xfa_plural(kernel->groups), xfa_time_text(text, kernel->ns));
        shown++;
    }
}

/* A call of the host before or after a fault; function is a number + 1, 0 = there was none. */
static void say_call(const struct managed *m, const char *when, uint32_t site, uint32_t function,
                     FILE *out)
{
    if (function)
        fprintf(out, "%s%s at %s", when, xfa_run_function(m->run, function - 1)->name,
                xfa_run_site(m->run, site)->text);
}

static void write_line(const struct managed *m, const struct xfa_managed_line *line)
{
    const struct xfa_managed_line_key *key = &line->key;
    const struct xfa_site *at = xfa_run_site(m->run, key->line);
    char lead[48];
    char *text = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&text, &bytes);
    if (memory == NULL)
        return;
    fputs(at->chosen >= 0 ? at->text : "a line that is not known", memory);
    say_call(m, ", after ", key->before, key->before_function, memory);
    say_call(m, ", before ", key->after, key->after_function, memory);
    if (key->tid)
        fprintf(memory, ", thread %" PRId32, key->tid);
    snprintf(lead, sizeof lead, "       %" PRIu64 " at ", line->faults);
    if (fclose(memory) == 0)
        xfa_write_paragraph(m->out, lead, text, m->width);
    free(text);
}

static void write_lines(const struct managed *m, const struct xfa_managed_site *site)
{
    size_t shown = 0;
    if (site->figures.host_faults == 0)
        return;
    xfc_print(m->out, "     host faults: %" PRIu64 "\n", site->figures.host_faults);
    for (size_t i = 0; i < m->sums->lines.count && shown < SHOWN_FAULTS; i++) {
        if (m->lines[i]->key.site != site->site)
            continue;
        write_line(m, m->lines[i]);
        shown++;
    }
}

static void write_site(const struct managed *m, const struct xfa_managed_site *site)
{
    const struct xfa_managed_figures *f = &site->figures;
    char text[XFA_UNIT_CHARS];
    if (f->allocations)
        xfa_write_words(m->out, m->width, "  ", "%s: %" PRIu64 " allocation%s, %s",
                        xfa_run_site(m->run, site->site)->text, f->allocations,
                        xfa_plural(f->allocations), xfa_bytes_text(text, f->allocated));
    else
        fputs("  memory that no recorded allocation holds (variables declared managed)\n", m->out);
    write_moved(m, f);
    write_kernels(m, site);
    write_lines(m, site);
}

static bool matches(const struct xfa_view *view, const struct managed *m,
                    const struct xfa_managed_site *site)
{
    return !view->filter || xfa_filter_site(view->filter, xfa_run_site(m->run, site->site));
}

static void write_sites(const struct xfa_report *report, size_t shown, const struct xfa_view *view,
                        FILE *out)
{
    const struct xfa_managed *sums = &report->analysis->managed;
    struct managed m = {
        .sums = sums,
        .run = report->analysis->run,
        .sites = xfa_managed_sites(sums),
        .kernels = xfa_managed_kernels(sums),
        .lines = xfa_managed_lines(sums),
        .width = view->width,
        .out = out,
    };
    for (size_t i = 0, left = shown; i < sums->sites.count && left > 0; i++) {
        if (!matches(view, &m, m.sites[i]))
            continue;
        write_site(&m, m.sites[i]);
        left--;
    }
    free(m.sites);
    free(m.kernels);
    free(m.lines);
}

void xfa_write_managed(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    const struct xfa_managed *m = &report->analysis->managed;
    size_t shown = xfa_view_shown(view, m->sites.count);
    const char *why = m->why ? m->why : m->unseen ? "that takes CUPTI, and no --no-managed" : NULL;
    if (m->sites.count == 0 && !why)
        return;
    xfa_write_title(view, out, "Managed memory, by the place that allocated it");
    if (why)
        xfa_write_words(out, view->width, "  ",
                        "migrations and faults were not recorded in every process: %s", why);
    write_sites(report, shown, view, out);
    if (!view->filter)
        xfa_write_hidden(out, m->sites.count - shown);
    if (m->beyond)
        xfc_print(out, "  beyond the limits, perhaps counted at the wrong site: %" PRIu64 "\n",
                  m->beyond);
}
