/*
 * The first screen: the findings on it. Members of the best set come first, with what each adds;
 * then what is instead of one, or adds nothing to them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "analyzer/report/described.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define SHOWN_FINDINGS 3
#define FULL_LINES 17 /* of findings, at most, while more than the first is said in full */
#define LEAST_LINES 4 /* of a finding */

/* ---- a finding ------------------------------------------------------------------------------- */

#define OTHERS_CHARS 48
#define LEAST_PLACE 20 /* columns */

static void others_text(char text[OTHERS_CHARS], const struct xfa_finding *finding)
{
    *text = 0;
    if (finding->site_count > 1)
        snprintf(text, OTHERS_CHARS, ", and %zu more", finding->site_count - 1);
}

/* "H2D", "H2D and D2H", with several GPUs the places of the only site; NULL: no transfers. */
static char *directions_text(const struct xfa_finding *finding, const struct xfa_run *run)
{
    if (finding->site_count == 1)
        return xfa_finding_site_path(&finding->sites[0], run);
    bool has[XFT_DIRECTION_COUNT] = {false}, any = false;
    for (size_t i = 0; i < finding->site_count; i++) {
        if (!finding->sites[i].row)
            continue;
        has[finding->sites[i].row->key.direction] = any = true;
    }
    char *text = any ? xfa_text("") : NULL;
    for (unsigned d = 0; any && d < XFT_DIRECTION_COUNT; d++)
        if (has[d])
            text = xfa_append(text, "%s%s", *text ? " and " : "", xft_direction_word(d));
    return text;
}

/* "H2D, 70 copies, 945 MiB": no two findings of one site read the same. */
static char *moved_text(const struct xfa_finding *finding, const struct xfa_run *run)
{
    char bytes[XFA_UNIT_CHARS];
    char *way = directions_text(finding, run);
    bool one = finding->transfers == 1;
    char *text = xfa_print("%s%s%" PRIu64 " %s%s%s", way ? way : "", way ? ", " : "",
                           finding->transfers, way ? (one ? "copy" : "copies") : "call",
                           way || one ? "" : "s", finding->bytes ? ", " : "");
    free(way);
    return finding->bytes ? xfa_append(text, "%s", xfa_bytes_text(bytes, finding->bytes)) : text;
}

/* "upload (a.cu:84), cudaMemcpy, and 2 more" on a line. */
static char *called_text(const struct xfa_finding *finding, size_t room)
{
    const struct xfa_finding_site *site = &finding->sites[0];
    char others[OTHERS_CHARS];
    const char *called = site->function ? site->function->name : NULL;
    others_text(others, finding);
    size_t taken = strlen(others) + (called ? strlen(called) + 2 : 0);
    char *place =
        xfa_shortened(site->site->text, room > taken + LEAST_PLACE ? room - taken : LEAST_PLACE);
    char *text = xfa_print("%s%s%s%s", place, called ? ", " : "", called ? called : "", others);
    free(place);
    return text;
}

/* "train.py:19, and 2 more": a place so short that its line of source has room beside it. */
static char *line_text(const struct xfa_finding *finding)
{
    const struct xfa_site *site = finding->sites[0].site;
    const struct xfa_frame *frame = &site->frames[site->chosen];
    const char *slash = strrchr(frame->file, '/');
    char others[OTHERS_CHARS];
    others_text(others, finding);
    const char *name = slash && slash[1] ? slash + 1 : frame->file;
    return xfa_print("%s:%" PRIu32 "%s", name, frame->line, others);
}

/* With the line of source, where the trace has it, on the same line. */
static char *where_text(const struct xfa_finding *finding, size_t room)
{
    static const char gap[] = "    ";
    char *place = called_text(finding, room), *code = xfa_source_text(finding->sites[0].site);
    size_t taken = strlen(gap) + (code ? xfa_columns(code) : 0);
    if (!code)
        return place;
    if (xfa_columns(place) + taken > room) {
        char *line = line_text(finding);
        char *name = xfa_shortened(line, room / 2);
        size_t left = room - xfa_columns(name) - strlen(gap);
        char *shown = xfa_shortened(code, left);
        free(line);
        free(code);
        free(place);
        place = name;
        code = shown;
    }
    place = xfa_append(place, "%s%s", gap, code);
    free(code);
    return place;
}

/* "8.72 GB/s now, 51.3 possible here: copies from or to pageable host memory". What only samples
 * say has to be looked at before anybody leaves such a copy out. */
static char *why_text(const struct xfa_finding *finding)
{
    char had[XFA_UNIT_CHARS], best[XFA_UNIT_CHARS], rates[96] = "";
    double moved = (double)finding->bytes;
    if (moved > 0 && finding->achieved_ns > 0 && finding->achievable_ns > 0)
        snprintf(rates, sizeof rates, "%s GB/s now, %s possible here: ",
                 xfa_gbps_text(had, moved / finding->achieved_ns),
                 xfa_gbps_text(best, moved / finding->achievable_ns));
    else if (moved > 0 && finding->achieved_ns > 0)
        snprintf(rates, sizeof rates,
                 "%s GB/s now: ", xfa_gbps_text(had, moved / finding->achieved_ns));
    return xfa_print("%s%s%s", rates, xfa_finding_title(finding->id),
                     finding->probably ? ", by samples: check them all" : "");
}

