/* Lines of words, no longer than the terminal is wide. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

#define WORD_BREAKS "/_:.-,(" /* where a word that is too long is broken, the best first */

#define LEAST_ROOM 8 /* columns, however long what leads the line */

/* ---- words that fit -------------------------------------------------------------------------- */

/* In pieces where it is longer than a line. Returns the column behind it. */
static int write_shown(FILE *out, const char *shown, int column, int indent, int width)
{
    while (*shown && column + (int)xfa_columns(shown) > width) {
        int room = width - column > LEAST_ROOM ? width - column : LEAST_ROOM;
        size_t bytes = xfa_line_bytes(shown, WORD_BREAKS, (size_t)room);
        if (!shown[bytes])
            break;
        fprintf(out, "%.*s\n%*s", (int)bytes, shown, indent, "");
        shown += bytes;
        column = indent;
    }
    fputs(shown, out);
    return column + (int)xfa_columns(shown);
}

/* Returns the column behind it. */
static int write_word(FILE *out, const char *word, size_t bytes, int column, int indent, int width)
{
    char *shown = xfa_clean(word, bytes);
    if (column > indent && column + 1 + (int)xfa_columns(shown) > width) {
        fprintf(out, "\n%*s", indent, "");
        column = indent;
    }
    if (column > indent) {
        fputc(' ', out);
        column++;
    }
    column = write_shown(out, shown, column, indent, width);
    free(shown);
    return column;
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

/* ---- looks ----------------------------------------------------------------------------------- */

const char *xfa_style(const struct xfa_view *view, enum xfa_style style)
{
    static const char *const sequences[] = {
        [XFA_STYLE_NONE] = "\033[0m",
        [XFA_STYLE_TITLE] = "\033[1m",
        [XFA_STYLE_GAIN] = "\033[32m",
        [XFA_STYLE_WARNING] = "\033[33m",
    };
    return view->colour ? sequences[style] : "";
}

void xfa_write_title(const struct xfa_view *view, FILE *out, const char *format, ...)
{
    va_list arguments;
    fprintf(out, "\n%s", xfa_style(view, XFA_STYLE_TITLE));
    va_start(arguments, format);
    write_formatted(out, view->width, "", format, arguments);
    va_end(arguments);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
}

void xfa_write_warning(const struct xfa_view *view, FILE *out, const char *name, const char *text)
{
    if (!text)
        return;
    fputs(xfa_style(view, XFA_STYLE_WARNING), out);
    xfa_write_field(out, view->width, name, text);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
}

void xfa_write_hidden(FILE *out, size_t hidden)
{
    if (hidden)
        xfc_print(out, "  ... and %zu more (--top 0 shows all)\n", hidden);
}
