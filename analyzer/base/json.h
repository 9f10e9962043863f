/*
 * Values in JSON. Unknown values are null.
 *
 * Text of the program is kept, as valid UTF-8 (invalid bytes become U+FFFD). Characters that
 * xfc_hidden() hides are written as JSON escapes, so that they do not reach a terminal.
 */
#ifndef XFA_JSON_H
#define XFA_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

json_t *xfa_json_text(const char *value);  /* NULL: null */
json_t *xfa_json_count(uint64_t value);    /* saturates at INT64_MAX */
json_t *xfa_json_number(double value);     /* NAN, infinite: null */
json_t *xfa_json_seconds(double ns);       /* NAN, infinite: null */
json_t *xfa_json_gpu(int gpu);             /* below 0: null */
json_t *xfa_json_moment(uint64_t real_ns); /* ISO 8601, UTC; 0: null */

/* As json_dumpf(). */
int xfa_json_write(const json_t *json, FILE *out, size_t flags);
/* The same of a part of something larger: all lines but the first begin so many spaces further in.
 */
int xfa_json_write_in(const json_t *json, FILE *out, size_t flags, size_t deeper);

/* The text as a JSON string with its quotes, for the caller to free; NULL: null. */
char *xfa_json_literal(const char *text);

#endif
