/*
 * Values in JSON. What is not known is null.
 *
 * Text of others is kept as it was, as valid UTF-8 (what is none becomes U+FFFD); what xfc_hidden()
 * hides is written in JSON's own escapes, so that it does not reach a terminal.
 */
#ifndef XFA_JSON_H
#define XFA_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

json_t *xfa_json_text(const char *value);  /* NULL: null */
json_t *xfa_json_count(uint64_t value);    /* sticks at JSON's largest integer */
json_t *xfa_json_number(double value);     /* NAN, infinite: null */
json_t *xfa_json_seconds(double ns);       /* likewise */
json_t *xfa_json_gpu(int gpu);             /* its number; less than 0: null */
json_t *xfa_json_moment(uint64_t real_ns); /* ISO 8601, UTC; 0: null */

/* As json_dumpf(). */
int xfa_json_write(const json_t *json, FILE *out, size_t flags);

#endif
