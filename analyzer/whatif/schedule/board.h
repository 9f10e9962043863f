/*
 * The board of one way of a run whose ranks are played together: when parts of messages began, on a
 * clock that all its processes have in common. Each message or collective that is under way has a
 * slot there. Which one, and when it is used again, is the same for all ways (together.h). Private
 * to whatif/. Times are ns.
 */
#ifndef XFW_BOARD_H
#define XFW_BOARD_H

#include "analyzer/base/alloc.h"
#include "analyzer/sums/messages.h"
#include "analyzer/whatif/op/op.h"

struct xfw_slot {
    double sent_ns, got_ns; /* when it was begun to be sent, and received; of several the last */
    double less_ns;         /* a change of the sender: it is under way for so much less */
};

struct xfw_board { /* zero to begin with; its slots are for free() */
    struct xfw_slot *slots;
    size_t count, capacity;
};

static inline struct xfw_slot *xfw_board_slot(struct xfw_board *board, uint32_t slot)
{
    if (slot >= board->count)
        board->slots =
            xfa_grown(board->slots, &board->capacity, &board->count, slot, sizeof *board->slots);
    return &board->slots[slot];
}

/* A part of it begins, that others wait for. */
static inline void xfw_board_begin(struct xfw_board *board, const struct xfw_op *op, double now_ns)
{
    if (op->slot == XFW_NONE)
        return;
    struct xfw_slot *slot = xfw_board_slot(board, op->slot);
    if (op->of_ranks & XFW_OF_NEW)
        *slot = (struct xfw_slot){0, 0, 0};
    if (op->of_ranks & XFW_OF_SENT)
        slot->sent_ns = xfw_max(slot->sent_ns, now_ns);
    if (op->of_ranks & XFW_OF_GOT)
        slot->got_ns = xfw_max(slot->got_ns, now_ns);
    if (op->side == XFA_SENDS)
        slot->less_ns = op->less_ns;
}

/* What the message takes less. */
static inline double xfw_board_less(struct xfw_board *board, const struct xfw_op *op)
{
    if (op->slot == XFW_NONE || op->awaits != XFW_AWAITS_RANKS)
        return 0;
    return xfw_board_slot(board, op->slot)->less_ns + (op->side == XFA_SENDS ? 0 : op->less_ns);
}

/* When the call returns that waits for it. */
static inline double xfw_board_back(struct xfw_board *board, const struct xfw_op *op)
{
    if (op->slot == XFW_NONE)
        return 0;
    const struct xfw_slot *slot = xfw_board_slot(board, op->slot);
    double begun = op->of_ranks & XFW_OF_SENT ? slot->sent_ns : 0;
    if (op->of_ranks & XFW_OF_GOT)
        begun = xfw_max(begun, slot->got_ns);
    double under_way = xfw_max(0, op->wake_ns - xfw_board_less(board, op));
    return begun + (op->most_ns > 0 ? xfw_min((double)op->most_ns, under_way) : under_way);
}

#endif
