/*
 * Memory that one thread takes and fills, and another one gives back: what is passed between them
 * has a bounded number of blocks, where no more of them were held at one time. For the change that
 * keeps them (calls_once.c). Private to changes/.
 *
 * A thread whose calls are takes alone fills what it has between them. As recorded it waited for a
 * block where it took one soon behind another thread's call that gave one back (within half of its
 * own time and XFW_HANDOVER_MOST_NS), and as many were held then as ever. The mean of its other
 * times between takes is what filling takes. So in the run played it goes on when it has filled the
 * one before and a block is free, and who uses the block first waits until it is filled.
 */
#ifndef XFW_PASSED_ON_H
#define XFW_PASSED_ON_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/op/op.h"

#define XFW_PASSED_MOST 256 /* blocks at one time: of more nothing is said */

/* Calls that are alike (struct xfw_once_calls), zeroed at first. */
struct xfw_passed {
    uint64_t takes, gives, held;
    double given_ns[XFW_PASSED_MOST]; /* as played: the last of them, a ring */
    double gave_ns;                   /* as recorded: the end of the last one */
    uint32_t giver;                   /* its thread */
    double fills_ns;                  /* the mean of so many */
    uint64_t fills;
};

/* A block that was taken, by address, until another thread uses it. */
struct xfw_passed_block {
    uint64_t address; /* key */
    uint32_t thread;  /* that fills it, + 1; 0: nobody has to wait for it */
    double filled_ns; /* as played */
};

/* One more is taken, of at most `most` at one time; `alone`: the thread's call before was a take of
 * these, too, and has ended at now_ns, as played. Of one that waited for a block as recorded the
 * thread's own time becomes what filling takes, or what is left until a block is free. */
void xfw_passed_take(struct xfw_passed *passed, struct xfw_op *op, uint64_t most, bool alone,
                     double now_ns);
/* One is given back, at given_ns as played. */
void xfw_passed_give(struct xfw_passed *passed, const struct xfw_op *op, double given_ns);

#endif
