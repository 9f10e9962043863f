/*
 * Work of streams kept in order by the memory that it uses, where waits of the host that kept it in
 * order go: for changes that take such waits away. The program records events and has streams wait
 * for them instead.
 *
 * What work uses: of a copy its two ends, of a memset its memory. A kernel reads or writes, by its
 * name's types, from each pointer to the allocation's end; at best only there. One of which it is
 * not known what it is given, and a graph, may write all memory. Two that only read need no order.
 *
 * Bounded: of what does not fit it is only known when it is done, and later work waits for that.
 * Times are ns of the schedule's clock. Private to changes/.
 */
#ifndef XFW_WORK_ORDER_H
#define XFW_WORK_ORDER_H

#include "analyzer/whatif/changes/costs.h"
#include "analyzer/whatif/changes/memories.h"

#define XFW_ORDER_USES 128
#define XFW_ORDER_SPANS 16 /* of one piece of work */

struct xfw_order_span {
    uint64_t first, end;
    bool writes;
};

struct xfw_order_use {
    struct xfw_order_span span;
    uint32_t stream;
    int16_t gpu;
    uint64_t gone; /* waits that had gone by then */
    double end_ns;
};

struct xfw_work_order {
    struct xfw_memories memories;
    struct xfw_signatures signatures;
    struct xfw_asked asked;
    struct xfw_order_use uses[XFW_ORDER_USES]; /* that the host has not waited for */
    unsigned count, oldest;
    double forgotten_ns;
    uint64_t gone;
    struct xfw_order_span last[XFW_ORDER_SPANS]; /* of the op before: its end is known now */
    unsigned last_count;
    uint32_t last_stream;
    int16_t last_gpu;
};

/* Zeroed at first. */
void xfw_work_order_free(struct xfw_work_order *order);

/* The next op, before it is played. Work waits for what it has to come behind; an event recorded
 * and one waited for are paid for before its call, for each stream that it waits for. */
void xfw_work_order_op(struct xfw_work_order *order, const struct xfw_change *change,
                       struct xfw_player *player, struct xfw_op *op);
/* A wait of the host goes: work before it and work behind it are in order only by events now. */
void xfw_work_order_gone(struct xfw_work_order *order);
/* The host waits for a stream, or for a GPU, as recorded. */
void xfw_work_order_waited(struct xfw_work_order *order, const struct xfw_op *wait);

#endif
