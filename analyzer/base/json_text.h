/*
 * Text of others in JSON: kept as it was, as valid UTF-8 (what is none becomes U+FFFD); what
 * xfc_hidden() hides is written in JSON's own escapes, so that it does not reach a terminal.
 */
#ifndef XFA_JSON_TEXT_H
#define XFA_JSON_TEXT_H

#include <jansson.h>
#include <stdio.h>

json_t *xfa_json_text(const char *value); /* NULL: null */

/* As json_dumpf(). */
int xfa_json_write(const json_t *json, FILE *out, size_t flags);

#endif
