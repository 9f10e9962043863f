#include "common/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is there ------------------------------------------------------------------------ */

size_t xfc_utf8(const char *p, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = left ? (unsigned char)*p : 0xff;
    size_t length = first < 0x80             ? 1
                    : (first & 0xe0) == 0xc0 ? 2
                    : (first & 0xf0) == 0xe0 ? 3
                    : (first & 0xf8) == 0xf0 ? 4
                                             : 0;
    if (length == 0 || length > left)
        return 0;
    uint32_t c = length == 1 ? first : first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    }
    bool surrogate = c >= 0xd800 && c <= 0xdfff;
    if (c < least[length] || c > 0x10ffff || surrogate)
        return 0;
    *code = c;
    return length;
}

bool xfc_hidden(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
        {0x061c, 0x061c},   {0x070f, 0x070f},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
        {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
        {0x3164, 0x3164},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
        {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    if ((code & 0xfffe) == 0xfffe) /* the last two of each plane */
        return true;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return true;
    return false;
}

/* ---- copies ------------------------------------------------------------------------------- */

enum { MOST_BYTES = 10 }; /* <U+10FFFF> for four bytes, <U+001B> and <0xFF> for one */

char *xfc_shown(const char *bytes, size_t n)
{
    char *text = n < SIZE_MAX / MOST_BYTES ? malloc(n * MOST_BYTES + 1) : NULL, *end = text;
    for (size_t i = 0, length = 0; text && i < n; i += length) {
        uint32_t code = 0;
        length = xfc_utf8(bytes + i, n - i, &code);
        if (length == 0) {
            end += sprintf(end, "<0x%02X>", (unsigned char)bytes[i]);
            length = 1;
        } else if (xfc_hidden(code)) {
            end += sprintf(end, "<U+%04X>", code);
        } else {
            end = mempcpy(end, bytes + i, length);
        }
    }
    if (text)
        *end = 0;
    return text;
}

char *xfc_valid(const char *bytes, size_t n)
{
    static const char instead[] = "\xef\xbf\xbd";
    char *text = n < SIZE_MAX / 4 ? malloc(n * 3 + 1) : NULL, *end = text;
    for (size_t i = 0, length = 0; text && i < n; i += length) {
        uint32_t code = 0;
        length = xfc_utf8(bytes + i, n - i, &code);
        bool good = length > 0 && code != 0;
        end = mempcpy(end, good ? bytes + i : instead, good ? length : sizeof instead - 1);
        length = length ? length : 1;
    }
    if (text)
        *end = 0;
    return text;
}

/* ---- printing ----------------------------------------------------------------------------- */

/* One conversion of a format: "%-*.3lu" and what its stars said. */
struct conversion {
    char spec[24]; /* without the stars of a text */
    char kind;     /* d, s, ... */
    int longs;     /* l: 1, ll: 2, z: 3; 0 for the rest, which come as int */
    bool left;
    int width, precision; /* -1: none */
};

/* Lists of arguments are passed on by address only within a struct. */
struct arguments {
    va_list list;
};

static const char *take_number(const char *at, struct arguments *arguments, int *number)
{
    if (*at == '*') {
        *number = va_arg(arguments->list, int);
        return at + 1;
    }
    char *end;
    *number = (int)strtol(at, &end, 10);
    return end;
}

/* `at` is behind the percent sign; returns what is behind the conversion. */
static const char *take_conversion(const char *at, struct arguments *arguments,
                                   struct conversion *c)
{
    size_t flags = strspn(at, "-+ #0");
    *c = (struct conversion){.width = -1, .precision = -1};
    for (size_t i = 0; i < flags; i++)
        c->left = c->left || at[i] == '-';
    char *spec = c->spec;
    *spec++ = '%';
    spec = mempcpy(spec, at, flags < 5 ? flags : 5);
    at += flags;
    if (*at == '*' || (*at >= '1' && *at <= '9'))
        at = take_number(at, arguments, &c->width);
    if (*at == '.')
        at = take_number(at + 1, arguments, &c->precision);
    if (c->width < -1) { /* as printf takes it */
        c->left = true;
        *spec++ = '-';
        c->width = -c->width;
    }
    spec = stpcpy(spec, "*.*");
    size_t sizes = strspn(at, "hlz");
    for (size_t i = 0; i < sizes; i++)
        c->longs = at[i] == 'z' ? 3 : c->longs + (at[i] == 'l');
    spec = mempcpy(spec, at, sizes < 2 ? sizes : 2);
    at += sizes;
    c->kind = *at;
    *spec++ = *at;
    *spec = 0;
    return *at ? at + 1 : at;
}

static int print_text(FILE *out, const struct conversion *c, const char *text)
{
    text = text ? text : "(null)";
    size_t n = c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text);
    char *shown = xfc_shown(text, n);
    if (!shown)
        abort();
    int width = c->width < 0 ? 0 : c->width;
    int written = fprintf(out, "%*s", c->left ? -width : width, shown);
    free(shown);
    return written;
}

#define PRINT(type)                                                                                \
    fprintf(out, c->spec, c->width < 0 ? 0 : c->width, c->precision, va_arg(arguments->list, type))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static int print_one(FILE *out, const struct conversion *c, struct arguments *arguments)
{
    switch (c->kind) {
    case '%':
        return fputc('%', out) == EOF ? -1 : 1;
    case 's':
        return print_text(out, c, va_arg(arguments->list, const char *));
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'c':
        if (c->longs == 3)
            return PRINT(size_t);
        if (c->longs == 2)
            return PRINT(long long);
        if (c->longs == 1)
            return PRINT(long);
        return PRINT(int);
    case 'e':
    case 'f':
    case 'g':
        return PRINT(double);
    default:
        abort(); /* a conversion that this has not */
    }
}
#pragma GCC diagnostic pop

static int print_all(FILE *out, const char *format, struct arguments *arguments)
{
    int total = 0, written = 0;
    while (*format && written >= 0) {
        size_t plain = strcspn(format, "%");
        if (plain > 0) {
            written = fwrite(format, 1, plain, out) == plain ? (int)plain : -1;
            format += plain;
        } else {
            struct conversion conversion;
            format = take_conversion(format + 1, arguments, &conversion);
            written = print_one(out, &conversion, arguments);
        }
        total += written;
    }
    return written < 0 ? -1 : total;
}

int xfc_print(FILE *out, const char *format, ...)
{
    struct arguments arguments;
    va_start(arguments.list, format);
    int written = print_all(out, format, &arguments);
    va_end(arguments.list);
    return written;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void xfc_csv_field(FILE *out, const char *shown)
{
    bool quoted = strpbrk(shown, ",\"\r\n") != NULL;
    if (quoted)
        putc_unlocked('"', out);
    if (*shown && strchr("=+-@\t", *shown))
        putc_unlocked('\'', out);
    for (const char *at = shown; *at; at++) {
        if (*at == '"')
            putc_unlocked('"', out);
        putc_unlocked(*at, out);
    }
    if (quoted)
        putc_unlocked('"', out);
}
