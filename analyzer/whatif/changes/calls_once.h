/*
 * Memory that a program takes and gives back again and again (allocates and frees, registers and
 * unregisters) is taken once and kept: of calls that are alike only as many stay as are held at the
 * same time; the first that take, the last that give back. Others go, and with them what they
 * waited for: a cudaFree() waits until the device is idle.
 *
 * What a call took beyond what the profile has for such calls has other causes, and is not promised
 * (at best: it goes as well; at worst: a quarter less, by which such calls differ between
 * processes).
 *
 * What may still be waited for: copies from or to page-locked memory that are under way, since the
 * host may go on to read or fill it. Likely: until these are done; at worst: all that it waited for
 * then; at best: nothing.
 */
#ifndef XFW_CHANGE_CALLS_ONCE_H
#define XFW_CHANGE_CALLS_ONCE_H

#include "analyzer/base/table.h"
#include "analyzer/whatif/change.h"

#define XFW_ONCE_MOST 65536        /* sorts of calls of a run that are told apart */
#define XFW_ONCE_ADDRESSES 262144u /* of a process */

/* Calls that take memory and are alike. */
struct xfw_once_key {
    uint64_t address; /* of registrations, which are of memory that is there; else 0 */
    uint64_t bytes;
    uint32_t process, site;
    int32_t gpu;
    uint32_t memory; /* enum xft_memory */
};

struct xfw_once_calls {
    struct xfw_once_key key;
    uint32_t first; /* the first's, in the terms of who keeps the book */
    uint64_t takes, gives;
    uint64_t held, most; /* at the end, and at the same time */
    double needless_ns;  /* in calls that take though as much had been there before */
    double gives_ns;
};

/* Calls of one process, and where what it holds lies. */
struct xfw_once_book {
    struct xfa_table calls;   /* struct xfw_once_calls */
    struct xfa_table holders; /* by address */
};
void xfw_once_book_init(struct xfw_once_book *book);
void xfw_once_book_free(struct xfw_once_book *book);

/* A call that takes; NULL: it is not told apart. */
struct xfw_once_calls *xfw_once_take(struct xfw_once_book *book, const struct xfw_once_key *key,
                                     uint64_t address, double ns);
/* One that gives back; NULL: nobody knows who took it. */
struct xfw_once_calls *xfw_once_give(struct xfw_once_book *book, uint64_t address, double ns);

/* How many could go. */
uint64_t xfw_once_needless_takes(const struct xfw_once_calls *calls);
uint64_t xfw_once_needless_gives(const struct xfw_once_calls *calls);

/* calls: struct xfw_once_calls, of the run; chosen: which of them, by their places, which becomes
 * the change's. The table is borrowed. */
struct xfw_change *xfw_change_calls_once(const struct xfa_analysis *analysis,
                                         const struct xfa_table *calls, struct xfw_set *chosen);

#endif
