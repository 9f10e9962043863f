/* CSV: a line for each transfer, as RFC 4180 has it. */
#include "analyzer/export/columns.h"

static void begin(struct xfa_export *export)
{
    for (size_t i = 0; i < xfa_transfer_column_count; i++)
        fprintf(export->out, "%s%s", i ? "," : "", xfa_transfer_columns[i].name);
    fputs("\r\n", export->out);
}

static void transfer(struct xfa_export *export, const struct xfa_event *event)
{
    struct xfa_line line;
    xfa_line_begin(&line, export->out);
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        struct xfa_value value = xfa_transfer_columns[i].get(export, event);
        if (i > 0)
            xfa_line_add(&line, ",", 1);
        xfa_value_write_csv(&value, &line);
    }
    xfa_line_text(&line, "\r\n");
    xfa_line_end(&line);
}

const struct xfa_export_format xfa_export_csv = {
    .name = "csv",
    .what = "a line for each transfer",
    .text = true,
    .words = XFA_WORDS_SHOWN,
    .begin = begin,
    .transfer = transfer,
};
