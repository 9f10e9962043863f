/*
 * Memory of a process that is there, by address: what is allocated and page-locked, of which kind,
 * by which site; and what of it a kernel was given. For observers, which hand over events, and for
 * changes, which hand over ops.
 */
#ifndef XFW_MEMORIES_H
#define XFW_MEMORIES_H

#include "analyzer/pass/observer.h"
#include "analyzer/sums/blocks.h"
#include "analyzer/whatif/op.h"

#define XFW_MEMORIES_KINDS                                                                         \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_REGISTER) |         \
     XFA_KIND(XFT_EVENT_UNREGISTER))

/* Zeroed at first. */
struct xfw_memories {
    struct xfa_blocks blocks;
};
void xfw_memories_free(struct xfw_memories *memories);

/* Others than those kinds are left alone. by: of events the stack, of ops the site. */
void xfw_memories_event(struct xfw_memories *memories, const struct xfa_event *event);
void xfw_memories_op(struct xfw_memories *memories, const struct xfw_op *op);

struct xfw_memory {
    uint64_t first, end;
    enum xft_memory kind;
    uint32_t by; /* XFW_NO_SITE: not known */
};
#define XFW_NO_SITE 0xffffffu

/* False: none is known there. */
bool xfw_memories_find(const struct xfw_memories *memories, uint64_t address,
                       struct xfw_memory *memory);

/* The k-th pointer that a launch was given. False: there are no more, or nobody knows. */
bool xfw_given(const struct xfa_process *process, uint64_t arguments, uint32_t k,
               uint64_t *pointer);

/* Does the kernel write through that pointer? */
enum xfw_writes { XFW_READS, XFW_MAY_WRITE, XFW_WRITES };
enum xfw_writes xfw_writes(const struct xfa_process *process, uint64_t name, uint64_t arguments,
                           uint32_t k);

#endif
