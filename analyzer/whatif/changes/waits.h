/*
 * Copies that do not make the host wait: until one is done the host must leave its memory alone.
 * The trace does not show when it uses the memory again, but for other copies, for calls that free
 * it, and for messages of MPI that send it or arrive there (where those are ops). As likely:
 *
 * - Memory that was sent is written in the thread's own time before the next copy from or to it; at
 *   best after that time, at once (a second buffer is filled meanwhile).
 * - Memory that was fetched is read in the next own time of the thread that is longer than
 *   XFW_BUSY_NS and long enough to read all of it; at best not before another copy uses it.
 *
 * Before that the host waits for the copy, by an event that was recorded behind it, unless the
 * program itself has waited. Of memory that was fetched by copies of a class for which the program
 * was seen to wait itself, later, before it used the memory in another copy (its own wait for the
 * stream, the device, or an event behind the copy), nothing else is waited for any more. Copies of
 * a class, in either direction, for which the program waits itself have no event recorded.
 *
 * Copies of the legacy default stream go to the stream of the work that they are for: to the
 * device, of the next work of their thread (where that is known from the time before, by their
 * memory); to the host, of the last. There they need no wait for that stream directly before them:
 * it goes, where the one before at its call site was such.
 */
#ifndef XFW_WAITS_H
#define XFW_WAITS_H

#include "analyzer/whatif/schedule/change.h"
#include "analyzer/whatif/changes/costs.h"

#define XFW_USES 64 /* copies that are waited for at the same time */

/* Places of answers that are remembered by a hash, the last ones: powers of two. */
#define XFW_USE_THREADS 16
#define XFW_USE_FOR 8 /* copies of a thread whose work is still to come */
#define XFW_USE_CONSUMERS 64
#define XFW_USE_CLASSES 64
#define XFW_USE_WAITS 256

struct xfw_reuse { /* zeroed at first */
    struct xfw_use {
        uint64_t first, end;
        uint32_t event, stream, thread, class;
        uint32_t behind[2]; /* the program's events behind it, + 1: the first and the last */
        int16_t gpu;
        bool to_host;
        bool waited;   /* nothing is to be waited for: what the program does is looked at */
        bool recorded; /* the event is behind it; else its stream is waited for, if need be */
    } uses[XFW_USES];
    uint64_t open; /* a bit for each that is waited for */
    unsigned next;
    unsigned made; /* uses that have their event */
    struct xfw_use_thread {
        uint32_t thread; /* number + 1 */
        uint8_t before;  /* enum xfw_what of its last op */
        uint8_t count;   /* of copies */
        uint8_t stream_kind;
        uint32_t stream; /* of its last work that was no copy, + 1; 0: none yet */
        struct {
            uint64_t address;
            uint32_t stream;
        } copies[XFW_USE_FOR];
        uint32_t asks;      /* its last op was a wait that could go: place in waits, + 1 */
        bool gone;          /* and it went: */
        struct xfw_op wait; /* as it was */
        double too_late_ns; /* what it has waited and need not have */
    } threads[XFW_USE_THREADS];
    struct xfw_use_consumer {
        uint64_t address;
        uint32_t stream;
        uint8_t stream_kind;
    } consumers[XFW_USE_CONSUMERS];
    struct xfw_use_class {
        uint32_t class;   /* + 1 */
        uint8_t seen;     /* uses of which it is known */
        bool itself;      /* of the last one the program has waited itself */
        double waited_ns; /* for it, before that was known */
    } classes[XFW_USE_CLASSES];
    bool waits[XFW_USE_WAITS]; /* by site and what was before: a fetching copy came right behind */
    struct xfw_asked asked;
};

/* The host memory that a copy uses. False: none, or it is not known. */
struct xfw_host_memory {
    uint64_t first, bytes;
    bool to_host;
    uint8_t memory; /* enum xft_memory */
    int node;
};
bool xfw_host_memory(const struct xfa_analysis *analysis, const struct xfw_op *op,
                     struct xfw_host_memory *host);
/* The same of copies in rows, too: an op does not have how far these reach on the host, so that
 * they have their bytes as if they were contiguous. */
bool xfw_host_rows(const struct xfa_analysis *analysis, const struct xfw_op *op,
                   struct xfw_host_memory *host);

/* All copies but those of pageable memory are asynchronous. */
bool xfw_none_blocks(const struct xfa_analysis *analysis);

/* Each op, before it is changed: may insert a wait. becomes: it is a copy that does not make the
 * host wait any more. */
void xfw_reuse_meet(struct xfw_reuse *reuse, const struct xfw_change *change,
                    struct xfw_player *player, struct xfw_op *op, bool becomes);

/* The copy at hand does not make the host wait. It may go to another stream. */
void xfw_reuse_add(struct xfw_reuse *reuse, const struct xfw_change *change,
                   struct xfw_player *player, struct xfw_op *op,
                   const struct xfw_host_memory *host);

#endif
