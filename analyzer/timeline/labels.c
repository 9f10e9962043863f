/* What is written beside what ran. */
#include "analyzer/timeline/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"
#include "analyzer/base/demangle.h"
#include "analyzer/timeline/version.h"

/* ---- texts ----------------------------------------------------------------------------------- */

void xfa_labels_init(struct xfa_labels *labels)
{
    xfa_table_init(&labels->table, XFA_NAME_CHARS, sizeof(struct xfa_label));
}

void xfa_labels_free(struct xfa_labels *labels)
{
    xfa_table_free(&labels->table);
}

/* So much of it as fits, no character of UTF-8 cut. */
static size_t fitting(const char *text)
{
    size_t length = strnlen(text, XFA_NAME_CHARS);
    if (length < XFA_NAME_CHARS)
        return length;
    length = XFA_NAME_CHARS - 1;
    for (unsigned i = 0; i < 3 && length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80; i++)
        length--;
    return length;
}

uint32_t xfa_labels_put(struct xfa_labels *labels, const char *text)
{
    struct xfa_label key = {{0}};
    memcpy(key.text, text, fitting(text));
    struct xfa_label *name = xfa_table_get(&labels->table, &key);
    if (!name && labels->table.count < XFA_MOST_NAMES)
        name = xfa_table_put(&labels->table, &key);
    return name ? (uint32_t)(((unsigned char *)name - labels->table.items) / sizeof *name)
                : XFA_NO_NAME;
}

/* ---- what they are of ------------------------------------------------------------------------ */

#define MOST_MET 65536 /* of each kind; further ones are put together again each time */

struct met {
    uint64_t key;
    uint32_t name;
};

void xfa_labels_begin(struct xfa_timeline *timeline)
{
    xfa_table_init(&timeline->of_kernels, sizeof(uint64_t), sizeof(struct met));
    xfa_table_init(&timeline->of_waits, sizeof(uint64_t), sizeof(struct met));
}

void xfa_labels_end(struct xfa_timeline *timeline)
{
    xfa_table_free(&timeline->of_kernels);
    xfa_table_free(&timeline->of_waits);
    free(timeline->of_rows);
}

void xfa_labels_of_process(struct xfa_timeline *timeline, struct xfa_process *process)
{
    timeline->process = process;
    xfa_table_free(&timeline->of_kernels);
    xfa_table_free(&timeline->of_waits);
    xfa_table_init(&timeline->of_kernels, sizeof(uint64_t), sizeof(struct met));
    xfa_table_init(&timeline->of_waits, sizeof(uint64_t), sizeof(struct met));
}

static bool known(const struct xfa_table *table, uint64_t key, uint32_t *name)
{
    const struct met *met = xfa_table_get(table, &key);
    if (met)
        *name = met->name;
    return met;
}

static uint32_t keep(struct xfa_timeline *timeline, struct xfa_table *table, uint64_t key,
                     char *text)
{
    uint32_t name = xfa_labels_put(&timeline->labels, text);
    if (table->count < MOST_MET)
        ((struct met *)xfa_table_put(table, &key))->name = name;
    free(text);
    return name;
}

uint32_t xfa_label_of_kernel(struct xfa_timeline *timeline, uint64_t id)
{
    uint32_t name;
    if (known(&timeline->of_kernels, id, &name))
        return name;
    const struct xfa_text *text = id ? xfa_trace_text(timeline->process->trace, id) : NULL;
    if (!text)
        return XFA_NO_NAME;
    char *mangled = xfa_kept(text->text, text->bytes), *shown = xfa_demangle(mangled);
    free(mangled);
    return keep(timeline, &timeline->of_kernels, id, shown);
}

uint32_t xfa_label_of_row(struct xfa_timeline *timeline, const struct xfa_row *row)
{
    timeline->of_rows = xfa_grown(timeline->of_rows, &timeline->row_capacity, &timeline->row_count,
                                  row->number, sizeof *timeline->of_rows);
    struct xfa_row_label *label = &timeline->of_rows[row->number];
    if (!label->known) {
        char *text = xfa_print("%s, %s", xfa_row_called(row)->name, row->site->text);
        *label = (struct xfa_row_label){true, xfa_labels_put(&timeline->labels, text)};
        free(text);
    }
    return label->name;
}

uint32_t xfa_label_of_call(struct xfa_timeline *timeline, const struct xfa_event *event)
{
    uint32_t name;
    uint64_t key = (uint64_t)event->call << 32 | event->stack;
    if (known(&timeline->of_waits, key, &name))
        return name;
    const char *function = xfa_process_function(timeline->process, event->call)->name;
    const char *site = xfa_process_site(timeline->process, event->stack)->text;
    return keep(timeline, &timeline->of_waits, key,
                event->stack ? xfa_print("%s, %s", function, site) : xfa_text(function));
}
