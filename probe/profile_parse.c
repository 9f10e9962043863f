/*
 * JSON text to a machine profile. The text may come from anywhere: every value is checked before
 * it is used, and the first thing that is wrong ends the reading with its place in the file.
 */
#include "profile_json.h"
#include "profile_sections.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *name;
    char where[128]; /* the object being read: "paths[3].points[2]" */
    char *error;
    size_t error_bytes;
    bool failed;
};

static void fail(struct reader *r, const char *key, const char *format, ...)
{
    char what[256];
    va_list args;

    if (r->failed)
        return;
    r->failed = true;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(r->error, r->error_bytes, "%s: %s%s%s: %s", r->name, r->where,
             *r->where && *key ? "." : "", key, what);
}

/* A terminal must never be driven by the contents of a file. */
static bool printable(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0))
            return false;
    return true;
}

static char *copy_text(struct reader *r, const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    char *copy;

    if (!text)
        return fail(r, key, "must be a string"), NULL;
    if (strlen(text) > XFP_MAX_TEXT)
        return fail(r, key, "longer than %d bytes", XFP_MAX_TEXT), NULL;
    if (!printable(text))
        return fail(r, key, "has control characters"), NULL;
    copy = strdup(text);
    if (!copy)
        fail(r, key, "out of memory");
    return copy;
}

/* Optional text; "" when it is not there. */
static char *read_text(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    char *copy;

    if (value && !json_is_null(value))
        return copy_text(r, key, value);
    copy = strdup("");
    if (!copy)
        fail(r, key, "out of memory");
    return copy;
}

static int64_t read_integer(struct reader *r, const json_t *object, const char *key, int64_t low,
                            int64_t high, int64_t absent)
{
    const json_t *value = json_object_get(object, key);
    int64_t n;

    if (!value || json_is_null(value))
        return absent;
    if (!json_is_integer(value))
        return fail(r, key, "must be a whole number"), absent;
    n = json_integer_value(value);
    if (n < low || n > high)
        return fail(r, key, "%lld is outside %lld to %lld", (long long)n, (long long)low,
                    (long long)high),
               absent;
    return n;
}

static bool read_bool(struct reader *r, const json_t *object, const char *key, bool absent)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value))
        return absent;
    if (!json_is_boolean(value))
        return fail(r, key, "must be true or false"), absent;
    return json_is_true(value);
}

/* A time or rate: finite, not negative, below 10^18 (31 years in ns). */
static double read_positive(struct reader *r, const json_t *object, const char *key, double absent)
{
    const json_t *value = json_object_get(object, key);
    double x;

    if (!value || json_is_null(value))
        return absent;
    if (!json_is_number(value))
        return fail(r, key, "must be a number"), absent;
    x = json_number_value(value);
    if (!isfinite(x) || x < 0 || x > 1e18)
        return fail(r, key, "%g is not a time", x), absent;
    return x;
}

/* The array under key, or NULL (absent, or failed). */
static const json_t *read_array(struct reader *r, const json_t *object, const char *key,
                                size_t most)
{
    const json_t *array = json_object_get(object, key);

    if (!array || json_is_null(array))
        return NULL;
    if (!json_is_array(array))
        return fail(r, key, "must be an array"), NULL;
    if (json_array_size(array) > most)
        return fail(r, key, "%zu entries, at most %zu are read", json_array_size(array), most),
               NULL;
    return array;
}

static void *new_items(struct reader *r, size_t count, size_t bytes)
{
    void *items = calloc(count ? count : 1, bytes);

    if (!items)
        fail(r, "", "out of memory");
    return items;
}

static const struct word {
    unsigned number;
    const char *word;
} memory_words[] =
    {
#define WORD(symbol, number, word) {number, word},
        XFT_MEMORY_LIST(WORD)},
  direction_words[] = {XFT_DIRECTION_LIST(WORD)}, method_words[] = {XFP_METHOD_LIST(WORD)},
  load_words[] = {XFP_LOAD_LIST(WORD)};
#undef WORD

static unsigned read_word(struct reader *r, const json_t *object, const char *key,
                          const struct word *words, size_t count)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (!text)
        return fail(r, key, "must be a string"), 0;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(text, words[i].word))
            return words[i].number;
    fail(r, key, "\"%.40s\" is not a word this version knows", printable(text) ? text : "?");
    return 0;
}
#define READ_WORD(r, object, key, words)                                                           \
    read_word(r, object, key, words, sizeof(words) / sizeof((words)[0]))