/* "  2  instead of 1: small-transfers  24.1 ms (17.7-30.5 ms)  H2D, 3200 copies, 200 KiB", and
 * where.
 */
static void write_lead(const struct xfa_report *report, size_t i,
                       const struct xfa_described *described, const struct xfa_view *view,
                       FILE *out)
{
    const struct xfa_finding *finding = described->finding;
    const char *saves = described->brief, *role = described->role;
    char number[32];
    size_t room = (size_t)view->width - strlen(XFA_BLOCK);
    char *moved = moved_text(finding, report->analysis->run), *where = where_text(finding, room);
    snprintf(number, sizeof number, "%zu  ", i + 1);
    xfa_write_styled(view, role ? XFA_STYLE_NONE : XFA_STYLE_TITLE, number,
                     xfa_print("%s%s%s%s%s  %s", role ? role : "", role ? ": " : "",
                               described->word, saves ? "  " : "", saves ? saves : "", moved),
                     out);
    if (xfa_columns(where) <= room) /* a line of source keeps its spaces */
        xfc_print(out, XFA_BLOCK "%s\n", where);
    else
        xfa_write_paragraph(out, XFA_BLOCK, where, view->width);
    free(moved);
    free(where);
}

/* full: what to do is said in full, in the words of what the program is written with. What is not
 * in the best set has two lines, and what to do instead of a member. */
static void write_finding(const struct xfa_report *report, size_t i, bool full,
                          const struct xfa_view *view, FILE *out)
{
    const struct xfa_finding *finding = &report->findings->items[i];
    struct xfa_described described = xfa_describe(report->analysis, report->findings, finding);
    char brief[XFA_REMEDY_CHARS], *why = why_text(finding);
    write_lead(report, i, &described, view, out);
    if (!described.role)
        xfa_write_paragraph(out, XFA_BLOCK, why, view->width);
    if (!described.role || finding->instead_of)
        xfa_write_words(out, view->width,
                        described.role ? XFA_BLOCK "or: " : XFA_BLOCK "do: ", "%s",
                        full ? xfa_remedy_text(&finding->remedy, brief)
                             : xfa_remedy_brief(&finding->remedy, brief));
    if (!described.role && described.note)
        xfa_write_paragraph(out, XFA_BLOCK "    ", described.note, view->width);
    xfa_described_free(&described);
    free(why);
}

/* The finding, and behind how many lines. */
static char *finding_text(const struct xfa_report *report, size_t i, bool full,
                          const struct xfa_view *view, size_t *lines)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        abort(); /* no memory */
    fputc('\n', out);
    write_finding(report, i, full, view, out);
    fclose(out);
    *lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        ++*lines;
    return text;
}

/* The first in full, and other members of the best set as far as FULL_LINES go, of which `later`
 * findings need LEAST_LINES each. Returns how many lines it took. */
static size_t write_fitting(const struct xfa_report *report, size_t i, size_t used, size_t later,
                            const struct xfa_view *view, FILE *out)
{
    size_t lines;
    bool member = report->findings->items[i].order > 0;
    char *text = finding_text(report, i, used == 0 || member, view, &lines);
    if (used > 0 && member && used + lines + later * LEAST_LINES > FULL_LINES) {
        free(text);
        text = finding_text(report, i, false, view, &lines);
    }
    fputs(text, out);
    free(text);
    return lines;
}

/* What the headline counts, and has no number. */
static void write_smaller(const struct xfa_findings *findings, const struct xfa_view *view,
                          FILE *out)
{
    char *text = xfa_smaller_text(findings, view);
    if (text) {
        fputc('\n', out);
        xfa_write_paragraph(out, "   ", text, view->width);
    }
    free(text);
}

struct xfa_not_shown xfa_write_first_findings(const struct xfa_report *report,
                                              const struct xfa_view *view, FILE *out)
{
    const struct xfa_findings *findings = report->findings;
    size_t count = view->filter ? view->filter->findings_shown : xfa_findings_count(findings);
    size_t left = xfa_shown_facts(view, count, SHOWN_FINDINGS), used = 0;
    struct xfa_not_shown hidden = {0};
    if (count == 0 && xfa_findings_count(findings) > 0)
        fputs("  none of the findings matches\n", out);
    for (size_t i = 0; i < findings->count && !findings->items[i].idle; i++) {
        if (!xfa_view_finding(view, i))
            continue;
        if (left == 0) {
            hidden.changes += findings->items[i].order > 0;
            hidden.findings += findings->items[i].order == 0;
            continue;
        }
        left--;
        used += write_fitting(report, i, used, left, view, out);
    }
    write_smaller(findings, view, out);
    return hidden;
}
