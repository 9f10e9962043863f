/* A verdict as lines: for people, for GitHub, for readers of JUnit's files. */
#include "analyzer/gate/gate_formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/units.h"
#include "common/text.h"

/* ---- what formats share ---------------------------------------------------------------------- */

static const struct xfa_frame *frame_of(const struct xfa_gated *row)
{
    const struct xfa_site *site = row->row->site;
    return site && site->chosen >= 0 ? &site->frames[site->chosen] : NULL;
}

uint32_t xfa_gated_line(const struct xfa_gated *row)
{
    const struct xfa_frame *frame = frame_of(row);
    return frame && frame->file ? frame->line : 0;
}

/* Services show a place in a file only by its path from the checkout's root. */
char *xfa_gated_file(const struct xfa_gated *row)
{
    const struct xfa_frame *frame = frame_of(row);
    const char *root = getenv("GITHUB_WORKSPACE");
    if (!frame || !frame->file)
        return NULL;
    char *here = root && *root ? xfa_text(root) : getcwd(NULL, 0);
    size_t length = here ? strlen(here) : 0;
    bool inside = length && strncmp(frame->file, here, length) == 0 && frame->file[length] == '/';
    char *file = xfa_text(inside ? frame->file + length + 1 : frame->file);
    free(here);
    return file;
}

/* "H2D pageable, 70 transfers, 945 MiB" */
char *xfa_gated_text(const struct xfa_gated *row)
{
    char bytes[XFA_UNIT_CHARS];
    uint64_t transfers = row->figures->transfers;
    return xfa_print("%s, %" PRIu64 " transfer%s, %s", row->path, transfers,
                     transfers == 1 ? "" : "s", xfa_bytes_text(bytes, row->figures->bytes));
}

const char *xfa_gated_site(const struct xfa_gated *row)
{
    return row->row->site ? row->row->site->text : "-";
}

static size_t broken_of(const struct xfa_gated *row)
{
    size_t broken = 0;
    for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++)
        broken += row->broken[rule] != NULL;
    return broken;
}

static size_t rows_broken(const struct xfa_gate_verdict *verdict)
{
    size_t rows = 0;
    for (size_t i = 0; i < verdict->row_count; i++)
        rows += broken_of(&verdict->rows[i]) > 0;
    return rows;
}

/* "gate FILE: 2 of 14 do what it does not allow (ranges "train")" */
static char *summary(const struct xfa_gate_verdict *verdict, const char *path)
{
    const char *phase = verdict->gate->phase;
    char *text =
        rows_broken(verdict)
            ? xfa_print("gate %s: %zu of %zu rows of transfers are not allowed", path,
                        rows_broken(verdict), verdict->row_count)
            : xfa_print("gate %s: all %zu rows of transfers are allowed", path, verdict->row_count);
    return phase ? xfa_append(text, " (in ranges \"%s\")", phase) : text;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void write_text(const struct xfa_gate_verdict *verdict, const char *path, FILE *out)
{
    char *first = summary(verdict, path);
    xfc_print(out, "%s\n", first);
    free(first);
    for (size_t i = 0; i < verdict->row_count; i++) {
        const struct xfa_gated *row = &verdict->rows[i];
        char *what = xfa_gated_text(row);
        if (broken_of(row))
            xfc_print(out, "\n%s\n    %s\n", xfa_gated_site(row), what);
        for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++)
            if (row->broken[rule])
                xfc_print(out, "    %-9s %s\n", xfa_gate_word(rule), row->broken[rule]);
        free(what);
    }
}

/* ---- GitHub's annotations -------------------------------------------------------------------- */

/* Of a workflow command: its own characters as %XX. In properties two more. */
static void put_command(FILE *out, const char *text, bool property)
{
    char *shown = xfc_shown(text, strlen(text));
    for (const char *p = shown; p && *p; p++) {
        if (*p == '%' || (property && (*p == ',' || *p == ':')))
            fprintf(out, "%%%02X", (unsigned)*p);
        else
            fputc(*p, out);
    }
    free(shown);
}

