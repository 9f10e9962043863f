/*
 * What a walk finds of ops before any way plays them: sites, who is in the driver, whose turn it
 * is. It is the same for all ways, and for all walks over the same ops: the first one keeps it for
 * those behind it. Private to replays*.c.
 */
#ifndef XFW_WALK_NOTES_H
#define XFW_WALK_NOTES_H

#include "analyzer/whatif/schedule/callers.h"
#include "analyzer/whatif/schedule/handovers.h"
#include "analyzer/whatif/turns.h"

#define XFW_MOST_NOTED ((size_t)1 << 19) /* ops of all processes, 32 bytes each */

struct xfw_noted { /* of an op: op.h, and turns.h */
    uint64_t under_way;
    double later_ns;
    float behind_ns, likely_ns;
    uint32_t site;
    uint8_t caller;
    bool plain; /* of its batch */
    bool begins_turn, ends_turn;
};

struct xfw_notes { /* of a process, zeroed at first */
    struct xfw_noted *items;
    size_t count, capacity;
    bool all; /* of all its ops that are played */
    bool no_room;
};
void xfw_notes_free(struct xfw_notes *notes);

/* Who finds it, of a process; zeroed at first. */
struct xfw_finders {
    struct xfw_callers *callers;
    struct xfw_handovers *handovers;
};
void xfw_finders_free(struct xfw_finders *finders);

/* The next ops of the process, and the same without what recording cost: what the finders find goes
 * into both. */
struct xfw_batch;
void xfw_finders_meet(struct xfw_finders *finders, struct xfa_process *process,
                      const struct xfw_batch *batch);

/* Adds what was found of the next ops, up to so many in all; of more nothing is kept. */
void xfw_notes_add(struct xfw_notes *notes, const struct xfw_batch *batch,
                   const struct xfw_turns *turns, size_t most);
/* What was found of these ops, the first of which is the process's op `at`: into the ops, and into
 * their turns. */
void xfw_notes_give(const struct xfw_notes *notes, size_t at, const struct xfw_batch *batch);
void xfw_notes_turns(const struct xfw_notes *notes, size_t at, struct xfw_turns *turns);

#endif
