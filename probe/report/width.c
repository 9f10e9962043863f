#include "probe/report/width.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text.h"

size_t xfp_width(FILE *out)
{
    struct winsize size;

    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return XFP_NO_WIDTH;
    return size.ws_col;
}

void xfp_print_words(const char *text, size_t width, FILE *out)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " \n");

        if (column > 0 && (column >= width || word >= width - column)) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column ? " " : "", (int)word, text);
        text += word + strspn(text + word, " \n");
    }
    fputc('\n', out);
}

/* The table's lines are of one width, but for spaces at their ends; names are of ASCII. */
static size_t width_of(const char *table)
{
    size_t widest = 0;

    for (size_t bytes; *table; table += bytes + (table[bytes] == '\n')) {
        bytes = strcspn(table, "\n");
        widest = bytes > widest ? bytes : widest;
    }
    return widest;
}

/* Its text, to be freed; NULL: there is none. */
static char *text_of(struct libscols_table *table)
{
    char *text = NULL;

    return scols_print_table_to_string(table, &text) == 0 ? text : NULL;
}

int xfp_print_fitting(struct libscols_table *table, const size_t *last_first, size_t count,
                      size_t width, FILE *out)
{
    char *text = text_of(table);
    size_t left_out = 0;
    int bad;

    while (text && left_out < count && width_of(text) > width) {
        struct libscols_column *column = scols_table_get_column(table, last_first[left_out++]);

        scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
        free(text);
        text = text_of(table);
    }
    bad = !text || fputs(text, out) < 0;
    if (!bad && left_out)
        fprintf(out, "\n(%zu column%s left out: a wider terminal shows %s, --format csv has all)",
                left_out, left_out == 1 ? "" : "s", left_out == 1 ? "it" : "them");
    free(text);
    return bad ? -1 : 0;
}

void xfp_set_text(struct libscols_line *line, size_t column, const char *text)
{
    scols_line_refer_data(line, column, xfc_shown(text, strlen(text)));
}