static void read_gpu(struct reader *r, const json_t *object, struct xfp_gpu *gpu)
{
    gpu->name = read_text(r, object, "name");
    gpu->uuid = read_text(r, object, "uuid");
    gpu->pci = read_text(r, object, "pci");
    gpu->memory_bytes = (uint64_t)read_integer(r, object, "memory_bytes", 0, INT64_MAX, 0);
    gpu->numa = (int)read_integer(r, object, "numa", -1, 4095, -1);
    gpu->copy_engines = (int)read_integer(r, object, "copy_engines", 0, 1024, 0);
}

static void read_gpus(struct reader *r, const json_t *object, struct xfp_machine *machine)
{
    const json_t *array = read_array(r, object, "gpus", XFP_MAX_GPUS);
    size_t count = json_array_size(array);

    machine->gpus = new_items(r, count, sizeof(*machine->gpus));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *gpu = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "machine.gpus[%zu]", i);
        machine->gpu_count = i + 1;
        if (!json_is_object(gpu))
            fail(r, "", "must be an object");
        else
            read_gpu(r, gpu, &machine->gpus[i]);
    }
}

static void read_machine(struct reader *r, const json_t *root, struct xfp_machine *machine)
{
    const json_t *object = json_object_get(root, "machine");

    if (!json_is_object(object)) {
        fail(r, "machine", object ? "must be an object" : "missing");
        return;
    }
    snprintf(r->where, sizeof(r->where), "machine");
    machine->hostname = read_text(r, object, "hostname");
    machine->machine_id = read_text(r, object, "machine_id");
    machine->cpu = read_text(r, object, "cpu");
    machine->cpus = (int)read_integer(r, object, "cpus", 0, 1 << 20, 0);
    machine->numa_nodes = (int)read_integer(r, object, "numa_nodes", 0, 4096, 0);
    machine->driver_version = (int)read_integer(r, object, "driver_version", 0, 10000000, 0);
    machine->simulated = read_bool(r, object, "simulated", false);
    read_gpus(r, object, machine);
    r->where[0] = '\0';
}

static void read_place(struct reader *r, const json_t *path, const char *key,
                       struct xfp_place *place)
{
    const json_t *object = json_object_get(path, key);

    if (!json_is_object(object)) {
        fail(r, key, object ? "must be an object" : "missing");
        return;
    }
    place->memory = (enum xft_memory)READ_WORD(r, object, "memory", memory_words);
    place->device = (int)read_integer(r, object, "device", -1, XFP_MAX_GPUS - 1, -1);
    place->numa = (int)read_integer(r, object, "numa", -1, 4095, -1);
}

/* Only the size and the median are needed; the spread defaults to none. */
static void read_point(struct reader *r, const json_t *object, struct xfp_point *p)
{
    p->bytes = (uint64_t)read_integer(r, object, "bytes", 1, INT64_MAX, 0);
    p->n = (uint32_t)read_integer(r, object, "n", 1, UINT32_MAX, 1);
    p->median_ns = read_positive(r, object, "median_ns", 0);
    p->min_ns = read_positive(r, object, "min_ns", p->median_ns);
    p->max_ns = read_positive(r, object, "max_ns", p->median_ns);
    p->ci_low_ns = read_positive(r, object, "ci_low_ns", p->median_ns);
    p->ci_high_ns = read_positive(r, object, "ci_high_ns", p->median_ns);
    p->host_ns = read_positive(r, object, "host_ns", 0);
    p->blocking_ns = read_positive(r, object, "blocking_ns", 0);
    if (!p->bytes)
        fail(r, "bytes", "missing");
    if (!(p->median_ns > 0))
        fail(r, "median_ns", "must be there and above 0");
    if (p->min_ns > p->median_ns || p->max_ns < p->median_ns)
        fail(r, "median_ns", "not between min_ns and max_ns");
    if (p->ci_low_ns > p->median_ns || p->ci_high_ns < p->median_ns)
        fail(r, "median_ns", "not between ci_low_ns and ci_high_ns");
}

static void read_points(struct reader *r, const json_t *object, struct xfp_path *path)
{
    const json_t *array = read_array(r, object, "points", XFP_MAX_POINTS);
    size_t count = json_array_size(array);
    char where[64];

    memcpy(where, r->where, sizeof(where));
    where[sizeof(where) - 1] = '\0';
    path->points = new_items(r, count, sizeof(*path->points));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *point = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "%s.points[%zu]", where, i);
        if (!json_is_object(point)) {
            fail(r, "", "must be an object");
            return;
        }
        read_point(r, point, &path->points[i]);
        if (i && path->points[i].bytes <= path->points[i - 1].bytes)
            fail(r, "bytes", "sizes must ascend");
        path->point_count = i + 1;
    }
    memcpy(r->where, where, sizeof(where));
}

