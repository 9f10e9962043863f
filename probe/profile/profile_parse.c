/*
 * JSON text to a machine profile.
 */
#include "probe/profile/json_text.h"
#include "probe/profile/profile_json.h"
#include "probe/profile/profile_machine.h"
#include "probe/profile/profile_network_json.h"
#include "probe/profile/profile_reader.h"
#include "probe/profile/profile_sections.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/files.h"

static const struct word {
    unsigned number;
    const char *word;
} memory_words[] =
    {
#define WORD(symbol, number, word) {number, word},
        XFT_MEMORY_LIST(WORD)},
  direction_words[] = {XFT_DIRECTION_LIST(WORD)}, method_words[] = {XFP_METHOD_LIST(WORD)},
  load_words[] = {XFP_LOAD_LIST(WORD)}, cache_words[] = {XFP_CACHE_LIST(WORD)};
#undef WORD

static unsigned read_word(struct xfp_reader *r, const json_t *object, const char *key,
                          const struct word *words, size_t count)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (!text)
        return xfp_refuse(r, key, "must be a string"), 0;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(text, words[i].word))
            return words[i].number;
    xfp_refuse(r, key, "\"%.40s\" is not a word this version knows",
               xfp_printable(text) ? text : "?");
    return 0;
}
#define READ_WORD(r, object, key, words)                                                           \
    read_word(r, object, key, words, sizeof(words) / sizeof((words)[0]))

static void read_place(struct xfp_reader *r, const json_t *path, const char *key,
                       struct xfp_place *place)
{
    const json_t *object = json_object_get(path, key);

    if (!json_is_object(object)) {
        xfp_refuse(r, key, object ? "must be an object" : "missing");
        return;
    }
    place->memory = (enum xft_memory)READ_WORD(r, object, "memory", memory_words);
    place->device = (int)xfp_read_integer(r, object, "device", -1, XFP_MAX_GPUS - 1, -1);
    place->numa = (int)xfp_read_integer(r, object, "numa", -1, 4095, -1);
}

/* Only the size and the median are needed; the spread defaults to none. */
static void read_point(struct xfp_reader *r, const json_t *object, struct xfp_point *p)
{
    p->bytes = (uint64_t)xfp_read_integer(r, object, "bytes", 1, INT64_MAX, 0);
    p->n = (uint32_t)xfp_read_integer(r, object, "n", 1, UINT32_MAX, 1);
    p->median_ns = xfp_read_positive(r, object, "median_ns", 0);
    p->min_ns = xfp_read_positive(r, object, "min_ns", p->median_ns);
    p->max_ns = xfp_read_positive(r, object, "max_ns", p->median_ns);
    p->ci_low_ns = xfp_read_positive(r, object, "ci_low_ns", p->median_ns);
    p->ci_high_ns = xfp_read_positive(r, object, "ci_high_ns", p->median_ns);
    p->host_ns = xfp_read_positive(r, object, "host_ns", 0);
    p->blocking_ns = xfp_read_positive(r, object, "blocking_ns", 0);
    p->blocking_low_ns = xfp_read_positive(r, object, "blocking_ci_low_ns", p->blocking_ns);
    p->blocking_high_ns = xfp_read_positive(r, object, "blocking_ci_high_ns", p->blocking_ns);
    p->chosen = xfp_read_bool(r, object, "chosen", false);
    if (!p->bytes)
        xfp_refuse(r, "bytes", "missing");
    if (!(p->median_ns > 0))
        xfp_refuse(r, "median_ns", "must be there and above 0");
    if (p->min_ns > p->median_ns || p->max_ns < p->median_ns)
        xfp_refuse(r, "median_ns", "not between min_ns and max_ns");
    if (p->ci_low_ns > p->median_ns || p->ci_high_ns < p->median_ns)
        xfp_refuse(r, "median_ns", "not between ci_low_ns and ci_high_ns");
    if (p->blocking_low_ns > p->blocking_ns || p->blocking_high_ns < p->blocking_ns)
        xfp_refuse(r, "blocking_ns", "not between blocking_ci_low_ns and blocking_ci_high_ns");
}

static void read_points(struct xfp_reader *r, const json_t *object, struct xfp_path *path)
{
    const json_t *array = xfp_read_array(r, object, "points", XFP_MAX_POINTS);
    size_t count = json_array_size(array);
    char where[64];

    memcpy(where, r->where, sizeof(where));
    where[sizeof(where) - 1] = '\0';
    path->points = xfp_new_items(r, count, sizeof(*path->points));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *point = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "%s.points[%zu]", where, i);
        if (!json_is_object(point)) {
            xfp_refuse(r, "", "must be an object");
            return;
        }
        read_point(r, point, &path->points[i]);
        if (i && path->points[i].bytes <= path->points[i - 1].bytes)
            xfp_refuse(r, "bytes", "sizes must ascend");
        path->point_count = i + 1;
    }
    memcpy(r->where, where, sizeof(where));
}

