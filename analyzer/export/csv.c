/* CSV: a line for each transfer, as RFC 4180 has it. */
#include "analyzer/export/columns.h"
#include "common/text.h"

static void begin(struct xfa_export *export)
{
    for (size_t i = 0; i < xfa_transfer_column_count; i++)
        fprintf(export->out, "%s%s", i ? "," : "", xfa_transfer_columns[i].name);
    fputs("\r\n", export->out);
}

static void transfer(struct xfa_export *export, const struct xfa_event *event)
{
    for (size_t i = 0; i < xfa_transfer_column_count; i++) {
        struct xfa_value value = xfa_transfer_columns[i].get(export, event);
        if (i > 0)
            putc_unlocked(',', export->out);
        if (value.kind == XFA_VALUE_TEXT)
            xfc_csv_field(export->out, value.text);
        else
            xfa_value_write(&value, export->out);
    }
    fputs_unlocked("\r\n", export->out);
}

const struct xfa_export_format xfa_export_csv = {
    .name = "csv",
    .what = "a line for each transfer",
    .text = true,
    .words = XFA_WORDS_SHOWN,
    .begin = begin,
    .transfer = transfer,
};
