/*
 * Names of what ran, each kept once: kernels, functions, call sites. Bounded, whatever a trace
 * says: longer ones are cut, and of too many the rest has none. Private to timeline/.
 */
#ifndef XFA_TIMELINE_LABELS_H
#define XFA_TIMELINE_LABELS_H

#include "analyzer/base/table.h"

#define XFA_NO_NAME UINT32_MAX
#define XFA_NAME_CHARS 160 /* with the 0 at its end */
#define XFA_MOST_NAMES 4096

struct xfa_labels {
    struct xfa_table table; /* struct xfa_label */
};

struct xfa_label {
    char text[XFA_NAME_CHARS]; /* as the trace has it: maybe no UTF-8 */
};

void xfa_labels_init(struct xfa_labels *labels);
void xfa_labels_free(struct xfa_labels *labels);
uint32_t xfa_labels_put(struct xfa_labels *labels, const char *text);

static inline const char *xfa_labels_text(const struct xfa_labels *labels, uint32_t name)
{
    return ((const struct xfa_label *)xfa_table_at(&labels->table, name))->text;
}

#endif
