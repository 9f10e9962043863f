#include "analyzer/base/met.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

void xfa_met_give(const struct xfa_table *table, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, table->count);
    xfa_parcel_put(parcel, table->items, table->count * table->item_bytes);
}

static int by_met(const void *a, const void *b, void *self)
{
    const struct xfa_met_table *how = self;
    struct xfa_met x, y;
    memcpy(&x, (const unsigned char *)a + how->met, sizeof x);
    memcpy(&y, (const unsigned char *)b + how->met, sizeof y);
    if (x.process != y.process)
        return x.process < y.process ? -1 : 1;
    return (x.place > y.place) - (x.place < y.place);
}

/* more: an item that another member gave. */
static void take_item(struct xfa_table *table, const struct xfa_met_table *how,
                      const unsigned char *more)
{
    bool known = xfa_table_get(table, more) != NULL;
    unsigned char *item = xfa_table_put(table, more);
    if (!known || by_met(more, item, (void *)how) < 0)
        memcpy(item + how->met, more + how->met, sizeof(struct xfa_met));
    how->add(item, more);
}

void xfa_met_take(struct xfa_table *table, const struct xfa_met_table *how, const void *of,
                  struct xfa_unpacking *from)
{
    size_t count = xfa_unpack_count(from, table->item_bytes);
    unsigned char *more = xfa_alloc(table->item_bytes);
    for (uint32_t i = 0; i < count && !from->bad; i++) {
        xfa_unpack_bytes(from, more, table->item_bytes);
        memcpy(more + how->met + offsetof(struct xfa_met, place), &i, sizeof i);
        from->bad = from->bad || !how->is_good(of, more);
        if (!from->bad)
            take_item(table, how, more);
    }
    free(more);
}

void xfa_met_sort(struct xfa_table *table, const struct xfa_met_table *how)
{
    xfa_table_sort(table, by_met, (void *)how);
}
