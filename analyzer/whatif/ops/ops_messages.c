#include "analyzer/whatif/ops/ops_messages.h"

#include "analyzer/sums/messages.h"

#define MOST_OPS 4

static struct xfw_op op_of(const struct xfw_op *like, unsigned side, bool begins, double began_ns)
{
    struct xfw_op op = *like;
    op.what = XFW_MESSAGE;
    op.side = (uint8_t)side;
    op.begins = begins;
    op.began_ns = began_ns;
    op.src = op.dst = op.bytes = 0;
    return op;
}

/* The memory that it sends, or to which it comes. */
static void set_memory(struct xfw_op *op, const struct xfa_event *event)
{
    const struct xfa_message *message = &event->message;
    if (op->side != XFA_RECEIVES)
        op->src = message->src;
    if (op->side != XFA_SENDS)
        op->dst = message->dst;
    op->bytes = op->side == XFA_SENDS             ? event->bytes
                : op->side == XFA_RECEIVES        ? message->arrives
                : event->bytes > message->arrives ? event->bytes
                                                  : message->arrives;
}

/* Without what comes before the call. */
static struct xfw_op next_of(const struct xfw_op *like)
{
    struct xfw_op op = *like;
    op.fetched = (struct xfw_moved){0};
    op.overhead_ns = 0;
    return op;
}

static unsigned blocking_ops(const struct xfw_op *like, double began_ns, const unsigned *sides,
                             unsigned count, struct xfw_op ops[MOST_OPS])
{
    const struct xfw_op next = next_of(like);
    for (unsigned i = 0; i < count; i++) {
        ops[i] = op_of(i == 0 ? like : &next, sides[i], true, began_ns);
        ops[i].end_ns = ops[i].start_ns;
        ops[i].hook_ns = 0;
        ops[i].in_one_call = true;
        ops[count + i] = op_of(&next, sides[i], false, began_ns);
        ops[count + i].in_one_call = true;
        if (i + 1 < count)
            ops[count + i].hook_ns = 0;
    }
    return 2 * count;
}

/* What it takes of the rank before, and gives to the next: where it begins, in no time. */
static void pass_on(struct xfw_ops_queue *queue, const struct xfw_op *begun)
{
    static const uint8_t sides[] = {XFA_RECEIVES, XFA_SENDS};
    const struct xfw_op next = next_of(begun);
    for (unsigned i = 0; i < 2; i++) {
        struct xfw_op op = op_of(&next, sides[i], sides[i] == XFA_SENDS, begun->began_ns);
        op.in_one_call = false;
        xfw_ops_queue_push(queue, &op);
    }
}

/* The sides of a call; how many it has. */
static unsigned sides_of(unsigned what, unsigned sides[2])
{
    if (xft_message_is_collective(what)) {
        sides[0] = XFA_TAKES_PART;
        return 1;
    }
    switch (what) {
    case XFT_MESSAGE_SEND:
        sides[0] = XFA_SENDS;
        return 1;
    case XFT_MESSAGE_RECV:
        sides[0] = XFA_RECEIVES;
        return 1;
    case XFT_MESSAGE_SENDRECV:
        sides[0] = XFA_SENDS;
        sides[1] = XFA_RECEIVES;
        return 2;
    default: /* a wait has an end for each of its requests */
        return 0;
    }
}

static unsigned ops_of(const struct xfa_event *event, const struct xfw_op *like, double began_ns,
                       struct xfw_op ops[MOST_OPS])
{
    unsigned sides[2];
    if (event->kind == XFT_EVENT_MESSAGE_END) {
        ops[0] = op_of(like, XFW_ANY_SIDE, false, began_ns);
        return 1;
    }
    unsigned count = sides_of(event->message.what, sides);
    if (count == 1 && event->flags & XFT_ASYNC) {
        ops[0] = op_of(like, sides[0], true, began_ns);
        return 1;
    }
    return blocking_ops(like, began_ns, sides, count, ops);
}

static bool hold(struct xfw_held *held, const struct xfw_op *op)
{
    if (held->count == XFW_MOST_HELD)
        return false;
    held->ops[held->count++] = *op;
    return true;
}

void xfw_hold(struct xfw_held *held, struct xfw_ops_queue *queue, const struct xfw_op *op)
{
    if (!hold(held, op))
        xfw_ops_queue_push(queue, op);
}

static bool is_scan(const struct xfa_event *event)
{
    return event->kind == XFT_EVENT_MESSAGE && event->message.what == XFT_MESSAGE_SCAN &&
           !(event->flags & XFT_ASYNC);
}

void xfw_message_take(struct xfw_held *held, struct xfw_ops_queue *queue,
                      const struct xfa_event *event, const struct xfw_op *like)
{
    struct xfw_op ops[MOST_OPS];
    uint64_t began_ns =
        event->kind == XFT_EVENT_MESSAGE_END ? event->message_end.began_ns : event->start_ns;
    unsigned count = ops_of(event, like, xfw_ops_queue_time(queue, began_ns), ops);
    for (unsigned i = 0; i < count; i++) {
        if (ops[i].begins)
            set_memory(&ops[i], event);
        if (ops[i].begins)
            xfw_ops_queue_push(queue, &ops[i]);
        else
            xfw_hold(held, queue, &ops[i]);
        if (ops[i].begins && is_scan(event))
            pass_on(queue, &ops[i]);
    }
}

/* The one that ended first, of those of one time the one that came first. */
static bool next_held(struct xfw_held *held, double until_ns, struct xfw_op *op)
{
    unsigned first = 0;
    for (unsigned i = 1; i < held->count; i++)
        if (held->ops[i].end_ns < held->ops[first].end_ns)
            first = i;
    if (held->count == 0 || held->ops[first].end_ns > until_ns)
        return false;
    *op = held->ops[first];
    held->count--;
    for (unsigned i = first; i < held->count; i++)
        held->ops[i] = held->ops[i + 1];
    return true;
}

void xfw_held_let_go(struct xfw_held *held, struct xfw_ops_queue *queue, double until_ns)
{
    struct xfw_op op;
    while (next_held(held, until_ns, &op))
        xfw_ops_queue_push(queue, &op);
}