static void read_path(struct xfp_reader *r, const json_t *object, struct xfp_path *path)
{
    path->name = xfp_copy_text(r, "name", json_object_get(object, "name"));
    path->method = (enum xfp_method)READ_WORD(r, object, "method", method_words);
    path->direction = (enum xft_direction)READ_WORD(r, object, "direction", direction_words);
    read_place(r, object, "src", &path->src);
    read_place(r, object, "dst", &path->dst);
    path->blocking = xfp_read_bool(r, object, "blocking", false);
    path->device_timed = xfp_read_bool(r, object, "device_timed", false);
    if (json_object_get(object, "load"))
        path->load = (enum xfp_load)READ_WORD(r, object, "load", load_words);
    if (json_object_get(object, "cache"))
        path->cache = (enum xfp_cache)READ_WORD(r, object, "cache", cache_words);
    path->row_bytes = (uint64_t)xfp_read_integer(r, object, "row_bytes", 0, INT64_MAX, 0);
    read_points(r, object, path);
    path->chosen = xfp_all_chosen(path);
    xfp_read_fit(r, object, &path->fit);
}

/* Only the median is needed; the spread defaults to none. */
static void read_cost(struct xfp_reader *r, const json_t *object, struct xfp_cost *c)
{
    const json_t *median = json_object_get(object, "median");

    if (!median || json_is_null(median))
        xfp_refuse(r, "median", "missing");
    c->n = (uint32_t)xfp_read_integer(r, object, "n", 1, UINT32_MAX, 1);
    c->median = xfp_read_positive(r, object, "median", 0);
    c->min = xfp_read_positive(r, object, "min", c->median);
    c->max = xfp_read_positive(r, object, "max", c->median);
    c->ci_low = xfp_read_positive(r, object, "ci_low", c->median);
    c->ci_high = xfp_read_positive(r, object, "ci_high", c->median);
    if (c->min > c->median || c->max < c->median)
        xfp_refuse(r, "median", "not between min and max");
    if (c->ci_low > c->median || c->ci_high < c->median)
        xfp_refuse(r, "median", "not between ci_low and ci_high");
}

/* Names are unique within their list. */
static void see_name(struct xfp_reader *r, json_t *seen, const char *name)
{
    if (!r->failed && json_object_get(seen, name))
        xfp_refuse(r, "name", "\"%.80s\" is there twice", name);
    if (!r->failed && json_object_set_new(seen, name, json_true()))
        xfp_refuse(r, "name", "out of memory");
}

static void read_scalars(struct xfp_reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = xfp_read_array(r, root, "scalars", XFP_MAX_COSTS);
    size_t count = json_array_size(array);
    json_t *seen = json_object();

    profile->scalars = xfp_new_items(r, count, sizeof(*profile->scalars));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *object = json_array_get(array, i);
        struct xfp_scalar *scalar = &profile->scalars[i];

        snprintf(r->where, sizeof(r->where), "scalars[%zu]", i);
        profile->scalar_count = i + 1;
        if (!json_is_object(object)) {
            xfp_refuse(r, "", "must be an object");
            break;
        }
        scalar->name = xfp_copy_text(r, "name", json_object_get(object, "name"));
        scalar->unit = xfp_copy_text(r, "unit", json_object_get(object, "unit"));
        read_cost(r, object, &scalar->cost);
        see_name(r, seen, scalar->name);
    }
    json_decref(seen);
    r->where[0] = '\0';
}

static void read_rows(struct xfp_reader *r, const json_t *object, struct xfp_table *table,
                      size_t index)
{
    const json_t *array = xfp_read_array(r, object, "rows", XFP_MAX_POINTS);
    size_t count = json_array_size(array);

    table->rows = xfp_new_items(r, count, sizeof(*table->rows));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *row = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "tables[%zu].rows[%zu]", index, i);
        if (!json_is_object(row)) {
            xfp_refuse(r, "", "must be an object");
            return;
        }
        table->rows[i].at = (uint64_t)xfp_read_integer(r, row, "at", 1, INT64_MAX, 0);
        read_cost(r, row, &table->rows[i].cost);
        if (!table->rows[i].at)
            xfp_refuse(r, "at", "missing");
        if (i && table->rows[i].at <= table->rows[i - 1].at)
            xfp_refuse(r, "at", "rows must ascend");
        table->row_count = i + 1;
    }
}

static void read_tables(struct xfp_reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = xfp_read_array(r, root, "tables", XFP_MAX_COSTS);
    size_t count = json_array_size(array);
    json_t *seen = json_object();

    profile->tables = xfp_new_items(r, count, sizeof(*profile->tables));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *object = json_array_get(array, i);
        struct xfp_table *table = &profile->tables[i];

        snprintf(r->where, sizeof(r->where), "tables[%zu]", i);
        profile->table_count = i + 1;
        if (!json_is_object(object)) {
            xfp_refuse(r, "", "must be an object");
            break;
        }
        table->name = xfp_copy_text(r, "name", json_object_get(object, "name"));
        table->by = xfp_copy_text(r, "by", json_object_get(object, "by"));
        table->unit = xfp_copy_text(r, "unit", json_object_get(object, "unit"));
        table->bytes = (uint64_t)xfp_read_integer(r, object, "bytes", 0, INT64_MAX, 0);
        see_name(r, seen, table->name);
        read_rows(r, object, table, i);
    }
    json_decref(seen);
    r->where[0] = '\0';
}

