/* A verdict as JSON, our own and SARIF's. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/json.h"
#include "analyzer/gate/gate_formats.h"

static void write(json_t *json, FILE *out)
{
    xfa_json_write(json, out, JSON_INDENT(2)); /* an error is reported when the file is closed */
    fputc('\n', out);
    json_decref(json);
}

static json_t *owned_text(char *text)
{
    json_t *json = xfa_json_text(text);
    free(text);
    return json;
}

/* ---- our own --------------------------------------------------------------------------------- */

static json_t *row_json(const struct xfa_gated *row)
{
    json_t *json = json_object(), *broken = json_array();
    for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++) {
        if (row->broken[rule]) {
            json_t *one = json_object();
            json_object_set_new(one, "rule", json_string(xfa_gate_word(rule)));
            json_object_set_new(one, "message", xfa_json_text(row->broken[rule]));
            json_array_append_new(broken, one);
        }
    }
    json_object_set_new(json, "site", xfa_json_text(xfa_gated_site(row)));
    json_object_set_new(json, "file", owned_text(xfa_gated_file(row)));
    json_object_set_new(json, "line", xfa_json_count(xfa_gated_line(row)));
    json_object_set_new(json, "path", xfa_json_text(row->path));
    json_object_set_new(json, "transfers", xfa_json_count(row->figures->transfers));
    json_object_set_new(json, "bytes", xfa_json_count(row->figures->bytes));
    json_object_set_new(json, "broken", broken);
    json_object_set_new(json, "allowed_by", xfa_json_text(row->allowed_by));
    return json;
}

void xfa_gate_write_json(const struct xfa_gate_verdict *verdict, const char *path, FILE *out)
{
    json_t *json = json_object(), *rows = json_array();
    for (size_t i = 0; i < verdict->row_count; i++)
        json_array_append_new(rows, row_json(&verdict->rows[i]));
    json_object_set_new(json, "schema", json_string("xferscope-verdict"));
    json_object_set_new(json, "version", json_integer(1));
    json_object_set_new(json, "gate", xfa_json_text(path));
    json_object_set_new(json, "phase", xfa_json_text(verdict->gate->phase));
    json_object_set_new(json, "passed", json_boolean(verdict->broken == 0));
    json_object_set_new(json, "rows", rows);
    write(json, out);
}

/* ---- SARIF ----------------------------------------------------------------------------------- */

static json_t *message_json(json_t *text)
{
    json_t *json = json_object();
    json_object_set_new(json, "text", text);
    return json;
}

static json_t *rules_json(void)
{
    json_t *rules = json_array();
    for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++) {
        json_t *one = json_object();
        json_object_set_new(one, "id", json_string(xfa_gate_word(rule)));
        json_object_set_new(one, "shortDescription",
                            message_json(json_string(xfa_gate_title(rule))));
        json_array_append_new(rules, one);
    }
    return rules;
}

/* A path as a relative reference or a file's URI (RFC 3986). */
static json_t *uri_json(const char *path)
{
    static const char hex[] = "0123456789ABCDEF";
    json_t *json;
    size_t length = 0;
    char *uri = malloc(sizeof "file://" + 3 * strlen(path));
    if (!uri)
        return json_null();
    if (*path == '/')
        length = (size_t)sprintf(uri, "file://");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        if (isalnum(*p) || strchr("/-._~", *p)) {
            uri[length++] = (char)*p;
        } else {
            uri[length++] = '%';
            uri[length++] = hex[*p >> 4];
            uri[length++] = hex[*p & 15];
        }
    }
    json = json_stringn(uri, length);
    free(uri);
    return json;
}

/* NULL: the place is not known. */
static json_t *location_json(const struct xfa_gated *row)
{
    char *file = xfa_gated_file(row);
    if (!file)
        return NULL;
    json_t *json = json_object(), *place = json_object(), *artifact = json_object();
    json_object_set_new(artifact, "uri", uri_json(file));
    if (*file != '/')
        json_object_set_new(artifact, "uriBaseId", json_string("%SRCROOT%"));
    json_object_set_new(place, "artifactLocation", artifact);
    if (xfa_gated_line(row)) {
        json_t *region = json_object();
        json_object_set_new(region, "startLine", xfa_json_count(xfa_gated_line(row)));
        json_object_set_new(place, "region", region);
    }
    json_object_set_new(json, "physicalLocation", place);
    free(file);
    return json;
}

static json_t *result_json(const struct xfa_gated *row, enum xfa_gate_rule rule)
{
    json_t *json = json_object(), *locations = json_array(), *location = location_json(row);
    char *what = xfa_gated_text(row);
    if (location)
        json_array_append_new(locations, location);
    json_object_set_new(json, "ruleId", json_string(xfa_gate_word(rule)));
    json_object_set_new(json, "ruleIndex", json_integer(rule));
    json_object_set_new(json, "level", json_string("error"));
    json_object_set_new(json, "message",
                        message_json(owned_text(xfa_print("%s (%s): %s", xfa_gated_site(row), what,
                                                          row->broken[rule]))));
    json_object_set_new(json, "locations", locations);
    free(what);
    return json;
}

void xfa_gate_write_sarif(const struct xfa_gate_verdict *verdict, const char *path, FILE *out)
{
    json_t *json = json_object(), *runs = json_array(), *run = json_object();
    json_t *tool = json_object(), *driver = json_object(), *results = json_array();
    for (size_t i = 0; i < verdict->row_count; i++)
        for (int rule = 0; rule < XFA_GATE_RULE_COUNT; rule++)
            if (verdict->rows[i].broken[rule])
                json_array_append_new(results, result_json(&verdict->rows[i], rule));
    json_object_set_new(driver, "name", json_string("xferscope"));
    json_object_set_new(driver, "version", json_string(XFERSCOPE_VERSION));
    json_object_set_new(driver, "rules", rules_json());
    json_object_set_new(tool, "driver", driver);
    json_object_set_new(run, "tool", tool);
    json_object_set_new(run, "columnKind", json_string("unicodeCodePoints"));
    json_object_set_new(run, "results", results);
    json_array_append_new(runs, run);
    json_object_set_new(json, "$schema",
                        json_string("https://json.schemastore.org/sarif-2.1.0.json"));
    json_object_set_new(json, "version", json_string("2.1.0"));
    json_object_set_new(json, "runs", runs);
    write(json, out);
}
