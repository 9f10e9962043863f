/* JSON lines: an object for each event, with what is known of it. */
#include "analyzer/export/columns.h"

static void write_value(const char *key, const struct xfa_value *value, FILE *out)
{
    bool quoted = value->kind == XFA_VALUE_WORD; /* texts have their quotes */
    if (value->kind == XFA_VALUE_NONE)
        return;
    fputs_unlocked(",\"", out);
    fputs_unlocked(key, out);
    fputs_unlocked(quoted ? "\":\"" : "\":", out);
    xfa_value_write(value, out);
    if (quoted)
        putc_unlocked('"', out);
}

static void begin_object(const char *type, FILE *out)
{
    fputs_unlocked("{\"type\":\"", out);
    fputs_unlocked(type, out);
    putc_unlocked('"', out);
}

static void transfer(struct xfa_export *export, const struct xfa_event *event)
{
    begin_object("transfer", export->out);
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        struct xfa_value value = xfa_transfer_columns[i].get(export, event);
        write_value(xfa_transfer_columns[i].name, &value, export->out);
    }
    fputs_unlocked("}\n", export->out);
}

/* Calls for transfers come here when they moved nothing. */
static void event(struct xfa_export *export, const struct xfa_event *event)
{
    const char *word = xfa_words_event(event->kind);
    begin_object(word ? word : "unknown", export->out);
    for (size_t i = 0; i < xfa_event_column_count; i++) {
        struct xfa_value value = xfa_event_columns[i].get(export, event);
        write_value(xfa_event_columns[i].name, &value, export->out);
    }
    fputs_unlocked("}\n", export->out);
}

const struct xfa_export_format xfa_export_jsonl = {
    .name = "jsonl",
    .what = "a JSON object for each event, in a line of its own",
    .text = true,
    .words = XFA_WORDS_JSON,
    .kinds = UINT32_MAX,
    .transfer = transfer,
    .event = event,
    .copy = event,
};
