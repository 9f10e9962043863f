/* Lines of words, styles and tables that are no wider than the terminal. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/report/text/text.h"
#include "common/text.h"

/* characters after which a word that is too long is broken, the best first */
#define WORD_BREAKS "/_:.-,("

#define LEAST_ROOM 8 /* columns for text, however long the line's lead is */

/* ---- words that fit -------------------------------------------------------------------------- */

/* Writes a word, in pieces where it is longer than a line. Returns the column after it. */
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

/* Returns the column after the word. */
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

/* Bytes of the first word, with the second one when that is the unit of a number. */
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

void xfa_write_folded(FILE *out, int width, const struct xfa_folded *folded)
{
    if (folded->without_it)
        xfa_write_fact(out, width, "not apart",
                       "%" PRIu64 " %s are shown without their %s, since sites and %s make more %s "
                       "than are kept",
                       folded->without_it, folded->what, folded->without, folded->without,
                       folded->more);
    if (folded->without_site)
        xfa_write_fact(out, width, "not apart",
                       "%" PRIu64 " %s are shown without their call site, for the same reason",
                       folded->without_site, folded->what);
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

void xfa_write_styled(const struct xfa_view *view, enum xfa_style style, const char *lead,
                      char *text, FILE *out)
{
    fputs(xfa_style(view, style), out);
    xfa_write_paragraph(out, lead, text, view->width);
    fputs(xfa_style(view, XFA_STYLE_NONE), out);
    free(text);
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

/* ---- tables ---------------------------------------------------------------------------------- */

#define FIRST_LEAST 24 /* columns that the first column keeps before others are broken */
#define FIRST_BARE 8   /* columns that it keeps at last */
#define OTHER_BARE 8   /* columns that another one keeps at last */
#define WIDEST 1000000 /* terminal width for libsmartcols, so that it breaks nothing itself */

struct libscols_table *xfa_text_table(const struct xfa_column *columns, size_t count, FILE *out)
{
    struct libscols_table *table = scols_new_table();
    if (!table)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        int flags = columns[i].flags | (columns[i].breaks ? SCOLS_FL_WRAP : 0);
        struct libscols_column *column = scols_table_new_column(table, columns[i].name, 0, flags);
        if (!column) {
            scols_unref_table(table);
            return NULL;
        }
        if (!columns[i].breaks)
            continue;
        scols_column_set_safechars(column, "\n");
        scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
    }
    scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
    scols_table_set_termwidth(table, WIDEST);
    scols_table_set_stream(table, out);
    return table;
}

void xfa_set_cell(struct libscols_line *line, size_t column, const char *text)
{
    scols_line_refer_data(line, column, xfa_clean(text, strlen(text)));
}

/* ---- widths ---------------------------------------------------------------------------------- */

/* Columns of the text's longest line; *piece: of its longest part without a break. */
static size_t text_width(const char *text, const char *breaks, size_t *piece)
{
    size_t line = 0, longest = 0, since = 0, width;
    *piece = 0;
    for (const char *at = text; *at;) {
        if (*at == '\n') {
            line = since = 0;
            at++;
            continue;
        }
        size_t bytes = xfa_character(at, &width);
        bool after = breaks && strchr(breaks, *at);
        line += width;
        since += after && *at == ' ' ? 0 : width; /* a space at the end of a line is not written */
        longest = line > longest ? line : longest;
        *piece = since > *piece ? since : *piece;
        since = after ? 0 : since;
        at += bytes;
    }
    return longest;
}

/* ---- breaking -------------------------------------------------------------------------------- */

size_t xfa_line_bytes(const char *text, const char *breaks, size_t width)
{
    size_t column = 0, fits = 0, best = 0, least = 0, wide;
    const char *rank = NULL; /* the best break: the earlier in `breaks`, the better */
    while (text[fits] && text[fits] != '\n') {
        size_t bytes = xfa_character(text + fits, &wide);
        const char *found = strchr(breaks, text[fits]);
        bool blank = text[fits] == ' ' && found;
        if (column + wide > width && !(blank && column == width))
            break;
        column += wide;
        fits += bytes;
        least = least ? least : bytes;
        if (found && (!rank || found <= rank)) {
            rank = found;
            best = fits;
        }
        if (column > width)
            break;
    }
    if (!text[fits] || text[fits] == '\n')
        return fits;
    if (best)
        return best;
    return fits ? fits : xfa_character(text, &wide);
}

static char *broken(const char *text, const char *breaks, size_t width)
{
    char *lines = xfa_alloc(2 * strlen(text) + 1), *end = lines;
    while (*text) {
        size_t bytes = xfa_line_bytes(text, breaks, width);
        size_t shown = bytes && text[bytes] && text[bytes - 1] == ' ' ? bytes - 1 : bytes;
        end = mempcpy(end, text, shown);
        text += bytes;
        if (*text)
            *end++ = '\n';
        text += *text == '\n';
    }
    return lines;
}

/* ---- columns --------------------------------------------------------------------------------- */

struct fitted {
    size_t natural, least, width; /* 0: hidden */
};

static bool is_hidden(const struct xfa_column *column)
{
    return column->flags & SCOLS_FL_HIDDEN;
}

static void measure(struct libscols_table *table, const struct xfa_column *columns,
                    struct fitted *fitted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fitted[i].natural = fitted[i].least = is_hidden(&columns[i]) ? 0 : strlen(columns[i].name);
    for (size_t n = 0; n < scols_table_get_nlines(table); n++) {
        struct libscols_line *line = scols_table_get_line(table, n);
        for (size_t i = 0; i < count; i++) {
            const char *text = scols_cell_get_data(scols_line_get_cell(line, i));
            size_t piece, width = text ? text_width(text, columns[i].breaks, &piece) : 0;
            if (width == 0 || is_hidden(&columns[i]))
                continue;
            if (width > fitted[i].natural)
                fitted[i].natural = width;
            if (piece > fitted[i].least)
                fitted[i].least = piece;
        }
    }
    for (size_t i = 0; i < count; i++)
        fitted[i].width = fitted[i].natural;
}

static void narrow(struct fitted *fitted, size_t least, size_t *excess)
{
    size_t room = fitted->width > least ? fitted->width - least : 0;
    size_t by = room < *excess ? room : *excess;
    fitted->width -= by;
    *excess -= by;
}

static void share(const struct xfa_column *columns, struct fitted *fitted, size_t count,
                  size_t width)
{
    size_t total = 0, excess;
    for (size_t i = 0; i < count; i++)
        total += fitted[i].natural ? fitted[i].natural + 1 : 0;
    excess = total > width + 1 ? total - width - 1 : 0;
    if (columns[0].breaks)
        narrow(&fitted[0], FIRST_LEAST, &excess);
    for (size_t i = count; i-- > 1;)
        if (columns[i].breaks)
            narrow(&fitted[i], fitted[i].least, &excess);
    if (columns[0].breaks)
        narrow(&fitted[0], FIRST_BARE, &excess);
    for (size_t i = count; i-- > 1;)
        if (columns[i].breaks)
            narrow(&fitted[i], OTHER_BARE, &excess);
}

static void break_cells(struct libscols_table *table, const struct xfa_column *columns,
                        const struct fitted *fitted, size_t count)
{
    for (size_t n = 0; n < scols_table_get_nlines(table); n++) {
        struct libscols_line *line = scols_table_get_line(table, n);
        for (size_t i = 0; i < count; i++) {
            const char *text = scols_cell_get_data(scols_line_get_cell(line, i));
            if (text && fitted[i].width < fitted[i].natural)
                scols_line_refer_data(line, i, broken(text, columns[i].breaks, fitted[i].width));
        }
    }
}

void xfa_text_table_print(struct libscols_table *table, const struct xfa_column *columns, int width,
                          FILE *out)
{
    if (table && scols_table_get_nlines(table) > 0) {
        size_t count = scols_table_get_ncols(table);
        struct fitted *fitted = xfa_alloc(count * sizeof *fitted);
        measure(table, columns, fitted, count);
        share(columns, fitted, count, (size_t)width);
        break_cells(table, columns, fitted, count);
        free(fitted);
    }
    if (!table || (scols_table_get_nlines(table) > 0 && scols_print_table(table) != 0))
        fputs("  (the table could not be written)\n", out);
    scols_unref_table(table);
}
