/*
 * Whose turn it is, of the threads that have ops in a batch. Ops come in the order of calls as
 * recorded. What a change makes faster calls earlier than others then, and its copies are before
 * theirs on the engine: so each op is earlier in this order by as much as its call is earlier than
 * in the run unchanged, as far as what it needs of other threads allows. (Not by the schedule's
 * time as such: where the replay is off, unchanged ops would change places.) What lies behind the
 * batch comes behind it. Private to whatif/.
 *
 * In its order as recorded stays: what a thread does; what uses the same CUDA event, or the same
 * stream but the legacy default one, which all threads share without meaning to; calls for memory,
 * since addresses are given again; behind all that was before it a wait for a device (but a call
 * for memory's), the begin and end of a phase, and what a stream woke. What another thread woke
 * begins behind that call of it.
 */
#ifndef XFW_TURNS_H
#define XFW_TURNS_H

#include "analyzer/whatif/player.h"
#include "analyzer/whatif/op/sample.h"

#define XFW_TURNS ((size_t)4 * XFW_BATCH) /* ops of a process with several threads: a batch */
#define XFW_TURN_THREADS 16 /* with more of them in a batch ops are played as they come */

/* What has to be behind an op of another thread: the use of an event, a stream, memory; ops of whom
 * that thread woke. */
enum xfw_turn_use {
    XFW_TURN_EVENT,
    XFW_TURN_STREAM,
    XFW_TURN_MEMORY,
    XFW_TURN_DEVICE,
    XFW_TURN_WOKEN,
    XFW_TURN_USES
};

struct xfw_turns { /* of a batch; the same for all ways */
    size_t count;
    bool plain; /* ops are played as they come */
    unsigned threads;
    uint16_t first[XFW_TURN_THREADS]; /* of each thread: its place in the batch, + 1; 0: none */
    struct xfw_turn {
        uint16_t next;                 /* of the same thread, + 1; 0: none */
        uint16_t after[XFW_TURN_USES]; /* these first; 0: none */
        uint16_t waker;                /* the op that woke it; 0: none, or in a batch before */
        bool behind_all;               /* that were before it */
    } turns[XFW_TURNS];
    double later_ns[XFW_TURNS]; /* than its call in the run unchanged each is recorded, or let in */
};
/* plain: they are in any case. */
void xfw_turns_of(struct xfw_turns *turns, const struct xfw_op *ops, size_t count, bool plain);

/* Plays the batch unchanged, as it came, and notes when its calls are: where these are not in order
 * then, the others play it as it came, too. */
void xfw_turns_alone(struct xfw_turns *turns, const struct xfw_op *ops, struct xfw_player *player);

/* Then others play it; plain: as it came. */
void xfw_turns_play(const struct xfw_turns *turns, const struct xfw_op *ops,
                    struct xfw_player *player, bool plain);

#endif