static void read_paths(struct xfp_reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = xfp_read_array(r, root, "paths", XFP_MAX_PATHS);
    size_t count = json_array_size(array);
    json_t *seen = json_object();

    if (!array)
        xfp_refuse(r, "paths", "missing");
    profile->paths = xfp_new_items(r, count, sizeof(*profile->paths));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *path = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "paths[%zu]", i);
        profile->path_count = i + 1;
        if (!json_is_object(path)) {
            xfp_refuse(r, "", "must be an object");
            break;
        }
        read_path(r, path, &profile->paths[i]);
        see_name(r, seen, profile->paths[i].name);
    }
    json_decref(seen);
    r->where[0] = '\0';
}

static void read_warnings(struct xfp_reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = xfp_read_array(r, root, "warnings", XFP_MAX_WARNINGS);
    size_t count = json_array_size(array);

    profile->warnings = xfp_new_items(r, count, sizeof(*profile->warnings));
    for (size_t i = 0; i < count && !r->failed; i++) {
        snprintf(r->where, sizeof(r->where), "warnings[%zu]", i);
        profile->warnings[i] = xfp_copy_text(r, "", json_array_get(array, i));
        profile->warning_count = i + 1;
    }
}

/* Is this a machine profile, and of a version this reader understands? */
static void read_identity(struct xfp_reader *r, const json_t *root)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *version = json_object_get(root, "version");

    if (!schema || strcmp(schema, XFP_SCHEMA)) {
        xfp_refuse(r, "schema", "not a machine profile (\"%s\" expected)", XFP_SCHEMA);
        return;
    }
    if (!json_is_integer(version) || json_integer_value(version) < 1)
        xfp_refuse(r, "version", "must be a whole number from 1 on");
    else if (json_integer_value(version) > XFP_VERSION)
        xfp_refuse(r, "version", "%lld is newer than this program reads (%d)",
                   (long long)json_integer_value(version), XFP_VERSION);
}

static struct xfp_profile *read_root(struct xfp_reader *r, const json_t *root)
{
    struct xfp_profile *profile = xfp_new_items(r, 1, sizeof(*profile));

    if (!profile)
        return NULL;
    if (!json_is_object(root))
        xfp_refuse(r, "", "not a machine profile (a JSON object expected)");
    else
        read_identity(r, root);
    if (!r->failed) {
        profile->created = xfp_read_text(r, root, "created");
        profile->producer = xfp_read_text(r, root, "producer");
        xfp_read_machine(r, root, &profile->machine);
        xfp_read_rules(r, root, &profile->rules);
    }
    if (!r->failed)
        read_paths(r, root, profile);
    if (!r->failed)
        r->failed = xfp_read_sections(root, r->name, profile, r->error, r->error_bytes);
    if (!r->failed)
        xfp_read_network(r, root, profile);
    if (!r->failed)
        read_scalars(r, root, profile);
    if (!r->failed)
        read_tables(r, root, profile);
    if (!r->failed)
        read_warnings(r, root, profile);
    if (r->failed) {
        xfp_free(profile);
        return NULL;
    }
    return profile;
}

/* As xfp_parse(); `name` begins every line of error ("machine.json: paths[3].name: missing"). */
static struct xfp_profile *parse_named(const char *name, const char *text, size_t bytes,
                                       char *error, size_t error_bytes)
{
    struct xfp_reader r = {.name = name, .error = error, .error_bytes = error_bytes};
    struct xfp_profile *profile;
    char why[256];
    json_t *root;

    if (bytes > XFP_MAX_FILE_BYTES) {
        xfp_refuse(&r, "", "larger than %d MiB, not a machine profile", XFP_MAX_FILE_BYTES >> 20);
        return NULL;
    }
    root = xfp_json_parse(text, bytes, why, sizeof(why));
    if (!root) {
        xfp_refuse(&r, "", "%s", why);
        return NULL;
    }
    profile = read_root(&r, root);
    json_decref(root);
    return profile;
}

struct xfp_profile *xfp_parse(const char *text, size_t bytes, char *error, size_t error_bytes)
{
    return parse_named("profile", text, bytes, error, error_bytes);
}

struct xfp_profile *xfp_read_file(const char *path, char *error, size_t error_bytes)
{
    struct xfp_profile *profile;
    const char *why;
    size_t bytes = 0;
    char *text = xfa_read_whole(path, XFP_MAX_FILE_BYTES, &bytes, &why);

    if (!text) {
        snprintf(error, error_bytes, "%s: cannot read the machine profile: %s", path, why);
        return NULL;
    }
    profile = parse_named(path, text, bytes, error, error_bytes);
    free(text);
    return profile;
}
