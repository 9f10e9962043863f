/* The plan as a file. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json.h"
#include "analyzer/base/json_read.h"
#include "analyzer/plan/plan.h"

#define SCHEMA "xferscope-plan"
#define VERSION 1
#define MOST_BYTES ((size_t)64 << 20)
#define SITES_MOST 65536 /* of a step */

/* ---- writing --------------------------------------------------------------------------------- */

static void set_place(json_t *json, const struct xfa_apply_place *place)
{
    char offset[32];
    snprintf(offset, sizeof offset, "0x%" PRIx64, place->offset);
    json_object_set_new(json, "function", xfa_json_text(place->function));
    json_object_set_new(json, "file", xfa_json_text(place->file));
    json_object_set_new(json, "line", place->line ? json_integer(place->line) : json_null());
    json_object_set_new(json, "python", json_boolean(place->python));
    json_object_set_new(json, "module", xfa_json_text(place->module));
    json_object_set_new(json, "build_id", xfa_json_text(place->build_id));
    json_object_set_new(json, "offset", place->build_id ? json_string(offset) : json_null());
    if (place->python)
        json_object_set_new(json, "file_hash", xfa_json_text(place->file_hash));
}

static bool has_place(const struct xfa_apply_place *place)
{
    return place->build_id || (place->python && place->file);
}

