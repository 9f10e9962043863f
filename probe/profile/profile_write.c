/*
 * Writes a machine profile as JSON text, one line per point, so that people and diff can read it.
 */
#include "probe/profile/profile_json.h"
#include "probe/profile/profile_machine.h"
#include "probe/profile/profile_network_json.h"
#include "probe/profile/profile_sections.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "analyzer/base/files.h"

/* json_pack takes no NaN, and the file says "not known" as null. */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *text(const char *words)
{
    return words ? json_string(words) : json_null();
}

static json_t *measured(double ns)
{
    return ns > 0 ? json_real(ns) : json_null();
}

static json_t *pack_place(const struct xfp_place *place)
{
    return json_pack("{ss si si}", "memory", xft_memory_word(place->memory), "device",
                     place->device, "numa", place->numa);
}

static json_t *pack_fit(const struct xfp_fit *fit)
{
    if (!fit->valid)
        return json_null();
    return json_pack("{so so so so sI}", "Lo_ns", number(fit->Lo_ns), "g_ns", number(fit->g_ns),
                     "G_ns_per_byte", number(fit->G_ns_per_byte), "max_error",
                     number(fit->max_error), "fit_min_bytes", (json_int_t)fit->fit_min_bytes);
}

static json_t *pack_point(const struct xfp_point *p)
{
    json_t *object = json_pack(
        "{sI sI so so so so so so so so so}", "bytes", (json_int_t)p->bytes, "n", (json_int_t)p->n,
        "median_ns", number(p->median_ns), "min_ns", number(p->min_ns), "max_ns", number(p->max_ns),
        "ci_low_ns", number(p->ci_low_ns), "ci_high_ns", number(p->ci_high_ns), "host_ns",
        measured(p->host_ns), "blocking_ns", measured(p->blocking_ns), "blocking_ci_low_ns",
        measured(p->blocking_low_ns), "blocking_ci_high_ns", measured(p->blocking_high_ns));

    if (object && p->chosen)
        json_object_set_new(object, "chosen", json_true());
    return object;
}

/* Writes `"key": value` and releases value. */
static int put(FILE *out, const char *before, const char *key, json_t *value, const char *after)
{
    size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(10);
    char *text = value ? json_dumps(value, flags) : NULL;
    int written = -1;

    if (text)
        written = key ? fprintf(out, "%s\"%s\": %s%s", before, key, text, after)
                      : fprintf(out, "%s%s%s", before, text, after);
    free(text);
    json_decref(value);
    return written < 0 ? -1 : 0;
}

static int put_path(FILE *out, const struct xfp_path *path, const char *after)
{
    int bad = 0;

    bad |= put(out, "  {", "name", json_string(path->name), ",\n");
    bad |= put(out, "   ", "method", json_string(xfp_method_word(path->method)), ", ");
    bad |= put(out, "", "direction", json_string(xft_direction_word(path->direction)), ",\n");
    bad |= put(out, "   ", "src", pack_place(&path->src), ",\n");
    bad |= put(out, "   ", "dst", pack_place(&path->dst), ",\n");
    bad |= put(out, "   ", "blocking", json_boolean(path->blocking), ", ");
    bad |= put(out, "", "device_timed", json_boolean(path->device_timed), ",\n");
    if (path->load != XFP_ALONE)
        bad |= put(out, "   ", "load", json_string(xfp_load_word(path->load)), ",\n");
    if (path->cache != XFP_COLD)
        bad |= put(out, "   ", "cache", json_string(xfp_cache_word(path->cache)), ",\n");
    if (path->row_bytes)
        bad |= put(out, "   ", "row_bytes", json_integer((json_int_t)path->row_bytes), ",\n");
    bad |= put(out, "   ", "fit", pack_fit(&path->fit), ",\n");
    bad |= fprintf(out, "   \"points\": [") < 0;
    for (size_t i = 0; i < path->point_count; i++)
        bad |= put(out, i ? ",\n    " : "\n    ", NULL, pack_point(&path->points[i]), "");
    bad |= fprintf(out, "]}%s", after) < 0;
    return bad;
}

