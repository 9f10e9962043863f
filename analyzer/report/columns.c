#include "analyzer/report/columns.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "analyzer/base/alloc.h"

size_t xfa_character(const char *text, size_t *width)
{
    wchar_t code;
    mbstate_t state = {0};
    size_t bytes = mbrtowc(&code, text, strlen(text), &state);
    if (bytes == 0 || bytes > strlen(text) || !iswprint((wint_t)code)) {
        *width = strlen("\\x00");
        return 1;
    }
    int columns = wcwidth(code);
    *width = columns > 0 ? (size_t)columns : 0;
    return bytes;
}

size_t xfa_columns(const char *text)
{
    size_t columns = 0, width;
    for (; *text; columns += width)
        text += xfa_character(text, &width);
    return columns;
}

/* The bytes of its first so many columns. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t bytes = 0, width;
    while (text[bytes]) {
        size_t more = xfa_character(text + bytes, &width);
        if (width > columns)
            break;
        columns -= width;
        bytes += more;
    }
    return bytes;
}

char *xfa_shortened(const char *text, size_t columns)
{
    static const char gap[] = "...";
    char *shown = xfa_clean(text, strlen(text));
    size_t wide = xfa_columns(shown), left = columns - strlen(gap);
    if (wide <= columns)
        return shown;
    const char *place = strstr(shown, " (");
    size_t tail = place ? xfa_columns(place + 1) : 0;
    if (tail == 0 || tail > left * 2 / 3)
        tail = left / 2;
    size_t head = bytes_of(shown, left - tail), from = bytes_of(shown, wide - tail);
    char *shorter = xfa_print("%.*s%s%s", (int)head, shown, gap, shown + from);
    free(shown);
    return shorter;
}