static json_t *site_json(const struct xfa_apply_site *site, enum xft_plan_class by)
{
    json_t *json = json_object(), *caller = json_null();
    if (has_place(&site->caller)) {
        caller = json_object();
        set_place(caller, &site->caller);
    }
    json_object_set_new(json, "site", xfa_json_text(site->text));
    set_place(json, &site->place);
    json_object_set_new(json, "caller", caller);
    json_object_set_new(json, "call", xfa_json_text(site->call));
    json_object_set_new(json, "direction", xfa_json_text(site->direction));
    json_object_set_new(json, "transfers", xfa_json_count(site->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(site->bytes));
    if (by == XFT_PLAN_LEAVE_OUT)
        json_object_set_new(json, "kernels_keep", json_boolean(site->kernels_keep));
    return json;
}

static json_t *saving_json(const struct xfw_saving *saving)
{
    return json_pack("{s:o,s:o,s:o}", "low", xfa_json_seconds(saving->low), "likely",
                     xfa_json_seconds(saving->likely), "high", xfa_json_seconds(saving->high));
}

static json_t *numbers_json(const struct xfa_remedy *remedy)
{
    struct xfa_remedy_number numbers[XFA_REMEDY_NUMBERS];
    json_t *json = json_object();
    size_t count = xfa_remedy_numbers(remedy, numbers);
    for (size_t i = 0; i < count; i++)
        json_object_set_new(json, numbers[i].word, json_integer(numbers[i].value));
    return json;
}

static json_t *readers_json(const struct xfa_apply_step *step)
{
    json_t *list = json_array();
    for (size_t i = 0; i < step->reader_count; i++) {
        json_t *arguments = json_array();
        for (int k = 0; k < XFT_PLAN_ARGUMENTS_MOST; k++)
            if (step->readers[i].arguments >> k & 1)
                json_array_append_new(arguments, json_integer(k + 1));
        json_array_append_new(list, json_pack("{s:o,s:o}", "kernel",
                                              xfa_json_text(step->readers[i].kernel), "arguments",
                                              arguments));
    }
    return list;
}

static json_t *applied_json(const struct xfw_saving *saving)
{
    return isnan(saving->likely) ? json_null() : saving_json(saving);
}

static json_t *step_json(const struct xfa_apply_step *step)
{
    json_t *json = json_object(), *saving = saving_json(&step->saving), *sites = json_array();
    for (size_t i = 0; i < step->site_count; i++)
        json_array_append_new(sites, site_json(&step->sites[i], step->by));
    json_object_set_new(saving, "added", xfa_json_seconds(step->added_ns));
    json_object_set_new(json, "finding", xfa_json_text(step->finding));
    json_object_set_new(json, "remedy", xfa_json_text(step->remedy));
    json_object_set_new(json, "fix", xfa_json_text(step->fix));
    json_object_set_new(json, "by", xfa_json_text(xft_plan_class_word(step->by)));
    json_object_set_new(json, "carry_out", json_boolean(step->carry_out));
    json_object_set_new(json, "why_not", xfa_json_text(step->why_not));
    if (step->by == XFT_PLAN_STREAMS) {
        json_object_set_new(json, "kernels_apart", json_boolean(step->kernels_apart));
        json_object_set_new(json, "kernels_read", readers_json(step));
    }
    json_object_set_new(json, "parameters", numbers_json(&step->numbers));
    json_object_set_new(json, "in_set", step->order ? json_integer(step->order) : json_null());
    json_object_set_new(json, "saving_s", saving);
    json_object_set_new(json, "apply_saving_s", applied_json(&step->applied));
    json_object_set_new(json, "assumes", xfa_json_text(step->assumes));
    json_object_set_new(json, "question",
                        step->question ? json_pack("{s:o,s:o}", "if", xfa_json_text(step->question),
                                                   "key", xfa_json_text(step->key))
                                       : json_null());
    json_object_set_new(json, "sites", sites);
    return json;
}

int xfa_apply_plan_write(const struct xfa_apply_plan *plan, FILE *out)
{
    json_t *json = json_object(), *run = json_object(), *steps = json_array();
    for (size_t i = 0; i < plan->step_count; i++)
        json_array_append_new(steps, step_json(&plan->steps[i]));
    json_object_set_new(run, "trace", xfa_json_text(plan->trace));
    json_object_set_new(run, "simulated", json_boolean(plan->simulated));
    json_object_set_new(run, "time_s", xfa_json_seconds(plan->time_ns));
    json_object_set_new(run, "saving_s", saving_json(&plan->saving));
    json_object_set_new(run, "apply_saving_s", applied_json(&plan->applied));
    json_object_set_new(json, "schema", json_string(SCHEMA));
    json_object_set_new(json, "version", json_integer(VERSION));
    json_object_set_new(json, "program", xfa_json_text(plan->program));
    json_object_set_new(json, "run", run);
    json_object_set_new(json, "steps", steps);
    int failed = xfa_json_write(json, out, JSON_INDENT(2));
    json_decref(json);
    return failed || fputc('\n', out) == EOF ? -1 : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_hexadecimal(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length % 2 == 0 && length <= (size_t)2 * XFT_PLAN_BUILD_ID_MOST &&
           strspn(text, "0123456789abcdef") == length;
}

static uint64_t offset_of(struct xfa_json_reader *r, const json_t *object)
{
    char *text = xfa_json_needed_text_of(r, object, "offset"), *end = NULL;
    bool prefixed = text && strncmp(text, "0x", 2) == 0 && text[2] && strlen(text) <= 18;
    uint64_t offset = prefixed ? strtoull(text + 2, &end, 16) : 0;
    if (text && (!prefixed || *end || strspn(text + 2, "0123456789abcdef") != strlen(text + 2)))
        xfa_json_fail(r, "offset", "a number as in \"0x11f6\"");
    free(text);
    return offset;
}

static struct xfa_apply_place read_place(struct xfa_json_reader *r, const json_t *object)
{
    struct xfa_apply_place place = {
        .function = xfa_json_text_of(r, object, "function"),
        .file = xfa_json_text_of(r, object, "file"),
        .module = xfa_json_text_of(r, object, "module"),
        .build_id = xfa_json_text_of(r, object, "build_id"),
        .file_hash = xfa_json_text_of(r, object, "file_hash"),
        .python = xfa_json_truth_of(r, object, "python"),
    };
    const json_t *line = json_object_get(object, "line");
    uint64_t number = line && !json_is_null(line) ? xfa_json_count_of(r, object, "line") : 0;
    place.line = number <= UINT32_MAX ? (uint32_t)number : 0;
    if (number > UINT32_MAX)
        xfa_json_fail(r, "line", "a number of a line, or null");
    if (place.build_id && !is_hexadecimal(place.build_id))
        xfa_json_fail(r, "build_id", "hexadecimal digits, or null");
    if (place.build_id)
        place.offset = offset_of(r, object);
    if (place.file_hash && (!place.python || !place.file || !place.line))
        xfa_json_fail(r, "file_hash", "null but of a line of a Python file");
    return place;
}

static void read_site(struct xfa_json_reader *r, const json_t *item, enum xft_plan_class by,
                      struct xfa_apply_site *site)
{
    const json_t *caller = json_object_get(item, "caller");
    if (!json_is_object(item))
        xfa_json_fail(r, "sites", "a list of objects");
    site->text = xfa_json_needed_text_of(r, item, "site");
    site->place = read_place(r, item);
    if (caller && !json_is_null(caller) && !json_is_object(caller))
        xfa_json_fail(r, "caller", "an object, or null");
    if (json_is_object(caller))
        site->caller = read_place(r, caller);
    site->call = xfa_json_text_of(r, item, "call");
    site->direction = xfa_json_text_of(r, item, "direction");
    site->kernels_keep = xfa_json_truth_of(r, item, "kernels_keep");
    if (site->kernels_keep && by != XFT_PLAN_LEAVE_OUT)
        xfa_json_fail(r, "kernels_keep", "false where the step's \"by\" is not \"leave-out\"");
    site->transfers =
        json_object_get(item, "transfers") ? xfa_json_count_of(r, item, "transfers") : 0;
    site->bytes = json_object_get(item, "bytes") ? xfa_json_count_of(r, item, "bytes") : 0;
}

static enum xft_plan_class class_of(struct xfa_json_reader *r, const json_t *item)
{
    char *word = xfa_json_text_of(r, item, "by");
    unsigned by = XFT_PLAN_NOTHING;
    for (unsigned i = 1; word && i < XFT_PLAN_CLASSES; i++)
        if (strcmp(word, xft_plan_class_word(i)) == 0)
            by = i;
    if (word && by == XFT_PLAN_NOTHING)
        xfa_json_fail(r, "by",
                      "null or what carries it out"
#define WORD(symbol, number, name) ", " name
                      XFT_PLAN_CLASS_LIST(WORD));
#undef WORD
    free(word);
    return (enum xft_plan_class)by;
}

static double seconds_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) * 1e9 : NAN;
}

