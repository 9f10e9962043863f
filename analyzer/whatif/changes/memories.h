/*
 * A process's memory by address, and what kernels are given of it: for findings, which hand over
 * events, and for changes, which hand over ops.
 */
#ifndef XFW_MEMORIES_H
#define XFW_MEMORIES_H

#include "analyzer/base/signature.h"
#include "analyzer/pass/observer.h"
#include "analyzer/sums/blocks.h"
#include "analyzer/whatif/op/op.h"

/* What is allocated and page-locked, of which kind, by which site. Zeroed at first. */
struct xfw_memories {
    struct xfa_blocks blocks;
};
#define XFW_MEMORIES_KINDS                                                                         \
    (XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_REGISTER) |         \
     XFA_KIND(XFT_EVENT_UNREGISTER))
void xfw_memories_free(struct xfw_memories *memories);

/* Other kinds of events and ops are ignored. */
void xfw_memories_event(struct xfw_memories *memories, const struct xfa_event *event);
void xfw_memories_op(struct xfw_memories *memories, const struct xfw_op *op);

struct xfw_memory {
    uint64_t first, end;
    enum xft_memory kind;
    uint32_t by; /* of events the stack, of ops the site; XFW_NO_SITE: not known */
};
#define XFW_NO_SITE 0xffffffu
/* False: no memory is known there. */
bool xfw_memories_find(const struct xfw_memories *memories, uint64_t address,
                       struct xfw_memory *memory);

/* The k-th pointer that a launch was given. False: there are no more, or it is not known. */
bool xfw_launch_pointer(const struct xfa_process *process, uint64_t arguments, uint32_t k,
                        uint64_t *pointer);

/* Does the kernel write through that pointer? */
enum xfw_writes { XFW_READS, XFW_MAY_WRITE, XFW_WRITES };
enum xfw_writes xfw_writes(const struct xfa_process *process, uint64_t name, uint64_t arguments,
                           uint32_t k);

/* Is a kernel given memory of the host, or managed memory, of those in `memories`? */
enum xfw_given_host { XFW_GIVEN_NONE, XFW_GIVEN_UNKNOWN, XFW_GIVEN_HOST };
enum xfw_given_host xfw_given_host(const struct xfw_memories *memories,
                                   const struct xfa_process *process, uint64_t arguments);

#define XFW_SIGNATURES_H

#include "analyzer/base/signature.h"
#include "analyzer/whatif/changes/changes.h"

#define XFW_SIGNATURES 64 /* a power of two */

/* For who asks that of launch after launch: names of one process are looked at once, as long as no
 * other one takes their place. Zeroed at first. */
struct xfw_signatures {
    struct {
        uint64_t name; /* id in NAMES; 0: none yet */
        struct xfa_signature signature;
    } of[XFW_SIGNATURES];
};

/* Of a kernel that was given so many pointers: xfw_writes() of the k-th. */
enum xfw_writes xfw_signatures_ask(struct xfw_signatures *signatures,
                                   const struct xfa_process *process, uint64_t name,
                                   uint32_t pointers, uint32_t k);

#endif
