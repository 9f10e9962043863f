/* The gate as a file, and as it is made from a run. */
#include "analyzer/gate/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json.h"
#include "analyzer/base/json_read.h"
#include "analyzer/base/path.h"

#define SCHEMA "xferscope-gate"
#define VERSION 1
#define MOST_BYTES ((size_t)64 << 20) /* of a file; a site takes about 300 */

#define WORD(symbol, word, title) word,
#define TITLE(symbol, word, title) title,
static const char *const words[] = {XFA_GATE_RULES(WORD)};
static const char *const titles[] = {XFA_GATE_RULES(TITLE)};

const char *xfa_gate_word(enum xfa_gate_rule rule)
{
    return words[rule];
}

const char *xfa_gate_title(enum xfa_gate_rule rule)
{
    return titles[rule];
}

/* ---- reading --------------------------------------------------------------------------------- */

static int16_t gpu_of(struct xfa_json_reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return -1;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT16_MAX)
        xfa_json_fail(r, key, "a number of a GPU, or null");
    return (int16_t)json_integer_value(value);
}

/* The number of a term; `count` of them have words. */
static uint8_t term_of(struct xfa_json_reader *r, const json_t *object, const char *key,
                       const char *(*word_of)(unsigned), unsigned count)
{
    const char *word = json_string_value(json_object_get(object, key));
    for (unsigned i = 0; word && i < count; i++)
        if (strcmp(word_of(i), word) == 0)
            return (uint8_t)i;
    xfa_json_fail(r, key, "a word as in a report (H2D; pageable, pinned, device)");
    return 0;
}

static void read_site(struct xfa_json_reader *r, const json_t *item, struct xfa_snapshot_row *site)
{
    const json_t *asked = json_object_get(item, "async");
    struct xfa_row_key *key = &site->key;
    site->place.text = xfa_json_needed_text_of(r, item, "site");
    site->place.function = xfa_json_text_of(r, item, "function");
    site->place.file = xfa_json_text_of(r, item, "file");
    site->place.line = json_object_get(item, "line") ? xfa_json_count_of(r, item, "line") : 0;
    site->called = xfa_json_needed_text_of(r, item, "call");
    key->direction = term_of(r, item, "direction", xft_direction_word, XFT_DIRECTION_COUNT);
    key->src_mem = term_of(r, item, "src_memory", xft_memory_word, XFT_MEMORY_COUNT);
    key->dst_mem = term_of(r, item, "dst_memory", xft_memory_word, XFT_MEMORY_COUNT);
    key->src_gpu = gpu_of(r, item, "src_device");
    key->dst_gpu = gpu_of(r, item, "dst_device");
    key->async = json_is_true(asked);
    if (!json_is_boolean(asked))
        xfa_json_fail(r, "async", "true or false");
    site->transfers = xfa_json_count_of(r, item, "transfers");
    site->bytes = xfa_json_count_of(r, item, "bytes");
    site->time = (struct xfa_sample){NAN, NAN, NAN};
    site->gbps = site->lost_ns = NAN;
}

/* -1: the word, which may be NULL, is none. */
static int rule_of(const char *word)
{
    for (int rule = 0; word && rule < XFA_GATE_RULE_COUNT; rule++)
        if (strcmp(words[rule], word) == 0)
            return rule;
    return -1;
}

static void read_exception(struct xfa_json_reader *r, const json_t *item,
                           struct xfa_gate_exception *one)
{
    const json_t *list = json_object_get(item, "rules"), *word;
    size_t i;
    one->site = xfa_json_needed_text_of(r, item, "site");
    one->why = xfa_json_text_of(r, item, "why");
    if (!json_is_array(list))
        xfa_json_fail(r, "rules", "a list of words");
    json_array_foreach(list, i, word)
    {
        int found = rule_of(json_string_value(word));
        if (found < 0)
            xfa_json_fail(r, "rules", "a list of new-site, blocking, pageable, calls, bytes");
        else
            one->rules[found] = true;
    }
}

static void read_rules(struct xfa_json_reader *r, const json_t *object, struct xfa_gate *gate)
{
    const char *key;
    json_t *value; /* as the macro wants it */
    for (int i = 0; i < XFA_GATE_RULE_COUNT; i++)
        gate->rules[i] = true;
    if (object && !json_is_object(object))
        xfa_json_fail(r, "rules", "an object");
    json_object_foreach((json_t *)object, key, value)
    {
        int found = rule_of(key);
        if (found < 0 || !json_is_boolean(value))
            xfa_json_fail(r, key,
                          "a rule (new-site, blocking, pageable, calls, bytes) with true or false");
        else
            gate->rules[found] = json_is_true(value);
    }
}

static void read_lists(struct xfa_json_reader *r, const json_t *root, struct xfa_gate *gate)
{
    const json_t *list;
    size_t count = xfa_json_list_of(r, root, "sites", &list);
    gate->sites = xfa_alloc((count + 1) * sizeof *gate->sites);
    for (r->item = 1; r->item <= count && !*r->error; r->item++)
        read_site(r, json_array_get(list, r->item - 1), &gate->sites[gate->site_count++]);
    count = xfa_json_list_of(r, root, "exceptions", &list);
    gate->exceptions = xfa_alloc((count + 1) * sizeof *gate->exceptions);
    for (r->item = 1; r->item <= count && !*r->error; r->item++)
        read_exception(r, json_array_get(list, r->item - 1),
                       &gate->exceptions[gate->exception_count++]);
    r->list = NULL;
}

