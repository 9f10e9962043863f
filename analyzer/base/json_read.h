/*
 * Reading JSON that people edit: values of the types that are wanted, and one line about the first
 * thing that is wrong, with its place.
 */
#ifndef XFA_JSON_READ_H
#define XFA_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xfa_json_reader {
    char *error; /* empty: none so far; the first one stays */
    size_t error_bytes;
    const char *list;  /* what is read: "sites", "exceptions"; NULL: the object itself */
    size_t item;       /* its place, from 1 on */
    size_t part;       /* of a list within the item: its place, from 1 on; 0: the item itself */
    const char *parts; /* with part: that list's key */
};

/* The file's object, for json_decref(); NULL with the error: it cannot be read, has more than
 * `most` bytes or is not JSON (with the line). */
json_t *xfa_json_read(struct xfa_json_reader *r, const char *path, size_t most);

/* "sites, number 3: "offset" is to be WANTED". */
void xfa_json_fail(struct xfa_json_reader *r, const char *key, const char *wanted);

/* For free(); NULL when it is null or not there; an error when it is no text. */
char *xfa_json_text_of(struct xfa_json_reader *r, const json_t *object, const char *key);
char *xfa_json_needed_text_of(struct xfa_json_reader *r, const json_t *object, const char *key);

uint64_t xfa_json_count_of(struct xfa_json_reader *r, const json_t *object, const char *key);

/* False where it is not there; an error when it is neither true nor false. */
bool xfa_json_truth_of(struct xfa_json_reader *r, const json_t *object, const char *key);

/* A list's length; its items are read by the caller, as r->list and r->item say. 0: not there. */
size_t xfa_json_list_of(struct xfa_json_reader *r, const json_t *root, const char *key,
                        const json_t **list);

#endif
