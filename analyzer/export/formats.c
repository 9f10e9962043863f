#include <string.h>

#include "analyzer/export/export.h"

extern const struct xfa_export_format xfa_export_perfetto, xfa_export_chrome, xfa_export_csv,
    xfa_export_jsonl;

const struct xfa_export_format *const xfa_export_formats[] = {
    &xfa_export_perfetto, &xfa_export_chrome, &xfa_export_csv, &xfa_export_jsonl, NULL,
};

const struct xfa_export_format *xfa_export_find(const char *name)
{
    for (size_t i = 0; xfa_export_formats[i]; i++)
        if (strcmp(xfa_export_formats[i]->name, name) == 0)
            return xfa_export_formats[i];
    return NULL;
}
