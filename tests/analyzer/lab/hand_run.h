/*
 * A run of ops made by hand, in the order of their calls, for tests of schedules: add() what it
 * has, played() says when its thread has done it all, and forgets it. Times are ns.
 */
#ifndef HAND_RUN_H
#define HAND_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/analyzer/lab/hand_ops.h"

enum { CALL = 10, LATENCY = 5, WAKE = 3, MOST = 4096 }; /* MOST: ops */

static struct xfw_op ops[MOST];
static size_t count;

static inline struct xfw_op *add(struct xfw_op op)
{
    assert_true(count < MOST);
    ops[count] = op;
    return &ops[count++];
}

static inline struct xfw_op *copy(uint32_t stream, enum xfw_engine engine, double ns)
{
    struct xfw_op *op = add(hand_work(XFW_COPY, stream, CALL, LATENCY, ns));
    op->engine = (uint8_t)engine;
    return op;
}

static inline struct xfw_op *kernel(uint32_t stream, double ns)
{
    return add(hand_work(XFW_KERNEL, stream, CALL, LATENCY, ns));
}

static inline struct xfw_op *on_event(enum xfw_what what, uint32_t stream, uint32_t event)
{
    struct xfw_op op = hand_op(what, XFT_EVENT_RECORD, 0);
    op.stream = stream;
    op.event = event;
    return add(op);
}

static inline double played(void)
{
    double end = hand_play(ops, count, NULL, XFW_LIKELY);
    count = 0;
    return end;
}

/* A kernel that reads the host's memory in place: after REACH it has the link for LINK. */
enum { REACH = 10000, LINK = 70000, AFTER = 20000 };

static inline struct xfw_op reading_kernel(uint32_t stream)
{
    struct xfw_op op = hand_work(XFW_KERNEL, stream, CALL, LATENCY, REACH + LINK + AFTER);
    op.name = 7;
    op.reach_ns = REACH;
    op.link_ns = LINK;
    return op;
}

#endif