static void read_fit(struct reader *r, const json_t *path, struct xfp_fit *fit)
{
    const json_t *object = json_object_get(path, "fit");

    fit->g_ns = NAN;
    if (!object || json_is_null(object))
        return;
    if (!json_is_object(object)) {
        fail(r, "fit", "must be an object or null");
        return;
    }
    fit->Lo_ns = read_positive(r, object, "Lo_ns", NAN);
    fit->g_ns = read_positive(r, object, "g_ns", NAN);
    fit->G_ns_per_byte = read_positive(r, object, "G_ns_per_byte", NAN);
    fit->max_error = read_positive(r, object, "max_error", NAN);
    fit->fit_min_bytes = (uint64_t)read_integer(r, object, "fit_min_bytes", 0, INT64_MAX, 0);
    fit->valid = isfinite(fit->Lo_ns) && isfinite(fit->max_error) && fit->G_ns_per_byte > 0;
    if (!fit->valid)
        fail(r, "fit", "needs Lo_ns, max_error and G_ns_per_byte above 0");
}

static void read_path(struct reader *r, const json_t *object, struct xfp_path *path)
{
    path->name = copy_text(r, "name", json_object_get(object, "name"));
    path->method = (enum xfp_method)READ_WORD(r, object, "method", method_words);
    path->direction = (enum xft_direction)READ_WORD(r, object, "direction", direction_words);
    read_place(r, object, "src", &path->src);
    read_place(r, object, "dst", &path->dst);
    path->blocking = read_bool(r, object, "blocking", false);
    path->device_timed = read_bool(r, object, "device_timed", false);
    if (json_object_get(object, "load"))
        path->load = (enum xfp_load)READ_WORD(r, object, "load", load_words);
    read_points(r, object, path);
    read_fit(r, object, &path->fit);
}

/* Only the median is needed; the spread defaults to none. */
static void read_cost(struct reader *r, const json_t *object, struct xfp_cost *c)
{
    const json_t *median = json_object_get(object, "median");

    if (!median || json_is_null(median))
        fail(r, "median", "missing");
    c->n = (uint32_t)read_integer(r, object, "n", 1, UINT32_MAX, 1);
    c->median = read_positive(r, object, "median", 0);
    c->min = read_positive(r, object, "min", c->median);
    c->max = read_positive(r, object, "max", c->median);
    c->ci_low = read_positive(r, object, "ci_low", c->median);
    c->ci_high = read_positive(r, object, "ci_high", c->median);
    if (c->min > c->median || c->max < c->median)
        fail(r, "median", "not between min and max");
    if (c->ci_low > c->median || c->ci_high < c->median)
        fail(r, "median", "not between ci_low and ci_high");
}

/* Names are unique within their list. */
static void see_name(struct reader *r, json_t *seen, const char *name)
{
    if (!r->failed && json_object_get(seen, name))
        fail(r, "name", "\"%.80s\" is there twice", name);
    if (!r->failed && json_object_set_new(seen, name, json_true()))
        fail(r, "name", "out of memory");
}

static void read_scalars(struct reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = read_array(r, root, "scalars", XFP_MAX_COSTS);
    size_t count = json_array_size(array);
    json_t *seen = json_object();

    profile->scalars = new_items(r, count, sizeof(*profile->scalars));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *object = json_array_get(array, i);
        struct xfp_scalar *scalar = &profile->scalars[i];

        snprintf(r->where, sizeof(r->where), "scalars[%zu]", i);
        profile->scalar_count = i + 1;
        if (!json_is_object(object)) {
            fail(r, "", "must be an object");
            break;
        }
        scalar->name = copy_text(r, "name", json_object_get(object, "name"));
        scalar->unit = copy_text(r, "unit", json_object_get(object, "unit"));
        read_cost(r, object, &scalar->cost);
        see_name(r, seen, scalar->name);
    }
    json_decref(seen);
    r->where[0] = '\0';
}

static void read_rows(struct reader *r, const json_t *object, struct xfp_table *table, size_t index)
{
    const json_t *array = read_array(r, object, "rows", XFP_MAX_POINTS);
    size_t count = json_array_size(array);

    table->rows = new_items(r, count, sizeof(*table->rows));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *row = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "tables[%zu].rows[%zu]", index, i);
        if (!json_is_object(row)) {
            fail(r, "", "must be an object");
            return;
        }
        table->rows[i].at = (uint64_t)read_integer(r, row, "at", 1, INT64_MAX, 0);
        read_cost(r, row, &table->rows[i].cost);
        if (!table->rows[i].at)
            fail(r, "at", "missing");
        if (i && table->rows[i].at <= table->rows[i - 1].at)
            fail(r, "at", "rows must ascend");
        table->row_count = i + 1;
    }
}

