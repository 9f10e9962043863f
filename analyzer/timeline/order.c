#include "analyzer/timeline/order.h"

#include <stdlib.h>

#include "analyzer/base/alloc.h"

void xfa_order_free(struct xfa_order *order)
{
    free(order->heap);
}

void xfa_order_put(struct xfa_order *order, const struct xfa_span *span)
{
    order->heap = xfa_room(order->heap, &order->capacity, order->count + 1, sizeof *order->heap);
    size_t at = order->count++;
    for (; at > 0 && order->heap[(at - 1) / 2].start > span->start; at = (at - 1) / 2)
        order->heap[at] = order->heap[(at - 1) / 2];
    order->heap[at] = *span;
}

bool xfa_order_take(struct xfa_order *order, bool all, struct xfa_span *span)
{
    if (order->count == 0 || (!all && order->count <= XFA_ORDER_MOST))
        return false;
    *span = order->heap[0];
    const struct xfa_span *last = &order->heap[--order->count];
    size_t at = 0, below;
    while ((below = 2 * at + 1) < order->count) {
        if (below + 1 < order->count && order->heap[below + 1].start < order->heap[below].start)
            below++;
        if (order->heap[below].start >= last->start)
            break;
        order->heap[at] = order->heap[below];
        at = below;
    }
    order->heap[at] = *last;
    return true;
}