static struct xfw_saving saving_of(const json_t *object, const char *key)
{
    const json_t *saving = json_object_get(object, key);
    return (struct xfw_saving){seconds_of(saving, "low"), seconds_of(saving, "likely"),
                               seconds_of(saving, "high")};
}

static void read_sites(struct xfa_json_reader *r, const json_t *item, struct xfa_apply_step *step)
{
    const json_t *list = json_object_get(item, "sites");
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > SITES_MOST)
        xfa_json_fail(r, "sites", "a list of at most 65536 call sites");
    step->sites = xfa_alloc((count + 1) * sizeof *step->sites);
    r->parts = "sites";
    for (r->part = 1; r->part <= count && !*r->error; r->part++)
        read_site(r, json_array_get(list, r->part - 1), step->by, &step->sites[step->site_count++]);
    r->part = 0;
}

/* Of a step that places memory. */
static int node_of(struct xfa_json_reader *r, const json_t *item)
{
    const json_t *node = json_object_get(json_object_get(item, "parameters"), "node");
    json_int_t number = json_is_integer(node) ? json_integer_value(node) : -1;
    if (number < 0 || number >= XFT_PLAN_NODES_MOST)
        xfa_json_fail(r, "parameters",
                      "an object with the \"node\", where \"by\" is \"placement\"");
    return (int)number;
}

/* By numbers from 1 on; 0: they are none. */
static uint64_t argument_bits(const json_t *list)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t number = json_integer_value(json_array_get(list, i));
        if (number < 1 || number > XFT_PLAN_ARGUMENTS_MOST)
            return 0;
        bits |= UINT64_C(1) << (number - 1);
    }
    return bits;
}

static void read_readers(struct xfa_json_reader *r, const json_t *item, struct xfa_apply_step *step)
{
    const json_t *list = json_object_get(item, "kernels_read");
    size_t count = json_array_size(list);
    if (list && (!json_is_array(list) || count > XFT_PLAN_READERS_MOST ||
                 (count && step->by != XFT_PLAN_STREAMS)))
        xfa_json_fail(r, "kernels_read",
                      "a list of at most 64 kernels, empty where \"by\" is not \"streams\"");
    step->readers = xfa_alloc((count + 1) * sizeof *step->readers);
    r->parts = "kernels_read";
    for (r->part = 1; r->part <= count && !*r->error; r->part++) {
        const json_t *one = json_array_get(list, r->part - 1);
        struct xfa_apply_reader *reader = &step->readers[step->reader_count++];
        reader->kernel = xfa_json_needed_text_of(r, one, "kernel");
        reader->arguments = argument_bits(json_object_get(one, "arguments"));
        if (reader->arguments == 0)
            xfa_json_fail(r, "arguments", "a list of numbers of arguments, from 1 to 64");
    }
    r->part = 0;
}

