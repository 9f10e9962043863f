/* CSV: a line for each call of MPI and NCCL that sends, receives or waits, and for each request
 * that a call found complete. The columns are those of events (columns.def) that messages have. */
#include <string.h>

#include "analyzer/base/check.h"
#include "analyzer/export/columns.h"

static const char *const names[] = {
    "host",   "process",  "pid",     "rank",          "thread",     "start_ns",
    "ns",     "function", "message", "to_rank",       "from_rank",  "communicator",
    "tag",    "bytes",    "arrives", "src_memory",    "dst_memory", "correlation",
    "failed", "status",   "site",    "site_function", "site_file",  "site_line",
};
enum { COUNT = sizeof names / sizeof *names };

struct self {
    const struct xfa_event_column *columns[COUNT];
};

static const struct xfa_event_column *column_of(const char *name)
{
    for (size_t i = 0; i < xfa_event_column_count; i++)
        if (strcmp(xfa_event_columns[i].name, name) == 0)
            return &xfa_event_columns[i];
    XFA_EXPECT(false, "an event has no such column");
    return &xfa_event_columns[0];
}

static void begin(struct xfa_export *export)
{
    struct self *self = export->self;
    for (size_t i = 0; i < COUNT; i++) {
        self->columns[i] = column_of(names[i]);
        fprintf(export->out, "%s%s", i ? "," : "event,", names[i]);
    }
    fputs("\r\n", export->out);
}

static void event(struct xfa_export *export, const struct xfa_event *event)
{
    const struct self *self = export->self;
    struct xfa_line line;
    if (event->kind == XFT_EVENT_COMMUNICATOR)
        return;
    xfa_line_begin(&line, export->out);
    xfa_line_text(&line, event->kind == XFT_EVENT_MESSAGE ? "message," : "message-end,");
    for (size_t i = 0; i < COUNT; i++) {
        struct xfa_value value = self->columns[i]->get(export, event);
        if (i > 0)
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
    .self_bytes = sizeof(struct self),
    .begin = begin,
    .event = event,
};
