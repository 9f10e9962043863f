#include <string.h>

#include "analyzer/export/export.h"

/* A new format is a row here, and a file. */
#define FORMATS(X)                                                                                 \
    X(perfetto)                                                                                    \
    X(chrome)                                                                                      \
    X(csv)                                                                                         \
    X(jsonl)                                                                                       \
    X(sqlite)                                                                                      \
    X(speedscope)                                                                                  \
    X(folded)                                                                                      \
    X(openmetrics)

#define DECLARED(name) extern const struct xfa_export_format xfa_export_##name;
FORMATS(DECLARED)

#define LISTED(name) &xfa_export_##name,
const struct xfa_export_format *const xfa_export_formats[] = {FORMATS(LISTED) NULL};

const struct xfa_export_format *xfa_export_find(const char *name)
{
    for (size_t i = 0; xfa_export_formats[i]; i++)
        if (strcmp(xfa_export_formats[i]->name, name) == 0)
            return xfa_export_formats[i];
    return NULL;
}
