/*
 * Makes text from outside (names in traces and profiles, paths, error messages about them) safe to
 * show on a terminal or to put into JSON. Everything that the commands print passes through here.
 *
 * Replaced by visible text: control characters (C0 and C1, line ends too), direction marks, and all
 * other code points without a glyph (Unicode's Default_Ignorable_Code_Point, line and paragraph
 * separators, noncharacters), as <U+202E>; bytes that are not UTF-8, as <0xFF>. Applying it twice
 * changes nothing more.
 */
#ifndef XFC_TEXT_H
#define XFC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The bytes of the UTF-8 sequence at p, of `left` bytes, and its code point; 0: there is none. */
size_t xfc_utf8(const char *p, size_t left, uint32_t *code);

/* True for a code point that has no glyph, or changes how others are shown. */
bool xfc_hidden(uint32_t code);

/* n bytes made safe as above; the caller frees the result. NULL: out of memory. */
char *xfc_shown(const char *bytes, size_t n);

/* n bytes as UTF-8: what is none, and the number 0, becomes U+FFFD. As xfc_shown() otherwise. */
char *xfc_valid(const char *bytes, size_t n);

/*
 * As fprintf, with each %s made safe. Conversions: d i u x X c f g e s and %%, with flags, width
 * and precision (* as well), and hh h l ll z before integers; another one ends the process, as does
 * lack of memory. Returns the number of bytes, -1 when one could not be written.
 */
int xfc_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A field of CSV (RFC 4180) from text that was made safe: in quotes where it has a comma, a quote
 * or a line end; after an apostrophe where a spreadsheet would take it for a formula (it begins
 * with = + - @ or a tab). */
void xfc_csv_field(FILE *out, const char *shown);

#endif
