/* The report for people. */
#include "analyzer/report/text/text.h"

#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/text.h"

/* ---- lines --------------------------------------------------------------------------------- */

void xfa_write_field(FILE *out, const char *name, const char *text)
{
    if (text)
        xfc_print(out, "  %-12s %s\n", name, text);
}

void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width)
{
    int indent = (int)strlen(lead), column = indent;
    fputs(lead, out);
    while (*text) {
        size_t word = strcspn(text, " ");
        if (column > indent && column + (int)word + 1 > width) {
            xfc_print(out, "\n%*s", indent, "");
            column = indent;
        }
        column += xfc_print(out, "%s%.*s", column > indent ? " " : "", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void xfa_write_hidden(FILE *out, size_t hidden)
{
    if (hidden)
        xfc_print(out, "  ... and %zu more (--top 0 shows all)\n", hidden);
}

/* ---- tables -------------------------------------------------------------------------------- */

struct libscols_table *xfa_text_table(const struct xfa_column *columns, size_t count, int width,
                                      FILE *out)
{
    struct libscols_table *table = scols_new_table();
    if (!table)
        return NULL;
    for (size_t i = 0; i < count; i++)
        scols_table_new_column(table, columns[i].name, columns[i].hint, columns[i].flags);
    scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(table, (size_t)width);
    scols_table_set_stream(table, out);
    return table;
}

void xfa_text_table_print(struct libscols_table *table, FILE *out)
{
    if (!table || (scols_table_get_nlines(table) > 0 && scols_print_table(table) != 0))
        fputs("  (the table could not be written)\n", out);
    scols_unref_table(table);
}

void xfa_set_cell(struct libscols_line *line, size_t column, const char *text)
{
    scols_line_refer_data(line, column, xfa_clean(text, strlen(text)));
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void write_text(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (report->analysis->simulated)
        fputs("SIMULATED GPU: the figures show how xferscope works, not what a GPU does.\n\n", out);
    xfa_write_run(report, out);
    xfa_write_machine(report, view, out);
    xfa_write_transfers(report, view, out);
    xfa_write_phases(report, view, out);
    xfa_write_managed(report, view, out);
    xfa_write_waits(report, view, out);
    xfa_write_ranks(report, view, out);
    xfa_write_findings(report, view, out);
}

const struct xfa_format xfa_format_text = {.name = "text", .write = write_text};
