/* The report for people. */
#include "analyzer/report/text/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "common/text.h"

/* ---- lines --------------------------------------------------------------------------------- */

static int characters(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

/* Returns the column behind it. */
static int write_word(FILE *out, const char *word, size_t bytes, int column, int indent, int width)
{
    char *shown = xfa_clean(word, bytes);
    int wide = characters(shown);
    if (column > indent && column + wide + 1 > width) {
        fprintf(out, "\n%*s", indent, "");
        column = indent;
    }
    fprintf(out, "%s%s", column > indent ? " " : "", shown);
    free(shown);
    return column + (column > indent) + wide;
}

/* A word of the text, with the next one when that is the unit of a number. */
static size_t word_bytes(const char *text)
{
    static const char *const units[] = {"B",  "KiB", "MiB", "GiB",  "TiB", "ns",
                                        "us", "ms",  "s",   "GB/s", "%"};
    size_t word = strcspn(text, " ");
    if (word == 0 || !text[word] || !isdigit((unsigned char)text[word - 1]))
        return word;
    const char *next = text + word + 1;
    size_t bytes = strcspn(next, " ,;:.)");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == bytes && strncmp(units[i], next, bytes) == 0)
            return word + 1 + strcspn(next, " ");
    return word;
}

void xfa_write_paragraph(FILE *out, const char *lead, const char *text, int width)
{
    int indent = (int)strlen(lead), column = indent;
    fputs(lead, out);
    while (*text) {
        size_t word = word_bytes(text);
        column = write_word(out, text, word, column, indent, width);
        text += word;
        text += *text == ' ';
    }
    fputc('\n', out);
}

void xfa_write_list(FILE *out, const char *lead, char *const *words, size_t count, int width)
{
    int indent = (int)strlen(lead), column = indent;
    fputs(lead, out);
    for (size_t i = 0; i < count; i++)
        column = write_word(out, words[i], strlen(words[i]), column, indent, width);
    fputc('\n', out);
}

__attribute__((format(printf, 4, 0))) static void
write_formatted(FILE *out, int width, const char *lead, const char *format, va_list arguments)
{
    char *text = xfa_vprint(format, arguments);
    xfa_write_paragraph(out, lead, text, width);
    free(text);
}

void xfa_write_words(FILE *out, int width, const char *lead, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_formatted(out, width, lead, format, arguments);
    va_end(arguments);
}

static void fact_lead(char lead[32], const char *name)
{
    snprintf(lead, 32, "  %-12s ", name);
}

void xfa_write_fact(FILE *out, int width, const char *name, const char *format, ...)
{
    char lead[32];
    va_list arguments;
    fact_lead(lead, name);
    va_start(arguments, format);
    write_formatted(out, width, lead, format, arguments);
    va_end(arguments);
}

void xfa_write_field(FILE *out, int width, const char *name, const char *text)
{
    if (text)
        xfa_write_fact(out, width, name, "%s", text);
}

void xfa_write_hidden(FILE *out, size_t hidden)
{
    if (hidden)
        xfc_print(out, "  ... and %zu more (--top 0 shows all)\n", hidden);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void write_text(const struct xfa_report *report, const struct xfa_view *view, FILE *out)
{
    if (report->analysis->simulated)
        fputs("SIMULATED GPU: the figures show how xferscope works, not what a GPU does.\n\n", out);
    xfa_write_run(report, view, out);
    xfa_write_machine(report, view, out);
    xfa_write_transfers(report, view, out);
    xfa_write_phases(report, view, out);
    xfa_write_managed(report, view, out);
    xfa_write_waits(report, view, out);
    xfa_write_ranks(report, view, out);
    xfa_write_findings(report, view, out);
}

const struct xfa_format xfa_format_text = {
    .name = "text", .write = write_text, .per_transfer = &xfa_per_transfer_text};
