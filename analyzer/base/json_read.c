#include "analyzer/base/json_read.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/files.h"

json_t *xfa_json_read(struct xfa_json_reader *r, const char *path, size_t most)
{
    const char *why = NULL;
    size_t bytes;
    json_error_t problem;
    char *text = xfa_read_whole(path, most, &bytes, &why);
    *r->error = '\0';
    if (!text) {
        snprintf(r->error, r->error_bytes, "%s", why);
        return NULL;
    }
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!root)
        snprintf(r->error, r->error_bytes, "line %d: %s", problem.line, problem.text);
    return root;
}

void xfa_json_fail(struct xfa_json_reader *r, const char *key, const char *wanted)
{
    if (*r->error)
        return;
    if (r->list && r->part)
        snprintf(r->error, r->error_bytes, "%s, number %zu, %s, number %zu: \"%s\" is to be %s",
                 r->list, r->item, r->parts, r->part, key, wanted);
    else if (r->list)
        snprintf(r->error, r->error_bytes, "%s, number %zu: \"%s\" is to be %s", r->list, r->item,
                 key, wanted);
    else
        snprintf(r->error, r->error_bytes, "\"%s\" is to be %s", key, wanted);
}

char *xfa_json_text_of(struct xfa_json_reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return NULL;
    if (!json_is_string(value))
        xfa_json_fail(r, key, "a text, or null");
    return json_is_string(value) ? xfa_text(json_string_value(value)) : NULL;
}

char *xfa_json_needed_text_of(struct xfa_json_reader *r, const json_t *object, const char *key)
{
    char *text = xfa_json_text_of(r, object, key);
    if (!text)
        xfa_json_fail(r, key, "a text");
    return text;
}

uint64_t xfa_json_count_of(struct xfa_json_reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        xfa_json_fail(r, key, "a number, 0 or more");
    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : 0;
}

bool xfa_json_truth_of(struct xfa_json_reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        xfa_json_fail(r, key, "true or false");
    return json_is_true(value);
}

size_t xfa_json_list_of(struct xfa_json_reader *r, const json_t *root, const char *key,
                        const json_t **list)
{
    *list = json_object_get(root, key);
    r->list = NULL;
    if (*list && !json_is_array(*list))
        xfa_json_fail(r, key, "a list");
    r->list = key;
    return json_array_size(*list);
}
