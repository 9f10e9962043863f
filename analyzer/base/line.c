#include "analyzer/base/line.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/base/json.h"
#include "common/text.h"

enum {
    MOST_DIGITS = 32, /* of a number, with all that is beside them */
    LEAST_PLAIN = -4, /* power of ten; smaller ones have an exponent */
};

void xfa_line_end(struct xfa_line *line)
{
    fwrite_unlocked(line->bytes, 1, line->used, line->out);
    line->used = 0;
}

/* Room for so many more bytes. */
static char *room(struct xfa_line *line, size_t count)
{
    if (line->used + count > sizeof line->bytes)
        xfa_line_end(line);
    return line->bytes + line->used;
}

void xfa_line_add(struct xfa_line *line, const char *bytes, size_t count)
{
    if (count > sizeof line->bytes) {
        xfa_line_end(line);
        fwrite_unlocked(bytes, 1, count, line->out);
        return;
    }
    memcpy(room(line, count), bytes, count);
    line->used += count;
}

/* ---- whole numbers --------------------------------------------------------------------------- */

/* The digits stand right before `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return end;
}

void xfa_line_unsigned(struct xfa_line *line, uint64_t value)
{
    char digits[MOST_DIGITS], *end = digits + sizeof digits, *at = digits_before(end, value);
    xfa_line_add(line, at, (size_t)(end - at));
}

void xfa_line_signed(struct xfa_line *line, int64_t value)
{
    if (value < 0)
        xfa_line_add(line, "-", 1);
    xfa_line_unsigned(line, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void xfa_line_hex(struct xfa_line *line, uint64_t value)
{
    char digits[MOST_DIGITS], *end = digits + sizeof digits, *at = end;
    do {
        *--at = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value > 0);
    *--at = 'x';
    *--at = '0';
    xfa_line_add(line, at, (size_t)(end - at));
}

void xfa_line_us(struct xfa_line *line, uint64_t ns)
{
    unsigned rest = (unsigned)(ns % 1000);
    char fraction[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                        (char)('0' + rest % 10)};
    xfa_line_unsigned(line, ns / 1000);
    xfa_line_add(line, fraction, sizeof fraction);
}

/* ---- reals ----------------------------------------------------------------------------------- */

_Static_assert(LDBL_MANT_DIG >= 64, "the powers of ten are exact, and so are the digits below");
static const long double tens[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                   1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                   1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                   1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};

#define LEAST_REAL 1e-11

/*
 * The first `digits` digits of a value from LEAST_REAL to below 10^digits, rounded, and the power
 * of ten of the first of them. The product is rounded once, to a multiple of 2^-14 or finer: one
 * beside a half stays on its side, or becomes the half. Which it was is not known then: false.
 */
static bool digits_of(double value, int digits, uint64_t *number, int *power)
{
    int p = 0;
    while (p < digits - 1 && value >= (double)tens[p + 1])
        p++;
    while (p <= 0 && (long double)value * tens[-p] < 1)
        p--;
    long double scaled = (long double)value * tens[digits - 1 - p];
    uint64_t whole = (uint64_t)scaled;
    long double fraction = scaled - (long double)whole;
    if (fraction == 0.5L)
        return false;
    whole += fraction > 0.5L;
    if (whole >= (uint64_t)tens[digits]) {
        whole /= 10;
        p++;
    }
    *number = whole;
    *power = p;
    return p < digits; /* else with an exponent */
}

/* `digits` digits, without zeros at their end, as %g has them. */
static void put_digits(struct xfa_line *line, uint64_t number, int digits, int power)
{
    char text[MOST_DIGITS], *end = text + sizeof text;
    bool plain = power >= LEAST_PLAIN;
    int behind = digits - 1 - (plain ? power : 0); /* digits behind the point */
    for (; behind > 0 && number % 10 == 0; behind--)
        number /= 10;
    char *at = end;
    for (int i = 0; i < behind; i++, number /= 10)
        *--at = (char)('0' + number % 10);
    if (behind > 0)
        *--at = '.';
    at = digits_before(at, number);
    xfa_line_add(line, at, (size_t)(end - at));
    if (plain)
        return;
    char exponent[4] = {'e', '-', (char)('0' + -power / 10), (char)('0' + -power % 10)};
    xfa_line_add(line, exponent, sizeof exponent);
}

void xfa_line_real(struct xfa_line *line, double value, int digits)
{
    double size = fabs(value);
    uint64_t number;
    int power;
    bool usual = size >= LEAST_REAL && size < (double)tens[digits];
    if (usual && digits_of(size, digits, &number, &power)) {
        if (value < 0)
            xfa_line_add(line, "-", 1);
        put_digits(line, number, digits, power);
        return;
    }
    char *at = room(line, MOST_DIGITS);
    line->used += (size_t)snprintf(at, MOST_DIGITS, "%.*g", digits, value);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* ASCII, without control characters, a quote or a backslash: it looks the same everywhere. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
            return false;
    return true;
}

void xfa_line_json(struct xfa_line *line, const char *text)
{
    if (text && is_plain(text)) {
        xfa_line_add(line, "\"", 1);
        xfa_line_text(line, text);
        xfa_line_add(line, "\"", 1);
        return;
    }
    char *literal = xfa_json_literal(text);
    xfa_line_text(line, literal);
    free(literal);
}

void xfa_line_shown(struct xfa_line *line, const char *text)
{
    if (is_plain(text)) {
        xfa_line_text(line, text);
        return;
    }
    char *shown = xfc_shown(text, strlen(text));
    if (!shown)
        abort();
    xfa_line_text(line, shown);
    free(shown);
}
