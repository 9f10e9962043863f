/*
 * Launches of one kernel that a thread makes in a row, in one stream, all with the same pointers:
 * each may be for another plane, row or block, by a parameter that is no pointer and so is not
 * recorded, and one launch could do for all; or each goes on with what the one before has left. No
 * record shows which. For the finding (findings/looped_launches.c) and its change
 * (looped_launches.c), which so see the same ones.
 *
 * A row that another kernel's launch ends is more likely of the first kind than one behind which
 * the thread waits, copies or works: steps of time do. So a kernel's rows count where most of those
 * of XFW_LOOP_LEAST launches and more, so far, were ended by another kernel.
 *
 * Of shorter rows little is saved. How long a row gets is known from the last time, or once it is.
 */
#ifndef XFW_LOOPS_H
#define XFW_LOOPS_H

#include "analyzer/whatif/changes/pieces.h"

#define XFW_LOOP_LEAST XFW_PIECES_LEAST
#define XFW_LOOP_KERNELS 256 /* a power of two */

struct xfw_loops { /* zeroed at first; owns nothing */
    struct xfw_loop {
        struct xfw_piece_launch launch;
        uint32_t launches; /* of the row; 0: there is none */
    } threads[XFW_PIECE_THREADS];
    struct xfw_loop_kernel {
        uint64_t name;
        uint32_t last;             /* launches of its last row */
        uint32_t by_kernel, other; /* what ended its rows */
    } kernels[XFW_LOOP_KERNELS];
};

/* The thread's next launch: would the row's launch before make it, too? */
bool xfw_loops_next(struct xfw_loops *loops, uint32_t thread,
                    const struct xfw_piece_launch *launch);
/* The same, before it comes. */
bool xfw_loops_goes_on(const struct xfw_loops *loops, uint32_t thread,
                       const struct xfw_piece_launch *launch);
/* The thread waits, works, or calls something else. */
void xfw_loops_break(struct xfw_loops *loops, uint32_t thread);

#endif
