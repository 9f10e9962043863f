#include "alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) {
        fputs("xferscope: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *xfa_alloc(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1));
}

char *xfa_text(const char *text)
{
    return checked(strdup(text ? text : ""));
}

char *xfa_print(const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    return checked(text);
}

void *xfa_room(void *items, size_t *capacity, size_t needed, size_t item_bytes)
{
    if (needed <= *capacity)
        return items;
    size_t grown = *capacity ? *capacity : 16;
    while (grown < needed)
        grown *= 2;
    *capacity = grown;
    return checked(reallocarray(items, grown, item_bytes));
}

/* Length of the well-formed UTF-8 sequence at p, 0 when there is none. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    size_t length = p[0] < 0x80             ? 1
                    : (p[0] & 0xe0) == 0xc0 ? 2
                    : (p[0] & 0xf0) == 0xe0 ? 3
                    : (p[0] & 0xf8) == 0xf0 ? 4
                                            : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t code = length == 1 ? p[0] : p[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

static bool control_character(const unsigned char *p, size_t length)
{
    bool c1 = length == 2 && p[0] == 0xc2 && p[1] < 0xa0;
    return p[0] < 0x20 || p[0] == 0x7f || c1;
}

char *xfa_clean(const char *bytes, size_t n)
{
    const unsigned char *in = (const unsigned char *)bytes;
    char *out = xfa_alloc(n + 1);
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        size_t length = utf8_sequence(in + i, n - i);
        if (length == 0 || control_character(in + i, length)) {
            out[used++] = '?';
            i += length ? length : 1;
            continue;
        }
        memcpy(out + used, in + i, length);
        used += length;
        i += length;
    }
    return out;
}
