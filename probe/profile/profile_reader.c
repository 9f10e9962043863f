#include "probe/profile/profile_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "probe/profile/profile_json.h"

void xfp_refuse(struct xfp_reader *r, const char *key, const char *format, ...)
{
    char what[256];
    va_list args;

    if (r->failed)
        return;
    r->failed = true;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(r->error, r->error_bytes, "%s: %s%s%s%s%s", r->name, r->where,
             *r->where && *key ? "." : "", key, *r->where || *key ? ": " : "", what);
}

/* A terminal must never be driven by the contents of a file. */
bool xfp_printable(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
            return false;
    return true;
}

char *xfp_copy_text(struct xfp_reader *r, const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    char *copy;

    if (!text)
        return xfp_refuse(r, key, "must be a string"), NULL;
    if (strlen(text) > XFP_MAX_TEXT)
        return xfp_refuse(r, key, "longer than %d bytes", XFP_MAX_TEXT), NULL;
    if (!xfp_printable(text))
        return xfp_refuse(r, key, "has control characters"), NULL;
    copy = strdup(text);
    if (!copy)
        xfp_refuse(r, key, "out of memory");
    return copy;
}

/* Optional text; "" when it is not there. */
char *xfp_read_text(struct xfp_reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    char *copy;

    if (value && !json_is_null(value))
        return xfp_copy_text(r, key, value);
    copy = strdup("");
    if (!copy)
        xfp_refuse(r, key, "out of memory");
    return copy;
}

int64_t xfp_read_integer(struct xfp_reader *r, const json_t *object, const char *key, int64_t low,
                         int64_t high, int64_t absent)
{
    const json_t *value = json_object_get(object, key);
    int64_t n;

    if (!value || json_is_null(value))
        return absent;
    if (!json_is_integer(value))
        return xfp_refuse(r, key, "must be a whole number"), absent;
    n = json_integer_value(value);
    if (n < low || n > high)
        return xfp_refuse(r, key, "%lld is outside %lld to %lld", (long long)n, (long long)low,
                          (long long)high),
               absent;
    return n;
}

bool xfp_read_bool(struct xfp_reader *r, const json_t *object, const char *key, bool absent)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value))
        return absent;
    if (!json_is_boolean(value))
        return xfp_refuse(r, key, "must be true or false"), absent;
    return json_is_true(value);
}

/* A time or rate: finite, not negative, below 10^18 (31 years in ns). */
double xfp_read_positive(struct xfp_reader *r, const json_t *object, const char *key, double absent)
{
    const json_t *value = json_object_get(object, key);
    double x;

    if (!value || json_is_null(value))
        return absent;
    if (!json_is_number(value))
        return xfp_refuse(r, key, "must be a number"), absent;
    x = json_number_value(value);
    if (!isfinite(x) || x < 0 || x > 1e18)
        return xfp_refuse(r, key, "%g is not a time", x), absent;
    return x;
}

/* The array under key, or NULL (absent, or failed). */
const json_t *xfp_read_array(struct xfp_reader *r, const json_t *object, const char *key,
                             size_t most)
{
    const json_t *array = json_object_get(object, key);

    if (!array || json_is_null(array))
        return NULL;
    if (!json_is_array(array))
        return xfp_refuse(r, key, "must be an array"), NULL;
    if (json_array_size(array) > most)
        return xfp_refuse(r, key, "%zu entries, at most %zu are read", json_array_size(array),
                          most),
               NULL;
    return array;
}

void *xfp_new_items(struct xfp_reader *r, size_t count, size_t bytes)
{
    void *items = calloc(count ? count : 1, bytes);

    if (!items)
        xfp_refuse(r, "", "out of memory");
    return items;
}

void xfp_read_fit(struct xfp_reader *r, const json_t *path, struct xfp_fit *fit)
{
    const json_t *object = json_object_get(path, "fit");

    fit->g_ns = NAN;
    if (!object || json_is_null(object))
        return;
    if (!json_is_object(object)) {
        xfp_refuse(r, "fit", "must be an object or null");
        return;
    }
    fit->Lo_ns = xfp_read_positive(r, object, "Lo_ns", NAN);
    fit->g_ns = xfp_read_positive(r, object, "g_ns", NAN);
    fit->G_ns_per_byte = xfp_read_positive(r, object, "G_ns_per_byte", NAN);
    fit->max_error = xfp_read_positive(r, object, "max_error", NAN);
    fit->fit_min_bytes = (uint64_t)xfp_read_integer(r, object, "fit_min_bytes", 0, INT64_MAX, 0);
    fit->valid = isfinite(fit->Lo_ns) && isfinite(fit->max_error) && fit->G_ns_per_byte > 0;
    if (!fit->valid)
        xfp_refuse(r, "fit", "needs Lo_ns, max_error and G_ns_per_byte above 0");
}
