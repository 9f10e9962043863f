/*
 * Which memory kernels were given (LAUNCH, ARGUMENTS), and whether they write there: what could
 * have changed it, or made use of it, since some time.
 *
 * Part of an observer that asks: it passes the events of xfa_given_kinds in the order of their
 * times, and asks in between. A kernel that is given a pointer may use the memory from there to
 * the end of its allocation. Whether it writes stands in its name (base/signature.h), else it is
 * not known. Launches whose arguments are not known may have used any memory, and so may launched
 * graphs. What kernels reach by other ways (addresses in memory or in their code, textures) is not
 * seen.
 *
 * Pointers are distinguished as long as they are fewer than XFA_GIVEN_POINTERS.
 */
#ifndef XFA_GIVEN_H
#define XFA_GIVEN_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"
#include "analyzer/sums/blocks.h"

#define XFA_GIVEN_POINTERS 16384
#define XFA_GIVEN_SETS (1u << 17) /* arguments and kernels together */
#define XFA_GIVEN_KINDS                                                                            \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_LAUNCH) |           \
     XFA_KIND(XFT_EVENT_GRAPH_LAUNCH))

/* What kernels did, the less known the later; the last one is sure. */
enum xfa_used {
    XFA_USED_NOT,
    XFA_USED_READ,    /* given to kernels that do not write there */
    XFA_USED_PERHAPS, /* it is not known whether it was given to a kernel */
    XFA_USED_SOMEHOW, /* given, and not known whether it was written */
    XFA_USED_WRITTEN, /* given to be written */
};

struct xfa_given {
    bool recorded; /* what launches were given was recorded in this process */
    struct xfa_blocks blocks;
    struct xfa_table sets;        /* given.c */
    struct xfa_given_cell *cells; /* by when they were met */
    uint32_t *by_pointer;         /* their numbers */
    size_t cell_count, cell_capacity, order_capacity;
    uint32_t *uses; /* of the sets: number of a cell, and how */
    size_t use_count, use_capacity;
    uint64_t anything_ns; /* when something last may have used anything */
    uint64_t launch_ns;   /* of the last launch; 0 = none */
};

void xfa_given_begin(struct xfa_given *given, const struct xfa_process *process);
void xfa_given_event(struct xfa_given *given, const struct xfa_event *event);
void xfa_given_free(struct xfa_given *given); /* leaves it zeroed */

/* Behind `since`: the last of these words that fits; it is not looked further once one is found
 * that is `enough`. */
enum xfa_used xfa_given_used(const struct xfa_given *given, uint64_t start, uint64_t end,
                             uint64_t since_ns, enum xfa_used enough);

/* A pointer that a launch was given: to do what. */
typedef void xfa_given_use_fn(void *self, uint64_t pointer, enum xfa_used how);

/* Calls `use` for each pointer of a LAUNCH that xfa_given_event() has been passed. False: it is not
 * known what it may use. */
bool xfa_given_uses(const struct xfa_given *given, const struct xfa_event *launch,
                    xfa_given_use_fn *use, void *self);

/* The allocation that an address lies in; NULL: none is known. Until the next event. */
const struct xfa_block *xfa_given_block(const struct xfa_given *given, uint64_t address);

#endif
