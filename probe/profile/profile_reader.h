/*
 * Reads untrusted JSON: every value is checked before it is used, and the first error ends the
 * reading, with its place in the file. Private to probe/.
 *
 * All functions may be called after a failure; they keep its error line.
 */
#ifndef XFP_PROFILE_READER_H
#define XFP_PROFILE_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfp_reader {
    const char *name; /* of the file */
    char where[128];  /* the object being read: "paths[3].points[2]" */
    char *error;
    size_t error_bytes;
    bool failed;
};

/* Records what is wrong with `key` of the object being read. */
void xfp_refuse(struct xfp_reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* True for text without control characters, which is safe to print on a terminal. */
bool xfp_printable(const char *text);

/* Copies belong to the caller. copy: the value must be text; read: "" when it is not there. */
char *xfp_copy_text(struct xfp_reader *r, const char *key, const json_t *value);
char *xfp_read_text(struct xfp_reader *r, const json_t *object, const char *key);

/* `absent` when the key is missing or null. */
int64_t xfp_read_integer(struct xfp_reader *r, const json_t *object, const char *key, int64_t low,
                         int64_t high, int64_t absent);
bool xfp_read_bool(struct xfp_reader *r, const json_t *object, const char *key, bool absent);

/* A time or rate: finite, not negative, below 10^18 (31 years in ns). */
double xfp_read_positive(struct xfp_reader *r, const json_t *object, const char *key,
                         double absent);

/* The transfer model under `fit` of a path; without it fit->valid stays false. */
struct xfp_fit;
void xfp_read_fit(struct xfp_reader *r, const json_t *path, struct xfp_fit *fit);

/* The array under key, or NULL (absent, or failed). */
const json_t *xfp_read_array(struct xfp_reader *r, const json_t *object, const char *key,
                             size_t most);

/* Zeroed room for count items, at least one; the caller's. */
void *xfp_new_items(struct xfp_reader *r, size_t count, size_t bytes);

#endif