static void read_gate(struct xfa_json_reader *r, const json_t *root, struct xfa_gate *gate)
{
    const char *schema = json_string_value(json_object_get(root, "schema"));
    const json_t *more = json_object_get(root, "more_percent");
    if (!schema || strcmp(schema, SCHEMA) != 0) {
        snprintf(r->error, r->error_bytes, "not a gate (\"schema\": \"" SCHEMA "\")");
        return;
    }
    if (json_integer_value(json_object_get(root, "version")) != VERSION)
        xfa_json_fail(r, "version", "1: another version of xferscope made this gate");
    gate->program = xfa_json_text_of(r, root, "program");
    gate->phase = xfa_json_text_of(r, root, "phase");
    gate->more = more ? json_number_value(more) / 100 : 0;
    if (more && (!json_is_number(more) || !(gate->more >= 0)))
        xfa_json_fail(r, "more_percent", "a number, 0 or more");
    read_rules(r, json_object_get(root, "rules"), gate);
    read_lists(r, root, gate);
}

struct xfa_gate *xfa_gate_read(const char *path, char *error, size_t error_bytes)
{
    struct xfa_json_reader r = {.error = error, .error_bytes = error_bytes};
    json_t *root = xfa_json_read(&r, path, MOST_BYTES);
    if (!root)
        return NULL;
    struct xfa_gate *gate = xfa_alloc(sizeof *gate);
    read_gate(&r, root, gate);
    json_decref(root);
    if (!*error)
        return gate;
    xfa_gate_free(gate);
    return NULL;
}

/* ---- of a run -------------------------------------------------------------------------------- */

struct xfa_gate *xfa_gate_of(const struct xfa_analysis *analysis, const struct xfa_figures *figures,
                             const char *phase)
{
    struct xfa_gate *gate = xfa_alloc(sizeof *gate);
    uint32_t *order = xfa_rows_sorted(analysis, xfa_by_bytes);
    const char *program = analysis->run->program;
    gate->program = program ? xfa_text(xfa_base_name(program)) : NULL;
    gate->phase = phase ? xfa_text(phase) : NULL;
    for (int i = 0; i < XFA_GATE_RULE_COUNT; i++)
        gate->rules[i] = true;
    gate->sites = xfa_alloc((analysis->row_count + 1) * sizeof *gate->sites);
    for (size_t i = 0; i < analysis->row_count; i++)
        if (figures[order[i]].transfers > 0)
            gate->sites[gate->site_count++] =
                xfa_snapshot_row_of(xfa_analysis_row(analysis, order[i]), &figures[order[i]]);
    free(order);
    return gate;
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *site_json(const struct xfa_snapshot_row *site)
{
    const struct xfa_row_key *key = &site->key;
    json_t *json = json_object();
    json_object_set_new(json, "site", xfa_json_text(site->place.text));
    json_object_set_new(json, "function", xfa_json_text(site->place.function));
    json_object_set_new(json, "file", xfa_json_text(site->place.file));
    json_object_set_new(json, "line", xfa_json_count(site->place.line));
    json_object_set_new(json, "call", xfa_json_text(site->called));
    json_object_set_new(json, "direction", xfa_json_text(xft_direction_word(key->direction)));
    json_object_set_new(json, "src_memory", xfa_json_text(xft_memory_word(key->src_mem)));
    json_object_set_new(json, "dst_memory", xfa_json_text(xft_memory_word(key->dst_mem)));
    json_object_set_new(json, "src_device", xfa_json_gpu(key->src_gpu));
    json_object_set_new(json, "dst_device", xfa_json_gpu(key->dst_gpu));
    json_object_set_new(json, "async", json_boolean(key->async));
    json_object_set_new(json, "transfers", xfa_json_count(site->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(site->bytes));
    return json;
}

static json_t *exception_json(const struct xfa_gate_exception *one)
{
    json_t *json = json_object(), *rules = json_array();
    for (int i = 0; i < XFA_GATE_RULE_COUNT; i++)
        if (one->rules[i])
            json_array_append_new(rules, json_string(words[i]));
    json_object_set_new(json, "site", xfa_json_text(one->site));
    json_object_set_new(json, "rules", rules);
    json_object_set_new(json, "why", xfa_json_text(one->why));
    return json;
}

int xfa_gate_write(const struct xfa_gate *gate, FILE *out)
{
    json_t *json = json_object(), *rules = json_object(), *sites = json_array(),
           *exceptions = json_array();
    for (int i = 0; i < XFA_GATE_RULE_COUNT; i++)
        json_object_set_new(rules, words[i], json_boolean(gate->rules[i]));
    for (size_t i = 0; i < gate->site_count; i++)
        json_array_append_new(sites, site_json(&gate->sites[i]));
    for (size_t i = 0; i < gate->exception_count; i++)
        json_array_append_new(exceptions, exception_json(&gate->exceptions[i]));
    json_object_set_new(json, "schema", json_string(SCHEMA));
    json_object_set_new(json, "version", json_integer(VERSION));
    json_object_set_new(json, "program", xfa_json_text(gate->program));
    json_object_set_new(json, "phase", xfa_json_text(gate->phase));
    json_object_set_new(json, "rules", rules);
    json_object_set_new(json, "more_percent", json_real(100 * gate->more));
    json_object_set_new(json, "exceptions", exceptions);
    json_object_set_new(json, "sites", sites);
    int failed = xfa_json_write(json, out, JSON_INDENT(2));
    json_decref(json);
    return failed || fputc('\n', out) == EOF ? -1 : 0;
}

void xfa_gate_free(struct xfa_gate *gate)
{
    if (!gate)
        return;
    for (size_t i = 0; i < gate->site_count; i++)
        xfa_snapshot_row_free(&gate->sites[i]);
    for (size_t i = 0; i < gate->exception_count; i++) {
        free(gate->exceptions[i].site);
        free(gate->exceptions[i].why);
    }
    free(gate->sites);
    free(gate->exceptions);
    free(gate->program);
    free(gate->phase);
    free(gate);
}
