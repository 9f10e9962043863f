#include "analyzer/timeline/labels.h"

#include <string.h>

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
