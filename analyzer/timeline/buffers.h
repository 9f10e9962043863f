/*
 * Buffers by the call sites that allocated them, with what was moved to and from them: allocations
 * through CUDA that the trace has, by address while they live. Other memory (malloc's, a stack's)
 * is one buffer for each kind of memory, of no site and no size.
 *
 * Call sites are looked up apart from the run's (run.h): those show the stack that came first, and
 * a report is to be the same whether buffers are watched or not.
 */
#ifndef XFA_TIMELINE_BUFFERS_H
#define XFA_TIMELINE_BUFFERS_H

#include "analyzer/pass/observer.h"
#include "analyzer/sums/blocks.h"

#define XFA_MOST_BUFFERS 4096 /* sites and kinds; further ones have no site */
#define XFA_MOST_STACKS 65536 /* of a process, whose call sites are looked up */
#define XFA_MOST_LIVE (1u << 18)
#define XFA_NO_SITE UINT32_MAX

struct xfa_buffer_key {
    uint32_t site;  /* place in sites; XFA_NO_SITE: none known */
    uint8_t memory; /* enum xft_memory */
    uint8_t reserved[3];
};

struct xfa_buffer {
    struct xfa_buffer_key key;
    uint64_t allocations;
    uint64_t live, most_live; /* bytes at one time */
    uint64_t traffic;         /* bytes in and out */
    uint64_t transfers;       /* and migrations */
};

struct xfa_buffer_site {
    uint64_t identity; /* of the site; the key */
    char *text;
};

struct xfa_buffers {
    struct xfa_table table;   /* struct xfa_buffer */
    struct xfa_blocks blocks; /* of the process at hand; stack is the buffer's place */
    struct xfa_process *process;
    struct xfa_shelf shelf;
    struct xfa_table sites;  /* struct xfa_buffer_site */
    struct xfa_table stacks; /* buffers.c: of the process at hand, their sites */
};

void xfa_buffers_init(struct xfa_buffers *buffers);
void xfa_buffers_free(struct xfa_buffers *buffers);
void xfa_buffers_begin(struct xfa_buffers *buffers, struct xfa_process *process);

/* ALLOC, FREE, REGISTER, UNREGISTER; other events do not concern buffers. */
void xfa_buffers_event(struct xfa_buffers *buffers, const struct xfa_event *event);
void xfa_buffers_transfer(struct xfa_buffers *buffers, const struct xfa_event *event);
void xfa_buffers_migration(struct xfa_buffers *buffers, const struct xfa_event *event);

/* Of a buffer; NULL: not known. */
const char *xfa_buffers_site(const struct xfa_buffers *buffers, const struct xfa_buffer *buffer);

/* Places in the table, most traffic first, then most bytes; the caller frees them. */
uint32_t *xfa_buffers_sorted(const struct xfa_buffers *buffers);

#endif