/* The words that the library goes by are checked; what is for people is taken as it is. */
static void read_step(struct xfa_json_reader *r, const json_t *item, struct xfa_apply_step *step)
{
    const json_t *order = json_object_get(item, "in_set"), *asked;
    step->finding = xfa_json_needed_text_of(r, item, "finding");
    step->remedy = xfa_json_needed_text_of(r, item, "remedy");
    step->fix = xfa_json_text_of(r, item, "fix");
    step->by = class_of(r, item);
    step->carry_out = xfa_json_truth_of(r, item, "carry_out");
    step->kernels_apart = xfa_json_truth_of(r, item, "kernels_apart");
    if (step->kernels_apart && step->by != XFT_PLAN_STREAMS)
        xfa_json_fail(r, "kernels_apart", "false where \"by\" is not \"streams\"");
    step->why_not = xfa_json_text_of(r, item, "why_not");
    step->order = json_is_integer(order) ? (unsigned)json_integer_value(order) : 0;
    step->saving = saving_of(item, "saving_s");
    step->applied = saving_of(item, "apply_saving_s");
    step->added_ns = seconds_of(json_object_get(item, "saving_s"), "added");
    step->assumes = xfa_json_text_of(r, item, "assumes");
    asked = json_object_get(item, "question");
    step->question = json_is_object(asked) ? xfa_json_text_of(r, asked, "if") : NULL;
    step->key = json_is_object(asked) ? xfa_json_text_of(r, asked, "key") : NULL;
    step->numbers.node = step->by == XFT_PLAN_PLACEMENT ? node_of(r, item) : -1;
    if (step->carry_out && step->by == XFT_PLAN_NOTHING)
        xfa_json_fail(r, "carry_out", "false: nothing carries this out (\"by\" is null)");
    read_sites(r, item, step);
    read_readers(r, item, step);
}

static void read_plan(struct xfa_json_reader *r, const json_t *root, struct xfa_apply_plan *plan)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *run = json_object_get(root, "run"), *list;
    if (!schema || strcmp(schema, SCHEMA) != 0) {
        snprintf(r->error, r->error_bytes, "not a plan (\"schema\": \"" SCHEMA "\")");
        return;
    }
    if (json_integer_value(json_object_get(root, "version")) != VERSION)
        xfa_json_fail(r, "version", "1: another version of xferscope made this plan");
    plan->program = xfa_json_text_of(r, root, "program");
    plan->trace = json_is_object(run) ? xfa_json_text_of(r, run, "trace") : NULL;
    plan->simulated = json_is_true(json_object_get(run, "simulated"));
    plan->time_ns = seconds_of(run, "time_s");
    plan->saving = saving_of(run, "saving_s");
    plan->applied = saving_of(run, "apply_saving_s");
    size_t count = xfa_json_list_of(r, root, "steps", &list);
    if (!list || count > XFT_PLAN_STEPS_MOST) {
        r->list = NULL;
        xfa_json_fail(r, "steps", "a list of at most 256 steps");
    }
    plan->steps = xfa_alloc((count + 1) * sizeof *plan->steps);
    for (r->item = 1; r->item <= count && !*r->error; r->item++)
        read_step(r, json_array_get(list, r->item - 1), &plan->steps[plan->step_count++]);
    r->list = NULL;
}

struct xfa_apply_plan *xfa_apply_plan_read(const char *path, char *error, size_t error_bytes)
{
    struct xfa_json_reader r = {.error = error, .error_bytes = error_bytes};
    json_t *root = xfa_json_read(&r, path, MOST_BYTES);
    if (!root)
        return NULL;
    struct xfa_apply_plan *plan = xfa_alloc(sizeof *plan);
    read_plan(&r, root, plan);
    json_decref(root);
    if (!*error)
        return plan;
    xfa_apply_plan_free(plan);
    return NULL;
}