static void write_annotation(const struct xfa_gated *row, enum xfa_gate_rule rule, FILE *out)
{
    char *file = xfa_gated_file(row), *what = xfa_gated_text(row);
    char *message = xfa_print("%s (%s): %s", xfa_gated_site(row), what, row->broken[rule]);
    fputs("::error ", out);
    if (file) {
        fputs("file=", out);
        put_command(out, file, true);
        fprintf(out, ",line=%" PRIu32 ",", xfa_gated_line(row));
    }
    fputs("title=", out);
    put_command(out, xfa_gate_title(rule), true);
    fputs("::", out);
    put_command(out, message, false);
    fputc('\n', out);
    free(message);
    free(what);
    free(file);
}

static void write_github(const struct xfa_gate_verdict *verdict, const char *path, FILE *out)
{
    for (size_t i = 0; i < verdict->row_count; i++)
        for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++)
            if (verdict->rows[i].broken[rule])
                write_annotation(&verdict->rows[i], rule, out);
    char *last = summary(verdict, path);
    xfc_print(out, "%s\n", last);
    free(last);
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

static void put_xml(FILE *out, const char *text)
{
    char *shown = xfc_shown(text, strlen(text));
    for (const char *p = shown; p && *p; p++) {
        const char *entity = *p == '&'   ? "&amp;"
                             : *p == '<' ? "&lt;"
                             : *p == '>' ? "&gt;"
                             : *p == '"' ? "&quot;"
                                         : NULL;
        if (entity)
            fputs(entity, out);
        else
            fputc(*p, out);
    }
    free(shown);
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
    fprintf(out, " %s=\"", name);
    put_xml(out, value);
    fputc('"', out);
}

static void write_failure(const struct xfa_gated *row, FILE *out)
{
    bool first = true;
    for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++) {
        if (!row->broken[rule])
            continue;
        if (first) {
            fputs("      <failure", out);
            put_attribute(out, "type", xfa_gate_word(rule));
            put_attribute(out, "message", row->broken[rule]);
            fputc('>', out);
        }
        fputs(first ? "" : "\n", out);
        put_xml(out, xfa_gate_word(rule));
        fputs(": ", out);
        put_xml(out, row->broken[rule]);
        first = false;
    }
    fputs("</failure>\n", out);
}

static void write_case(const struct xfa_gated *row, FILE *out)
{
    char *file = xfa_gated_file(row);
    char *name = xfa_print("%s, %s", xfa_gated_site(row), row->path);
    fputs("    <testcase classname=\"xferscope.gate\"", out);
    put_attribute(out, "name", name);
    if (file) {
        put_attribute(out, "file", file);
        fprintf(out, " line=\"%" PRIu32 "\"", xfa_gated_line(row));
    }
    fputs(broken_of(row) ? ">\n" : "/>\n", out);
    if (broken_of(row)) {
        write_failure(row, out);
        fputs("    </testcase>\n", out);
    }
    free(name);
    free(file);
}

/* A case for each row; every rule that one breaks is in its only failure. */
static void write_junit(const struct xfa_gate_verdict *verdict, const char *path, FILE *out)
{
    size_t failures = rows_broken(verdict);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out, "<testsuites tests=\"%zu\" failures=\"%zu\">\n", verdict->row_count, failures);
    fputs("  <testsuite", out);
    put_attribute(out, "name", path);
    fprintf(out, " tests=\"%zu\" failures=\"%zu\">\n", verdict->row_count, failures);
    for (size_t i = 0; i < verdict->row_count; i++)
        write_case(&verdict->rows[i], out);
    fputs("  </testsuite>\n</testsuites>\n", out);
}

static const struct xfa_gate_format formats[] = {
    {"text", write_text},     {"json", xfa_gate_write_json},
    {"github", write_github}, {"sarif", xfa_gate_write_sarif},
    {"junit", write_junit},
};

const struct xfa_gate_format *xfa_gate_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}
