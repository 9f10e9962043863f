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

uint32_t *xfa_met_take_places(struct xfa_table *table, const struct xfa_met_table *how,
                              const void *of, struct xfa_unpacking *from, size_t *count)
{
    *count = xfa_unpack_count(from, table->item_bytes);
    unsigned char *more = xfa_alloc(table->item_bytes);
    uint32_t *places = xfa_alloc((*count + 1) * sizeof *places);
    for (uint32_t i = 0; i < *count && !from->bad; i++) {
        xfa_unpack_bytes(from, more, table->item_bytes);
        memcpy(more + how->met + offsetof(struct xfa_met, place), &i, sizeof i);
        from->bad = from->bad || !how->is_good(of, more);
        if (from->bad)
            break;
        take_item(table, how, more);
        places[i] = xfa_table_place(table, xfa_table_get(table, more));
    }
    free(more);
    if (!from->bad)
        return places;
    free(places);
    return NULL;
}

void xfa_met_take(struct xfa_table *table, const struct xfa_met_table *how, const void *of,
                  struct xfa_unpacking *from)
{
    size_t count;
    free(xfa_met_take_places(table, how, of, from, &count));
}

void xfa_met_sort(struct xfa_table *table, const struct xfa_met_table *how)
{
    xfa_table_sort(table, by_met, (void *)how);
}

uint32_t *xfa_met_sort_places(struct xfa_table *table, const struct xfa_met_table *how)
{
    const size_t bytes = table->item_bytes;
    unsigned char *before = xfa_alloc((table->count + 1) * bytes);
    uint32_t *places = xfa_alloc((table->count + 1) * sizeof *places);
    if (table->count)
        memcpy(before, table->items, table->count * bytes);
    xfa_met_sort(table, how);
    for (size_t i = 0; i < table->count; i++)
        places[i] = xfa_table_place(table, xfa_table_get(table, before + i * bytes));
    free(before);
    return places;
}

/* ---- lists ----------------------------------------------------------------------------------- */

void xfa_list_give(const void *items, size_t count, size_t bytes, struct xfa_parcel *parcel)
{
    xfa_parcel_number(parcel, count);
    xfa_parcel_put(parcel, items, count * bytes);
}

void *xfa_list_take(void *items, size_t *capacity, size_t *count, size_t bytes,
                    struct xfa_unpacking *from)
{
    size_t more = xfa_unpack_count(from, bytes);
    if (more == 0)
        return items;
    items = xfa_room(items, capacity, *count + more, bytes);
    xfa_unpack_bytes(from, (unsigned char *)items + *count * bytes, more * bytes);
    *count += more;
    return items;
}

static uint32_t process_at(const unsigned char *item, size_t process)
{
    uint32_t number;
    memcpy(&number, item + process, sizeof number);
    return number;
}

/* Where the first item of each process is to lie; for free(). */
static size_t *first_places(const unsigned char *items, size_t count, size_t bytes, size_t process)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = process_at(items + i * bytes, process);
        most = number > most ? number : most;
    }
    size_t *first = xfa_alloc((most + 2) * sizeof *first);
    for (size_t i = 0; i < count; i++)
        first[process_at(items + i * bytes, process) + 1]++;
    for (size_t p = 1; p <= most; p++)
        first[p] += first[p - 1];
    return first;
}

void xfa_list_sort(void *items, size_t count, size_t bytes, size_t process)
{
    if (count == 0)
        return;
    unsigned char *given = xfa_alloc_unset(count * bytes);
    memcpy(given, items, count * bytes);
    size_t *next = first_places(given, count, bytes, process);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *item = given + i * bytes;
        memcpy((unsigned char *)items + next[process_at(item, process)]++ * bytes, item, bytes);
    }
    free(given);
    free(next);
}
