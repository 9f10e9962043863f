#include "probe/profile/json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "probe/profile/profile_reader.h"

/* The state of the scan. It does not check that the text is JSON: jansson does, and builds no more
 * of it than is counted here before the first error. */
struct scan {
    const char *at, *end;
    size_t values, containers, depth;
};

/* To the closing quote, or to the end. */
static void skip_string(struct scan *s)
{
    for (s->at++; s->at < s->end && *s->at != '"'; s->at++)
        s->at += *s->at == '\\';
    s->at = s->at < s->end ? s->at + 1 : s->end;
}

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static void skip_word(struct scan *s)
{
    do
        s->at++;
    while (s->at < s->end && in_word(*s->at));
}

static void step(struct scan *s)
{
    switch (*s->at) {
    case '{':
    case '[':
        s->values++;
        s->containers++;
        s->depth++;
        s->at++;
        break;
    case '}':
    case ']':
        s->depth -= s->depth > 0;
        s->at++;
        break;
    case ':': /* what was before it was a key */
        s->values -= s->values > 0;
        s->at++;
        break;
    case '"':
        s->values++;
        skip_string(s);
        break;
    default:
        s->values += in_word(*s->at);
        if (in_word(*s->at))
            skip_word(s);
        else
            s->at++;
    }
}

/* What exceeds its limit, or NULL. */
static const char *too_much(const char *text, size_t bytes, size_t *limit)
{
    struct scan s = {.at = text, .end = text + bytes};

    while (s.at < s.end) {
        step(&s);
        *limit = XFP_MAX_DEPTH;
        if (s.depth > *limit)
            return "levels of objects and arrays";
        *limit = XFP_MAX_CONTAINERS;
        if (s.containers > *limit)
            return "objects and arrays";
        *limit = XFP_MAX_VALUES;
        if (s.values > *limit)
            return "values";
    }
    return NULL;
}

json_t *xfp_json_parse(const char *text, size_t bytes, char *why, size_t why_bytes)
{
    json_error_t error;
    json_t *root = NULL;
    size_t limit;
    const char *what = too_much(text, bytes, &limit);

    if (what)
        snprintf(why, why_bytes, "more than %zu %s", limit, what);
    else if (!(root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error)))
        snprintf(why, why_bytes, "no valid JSON (line %d: %s)", error.line,
                 xfp_printable(error.text) ? error.text : "unreadable characters");
    return root;
}
