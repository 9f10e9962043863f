/* CSV: a line for each call of MPI and NCCL that sends, receives or waits, and for each request
 * that a call found complete. The columns are those of events (columns.def) that messages have. */
#include "analyzer/export/columns.h"

static void begin(struct xfa_export *export)
{
    fputs("event", export->out);
    for (size_t i = 0; i < xfa_message_column_count; i++)
        fprintf(export->out, ",%s", xfa_message_columns[i].name);
    fputs("\r\n", export->out);
}

static void event(struct xfa_export *export, const struct xfa_event *event)
{
    const char *what = xfa_message_event(event);
    struct xfa_line line;
    if (!what)
        return;
    xfa_line_begin(&line, export->out);
    xfa_line_text(&line, what);
    for (size_t i = 0; i < xfa_message_column_count; i++) {
        struct xfa_value value = xfa_message_value(i, export, event);
        xfa_line_add(&line, ",", 1);
        xfa_value_write_csv(&value, &line);
    }
    xfa_line_text(&line, "\r\n");
    xfa_line_end(&line);
}

const struct xfa_export_format xfa_export_csv_messages = {
    .name = "csv-messages",
    .what = "a line for each call of MPI and NCCL",
    .text = true,
    .words = XFA_WORDS_SHOWN,
    .kinds = XFA_KINDS_OF_MESSAGES,
    .begin = begin,
    .event = event,
};
