#include "analyzer/timeline/order.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

void xfa_order_free(struct xfa_order *order)
{
    free(order->heap);
    free(order->spans);
}

void xfa_order_put(struct xfa_order *order, const struct xfa_span *span)
{
    size_t capacity = order->capacity;
    order->heap = xfa_room(order->heap, &capacity, order->count + 1, sizeof *order->heap);
    order->spans = xfa_room(order->spans, &order->capacity, order->count + 1, sizeof *order->spans);
    size_t at = order->count++;
    struct xfa_order_item item = {span->start, (uint32_t)at};
    if (order->freed > 0)
        item.place = order->heap[at].place;
    order->freed -= order->freed > 0;
    order->spans[item.place] = *span;
    for (; at > 0 && order->heap[(at - 1) / 2].start > span->start; at = (at - 1) / 2)
        order->heap[at] = order->heap[(at - 1) / 2];
    order->heap[at] = item;
}

bool xfa_order_take(struct xfa_order *order, bool all, struct xfa_span *span)
{
    if (order->count == 0 || (!all && order->count <= XFA_ORDER_MOST))
        return false;
    uint32_t freed = order->heap[0].place;
    *span = order->spans[freed];
    const struct xfa_order_item last = order->heap[--order->count];
    size_t at = 0, below;
    while ((below = 2 * at + 1) < order->count) {
        if (below + 1 < order->count && order->heap[below + 1].start < order->heap[below].start)
            below++;
        if (order->heap[below].start >= last.start)
            break;
        order->heap[at] = order->heap[below];
        at = below;
    }
    order->heap[at] = last;
    order->heap[order->count].place = freed;
    order->freed++;
    return true;
}
