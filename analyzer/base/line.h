/*
 * Lines of an output that has one per event: their text is put together here and given to the
 * stream as one. Numbers come out as printf writes them, byte for byte, in a fifth of the time:
 * most of such an output is digits.
 *
 * Use: struct xfa_line line; xfa_line_begin(&line, out); what is in it; xfa_line_end(&line).
 * Errors are the stream's (ferror()).
 */
#ifndef XFA_LINE_H
#define XFA_LINE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define XFA_LINE_DIGITS 15 /* most of xfa_line_real() */

struct xfa_line {
    FILE *out; /* borrowed */
    size_t used;
    char bytes[4096]; /* a line may be longer */
};

static inline void xfa_line_begin(struct xfa_line *line, FILE *out)
{
    line->out = out;
    line->used = 0;
}

/* To the stream, whose lock is not taken. */
void xfa_line_end(struct xfa_line *line);

void xfa_line_add(struct xfa_line *line, const char *bytes, size_t count);
void xfa_line_unsigned(struct xfa_line *line, uint64_t value); /* %PRIu64 */
void xfa_line_signed(struct xfa_line *line, int64_t value);    /* %PRId64 */
void xfa_line_hex(struct xfa_line *line, uint64_t value);      /* 0x%PRIx64 */
/* %.*g, of at most XFA_LINE_DIGITS digits. */
void xfa_line_real(struct xfa_line *line, double value, int digits);
/* ns as microseconds: %PRIu64.%03u */
void xfa_line_us(struct xfa_line *line, uint64_t ns);
/* As a JSON string with its quotes, by the rules of json.h; NULL: null. */
void xfa_line_json(struct xfa_line *line, const char *text);
/* Made safe to show, as xfc_print() does. */
void xfa_line_shown(struct xfa_line *line, const char *text);

static inline void xfa_line_text(struct xfa_line *line, const char *text)
{
    xfa_line_add(line, text, strlen(text));
}

#endif