static void read_tables(struct reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = read_array(r, root, "tables", XFP_MAX_COSTS);
    size_t count = json_array_size(array);
    json_t *seen = json_object();

    profile->tables = new_items(r, count, sizeof(*profile->tables));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *object = json_array_get(array, i);
        struct xfp_table *table = &profile->tables[i];

        snprintf(r->where, sizeof(r->where), "tables[%zu]", i);
        profile->table_count = i + 1;
        if (!json_is_object(object)) {
            fail(r, "", "must be an object");
            break;
        }
        table->name = copy_text(r, "name", json_object_get(object, "name"));
        table->by = copy_text(r, "by", json_object_get(object, "by"));
        table->unit = copy_text(r, "unit", json_object_get(object, "unit"));
        table->bytes = (uint64_t)read_integer(r, object, "bytes", 0, INT64_MAX, 0);
        see_name(r, seen, table->name);
        read_rows(r, object, table, i);
    }
    json_decref(seen);
    r->where[0] = '\0';
}

static void read_paths(struct reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = read_array(r, root, "paths", XFP_MAX_PATHS);
    size_t count = json_array_size(array);
    json_t *seen = json_object();

    if (!array)
        fail(r, "paths", "missing");
    profile->paths = new_items(r, count, sizeof(*profile->paths));
    for (size_t i = 0; i < count && !r->failed; i++) {
        const json_t *path = json_array_get(array, i);

        snprintf(r->where, sizeof(r->where), "paths[%zu]", i);
        profile->path_count = i + 1;
        if (!json_is_object(path)) {
            fail(r, "", "must be an object");
            break;
        }
        read_path(r, path, &profile->paths[i]);
        see_name(r, seen, profile->paths[i].name);
    }
    json_decref(seen);
    r->where[0] = '\0';
}

static void read_warnings(struct reader *r, const json_t *root, struct xfp_profile *profile)
{
    const json_t *array = read_array(r, root, "warnings", XFP_MAX_WARNINGS);
    size_t count = json_array_size(array);

    profile->warnings = new_items(r, count, sizeof(*profile->warnings));
    for (size_t i = 0; i < count && !r->failed; i++) {
        snprintf(r->where, sizeof(r->where), "warnings[%zu]", i);
        profile->warnings[i] = copy_text(r, "", json_array_get(array, i));
        profile->warning_count = i + 1;
    }
}

/* Is this a machine profile, and of a version this reader understands? */
static void read_identity(struct reader *r, const json_t *root)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *version = json_object_get(root, "version");

    if (!schema || strcmp(schema, XFP_SCHEMA)) {
        fail(r, "schema", "not a machine profile (\"%s\" expected)", XFP_SCHEMA);
        return;
    }
    if (!json_is_integer(version) || json_integer_value(version) < 1)
        fail(r, "version", "must be a whole number from 1 on");
    else if (json_integer_value(version) > XFP_VERSION)
        fail(r, "version", "%lld is newer than this program reads (%d)",
             (long long)json_integer_value(version), XFP_VERSION);
}

static struct xfp_profile *read_root(struct reader *r, const json_t *root)
{
    struct xfp_profile *profile = new_items(r, 1, sizeof(*profile));

    if (!profile)
        return NULL;
    if (!json_is_object(root))
        fail(r, "", "not a machine profile (a JSON object expected)");
    else
        read_identity(r, root);
    if (!r->failed) {
        profile->created = read_text(r, root, "created");
        profile->producer = read_text(r, root, "producer");
        read_machine(r, root, &profile->machine);
    }
    if (!r->failed)
        read_paths(r, root, profile);
    if (!r->failed)
        r->failed = xfp_read_sections(root, r->name, profile, r->error, r->error_bytes);
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

struct xfp_profile *xfp_parse_named(const char *name, const char *text, size_t bytes, char *error,
                                    size_t error_bytes)
{
    struct reader r = {.name = name, .error = error, .error_bytes = error_bytes};
    struct xfp_profile *profile;
    json_error_t why;
    json_t *root;

    if (bytes > XFP_MAX_FILE_BYTES) {
        fail(&r, "", "larger than %d MiB, not a machine profile", XFP_MAX_FILE_BYTES >> 20);
        return NULL;
    }
    root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        fail(&r, "", "no valid JSON (line %d: %s)", why.line,
             printable(why.text) ? why.text : "unreadable characters");
        return NULL;
    }
    profile = read_root(&r, root);
    json_decref(root);
    return profile;
}

struct xfp_profile *xfp_parse(const char *text, size_t bytes, char *error, size_t error_bytes)
{
    return xfp_parse_named("profile", text, bytes, error, error_bytes);
}