static json_t *pack_cost(const char *key, json_t *value, const struct xfp_cost *cost)
{
    json_t *object =
        json_pack("{sI so so so so so}", "n", (json_int_t)cost->n, "median", number(cost->median),
                  "min", number(cost->min), "max", number(cost->max), "ci_low",
                  number(cost->ci_low), "ci_high", number(cost->ci_high));

    if (object && json_object_set_new(object, key, value)) {
        json_decref(object);
        return NULL;
    }
    if (!object)
        json_decref(value);
    return object;
}

static json_t *pack_scalar(const struct xfp_scalar *scalar)
{
    json_t *object = pack_cost("name", json_string(scalar->name), &scalar->cost);

    if (object && json_object_set_new(object, "unit", json_string(scalar->unit))) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static int put_scalars(FILE *out, const struct xfp_profile *profile)
{
    int bad = fprintf(out, " \"scalars\": [") < 0;

    for (size_t i = 0; i < profile->scalar_count; i++)
        bad |= put(out, i ? ",\n  " : "\n  ", NULL, pack_scalar(&profile->scalars[i]), "");
    return bad | (fprintf(out, "],\n") < 0);
}

static int put_table(FILE *out, const struct xfp_table *table)
{
    int bad = put(out, "\n  {", "name", json_string(table->name), ", ");

    bad |= put(out, "", "by", json_string(table->by), ", ");
    bad |= put(out, "", "unit", json_string(table->unit), ", ");
    if (table->bytes)
        bad |= put(out, "", "bytes", json_integer((json_int_t)table->bytes), ", ");
    bad |= fprintf(out, "\"rows\": [") < 0;
    for (size_t i = 0; i < table->row_count; i++) {
        const struct xfp_row *row = &table->rows[i];

        bad |= put(out, i ? ",\n    " : "\n    ", NULL,
                   pack_cost("at", json_integer((json_int_t)row->at), &row->cost), "");
    }
    return bad | (fprintf(out, "]}") < 0);
}

static int put_tables(FILE *out, const struct xfp_profile *profile)
{
    int bad = fprintf(out, " \"tables\": [") < 0;

    for (size_t i = 0; i < profile->table_count; i++)
        bad |= (i && fputc(',', out) < 0) | put_table(out, &profile->tables[i]);
    return bad | (fprintf(out, "],\n") < 0);
}

static int put_warnings(FILE *out, const struct xfp_profile *profile)
{
    int bad = fprintf(out, " \"warnings\": [") < 0;

    for (size_t i = 0; i < profile->warning_count; i++)
        bad |= put(out, i ? ",\n  " : "\n  ", NULL, json_string(profile->warnings[i]), "");
    return bad | (fprintf(out, "]\n}\n") < 0);
}

int xfp_write_json(const struct xfp_profile *profile, FILE *out)
{
    int bad = 0;

    bad |= put(out, "{", "schema", json_string(XFP_SCHEMA), ",\n");
    bad |= put(out, " ", "version", json_integer(XFP_VERSION), ",\n");
    bad |= put(out, " ", "created", text(profile->created), ",\n");
    bad |= put(out, " ", "producer", text(profile->producer), ",\n");
    bad |= put(out, " ", "machine", xfp_pack_machine(&profile->machine), ",\n");
    if (profile->rules.known)
        bad |= put(out, " ", "rules", xfp_pack_rules(&profile->rules), ",\n");
    bad |= fprintf(out, " \"paths\": [\n") < 0;
    for (size_t i = 0; i < profile->path_count; i++)
        bad |= put_path(out, &profile->paths[i], i + 1 < profile->path_count ? ",\n" : "\n");
    bad |= fprintf(out, " ],\n") < 0;
    bad |= xfp_write_sections(profile, out) | xfp_write_network(profile, out);
    bad |= put_scalars(out, profile) | put_tables(out, profile);
    bad |= put_warnings(out, profile);
    return bad || ferror(out) ? -1 : 0;
}

int xfp_save(const struct xfp_profile *profile, const char *path, char *error, size_t error_bytes)
{
    struct xfa_replacement file;
    int bad = xfa_replace_begin(&file, path);

    if (!bad && xfp_write_json(profile, file.stream) && !ferror(file.stream)) {
        xfa_replace_drop(&file);
        file.why = "out of memory";
        bad = -1;
    }
    if (!bad)
        bad = xfa_replace_end(&file);
    if (bad)
        snprintf(error, error_bytes, "%s: cannot write the machine profile: %s", path, file.why);
    return bad;
}
