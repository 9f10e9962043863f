/*
 * Text that others wrote (names in traces and profiles, paths, error messages about them), fit to
 * be shown on a terminal or to be put into JSON. Everything that the commands print passes here.
 *
 * Shown as something to be seen, never passed on as it is: control characters (C0 and C1, the
 * line's end among them), marks of direction, and all else that Unicode gives no looks (its
 * Default_Ignorable_Code_Point, line and paragraph separators, noncharacters), as <U+202E>; bytes
 * that are no UTF-8 as <0xFF>. To be shown twice does no harm.
 */
#ifndef XFC_TEXT_H
#define XFC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The bytes of the UTF-8 sequence at p, of `left` bytes, and its code point; 0: there is none. */
size_t xfc_utf8(const char *p, size_t left, uint32_t *code);

/* It has no looks of its own, or takes others theirs. */
bool xfc_hidden(uint32_t code);

/* n bytes as they are shown; the caller frees it. NULL: out of memory. */
char *xfc_shown(const char *bytes, size_t n);

/* n bytes as UTF-8: what is none, and the number 0, becomes U+FFFD. As xfc_shown() otherwise. */
char *xfc_valid(const char *bytes, size_t n);

/*
 * As fprintf, with each %s shown. Conversions: d i u x X c f g e s and %%, with flags, width and
 * precision (* as well), and hh h l ll z before integers; another one ends the process, as does
 * lack of memory. Returns the number of bytes, -1 when one could not be written.
 */
int xfc_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A field of CSV (RFC 4180), of text as it is shown: in quotes where it has a comma, a quote or the
 * end of a line; behind an apostrophe where a spreadsheet would take it for a formula (it begins
 * with = + - @ or a tab). */
void xfc_csv_field(FILE *out, const char *shown);

#endif
