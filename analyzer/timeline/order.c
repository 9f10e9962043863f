#include "analyzer/timeline/order.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/base/alloc.h"

void xfa_order_free(struct xfa_order *order)
{
    for (size_t r = 0; r < XFA_ORDER_ROWS; r++)
        free(order->rows[r].items);
    free(order->heap);
}

/* Of those that began at the same time, the first that came. */
static bool is_before(const struct xfa_order_item *a, const struct xfa_order_item *b)
{
    return a->span.start != b->span.start ? a->span.start < b->span.start : a->number < b->number;
}

/* ---- in no row ------------------------------------------------------------------------------- */

static void push(struct xfa_order *order, const struct xfa_order_item *item)
{
    order->heap =
        xfa_room(order->heap, &order->heap_capacity, order->heap_count + 1, sizeof *order->heap);
    size_t at = order->heap_count++;
    for (; at > 0 && is_before(item, &order->heap[(at - 1) / 2]); at = (at - 1) / 2)
        order->heap[at] = order->heap[(at - 1) / 2];
    order->heap[at] = *item;
}

static void pop(struct xfa_order *order)
{
    const struct xfa_order_item *last = &order->heap[--order->heap_count];
    size_t at = 0, below;
    while ((below = 2 * at + 1) < order->heap_count) {
        if (below + 1 < order->heap_count &&
            is_before(&order->heap[below + 1], &order->heap[below]))
            below++;
        if (!is_before(&order->heap[below], last))
            break;
        order->heap[at] = order->heap[below];
        at = below;
    }
    order->heap[at] = *last;
}

/* ---- in rows --------------------------------------------------------------------------------- */

static bool is_empty(const struct xfa_order_row *row)
{
    return row->first == row->end;
}

/* The row whose last is the latest that it may follow; NULL: there is none. */
static struct xfa_order_row *row_for(struct xfa_order *order, uint64_t start)
{
    struct xfa_order_row *best = NULL;
    for (size_t r = 0; r < XFA_ORDER_ROWS; r++) {
        struct xfa_order_row *row = &order->rows[r];
        if (is_empty(row))
            row->last = 0;
        if (row->last <= start && (!best || row->last > best->last))
            best = row;
    }
    return best;
}

/* Removes the space of entries that have left from the front. */
static void make_room(struct xfa_order_row *row)
{
    if (row->first > row->end - row->first) {
        row->end -= row->first;
        memmove(row->items, row->items + row->first, row->end * sizeof *row->items);
        row->first = 0;
    }
    row->items = xfa_room(row->items, &row->capacity, row->end + 1, sizeof *row->items);
}

void xfa_order_put(struct xfa_order *order, const struct xfa_span *span)
{
    struct xfa_order_item item = {*span, order->number++};
    struct xfa_order_row *row = row_for(order, span->start);
    order->waiting++;
    if (!row) {
        push(order, &item);
        return;
    }
    make_room(row);
    row->items[row->end++] = item;
    row->last = span->start;
}

bool xfa_order_take(struct xfa_order *order, bool all, struct xfa_span *span)
{
    struct xfa_order_row *from = NULL;
    const struct xfa_order_item *first = order->heap_count ? &order->heap[0] : NULL;
    if (order->waiting == 0 || (!all && order->waiting <= XFA_ORDER_MOST))
        return false;
    for (size_t r = 0; r < XFA_ORDER_ROWS; r++) {
        struct xfa_order_row *row = &order->rows[r];
        if (is_empty(row) || (first && !is_before(&row->items[row->first], first)))
            continue;
        from = row;
        first = &row->items[row->first];
    }
    *span = first->span;
    order->waiting--;
    if (from)
        from->first++;
    else
        pop(order);
    return true;
}
