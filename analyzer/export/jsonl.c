/* JSON lines: an object for each event, with what is known of it. */
#include "analyzer/export/columns.h"

static void write_value(struct xfa_line *line, const char *key, const struct xfa_value *value)
{
    bool quoted = value->kind == XFA_VALUE_WORD; /* texts have their quotes */
    if (value->kind == XFA_VALUE_NONE)
        return;
    xfa_line_add(line, ",\"", 2);
    xfa_line_text(line, key);
    xfa_line_add(line, "\":\"", quoted ? 3 : 2);
    xfa_value_write(value, line);
    if (quoted)
        xfa_line_add(line, "\"", 1);
}

static void begin_object(struct xfa_line *line, const char *type, FILE *out)
{
    xfa_line_begin(line, out);
    xfa_line_text(line, "{\"type\":\"");
    xfa_line_text(line, type);
    xfa_line_add(line, "\"", 1);
}

static void end_object(struct xfa_line *line)
{
    xfa_line_add(line, "}\n", 2);
    xfa_line_end(line);
}

static void transfer(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_line line;
    begin_object(&line, "transfer", export->out);
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        struct xfa_value value = xfa_transfer_columns[i].get(export, event);
        write_value(&line, xfa_transfer_columns[i].name, &value);
    }
    end_object(&line);
}

/* Calls for transfers come here when they moved nothing. */
static void event(struct xfa_export *export, const struct xfa_event *event)
{
    const char *word = xfa_words_event(event->kind);
    struct xfa_line line;
    begin_object(&line, word ? word : "unknown", export->out);
    for (size_t i = 0; i < xfa_event_column_count; i++) {
        struct xfa_value value = xfa_event_columns[i].get(export, event);
        write_value(&line, xfa_event_columns[i].name, &value);
    }
    end_object(&line);
}

const struct xfa_export_format xfa_export_jsonl = {
    .name = "jsonl",
    .what = "a JSON object for each event, in a line of its own",
    .text = true,
    .words = XFA_WORDS_JSON,
    .kinds = XFA_ALL_KINDS,
    .transfer = transfer,
    .event = event,
    .copy = event,
};
