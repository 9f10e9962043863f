/*
 * Checks the size of untrusted JSON text before jansson builds a tree of it, which takes up to
 * eighty times the text's bytes. Private to probe/.
 */
#ifndef XFP_JSON_TEXT_H
#define XFP_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/*
 * What a tree may be at most. The profile of a machine with one GPU has 6,000 values, 800 of them
 * objects and arrays, at most six deep; one with 16 GPUs, of which each can copy to each, has some
 * 200 times as many (estimated). Text and tree within these limits take about 300 MB at most.
 */
enum xfp_json_limits {
    XFP_MAX_VALUES = 1500000,
    XFP_MAX_CONTAINERS = 300000, /* objects and arrays, which take the most memory */
    XFP_MAX_DEPTH = 32,
};

/* The tree, which the caller releases, or NULL with the reason in `why`, which is safe to print. A
 * duplicate key is an error. */
json_t *xfp_json_parse(const char *text, size_t bytes, char *why, size_t why_bytes);

#endif
