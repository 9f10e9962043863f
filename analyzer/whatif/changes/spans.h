/*
 * Spans of memory, and when they were used last in a schedule: for changes that let copies and
 * kernels wait only for their data.
 *
 * Copies name exactly what they read and write; spans are cut so that each was used as a whole. A
 * kernel names pointers without lengths. It is taken to use
 *
 *   - the span that has the pointer in it,
 *   - of those behind, up to the allocation's end, what was copied since any kernel ran: a kernel
 *     that is given the start of memory that was filled in pieces,
 *   - what it was taken to use by that pointer before.
 *
 * A kernel whose arguments are not known uses everything.
 *
 * Bounded: beyond XFW_SPANS spans all are forgotten, and everything counts as used until then.
 * Times are ns of the schedule's clock; 0: never. Private to changes/.
 */
#ifndef XFW_SPANS_H
#define XFW_SPANS_H

#include "analyzer/whatif/schedule/change.h"

#define XFW_SPANS 1024
#define XFW_SPANS_RECENT 512
#define XFW_SPANS_POINTERS 16 /* a power of two */

struct xfw_span {
    uint64_t first, end;
    double written, read, computed; /* until when copies to it, copies from it, kernels used it */
    bool given;                     /* a kernel was given it since it was written */
    uint64_t unknown;               /* kernels of unknown arguments before it was written */
    uint64_t owner;                 /* the pointer by which a kernel was given it; 0 = none */
};

struct xfw_spans {
    struct xfw_span *items; /* disjoint; XFW_SPANS of them, NULL at first */
    uint16_t *order;        /* their places, by address */
    uint64_t *ends;         /* their ends, by address: side by side, as they are searched */
    size_t count;
    uint64_t changes; /* spans inserted, or forgotten, so far */
    struct xfw_spans_place {
        uint64_t changes, end;  /* then; of the memory */
        uint16_t first, count;  /* in the order */
        uint16_t item;          /* of the first one */
    } places[XFW_SPANS_RECENT]; /* where memory was found last, by address */
    struct xfw_allocation {
        uint64_t first, end;
    } * allocations; /* by address */
    size_t allocation_count, allocation_capacity;
    uint64_t allocation_changes; /* made and freed, so far */
    struct xfw_spans_behind {    /* a pointer of a kernel: it is asked for before and behind it */
        uint64_t pointer, changes, allocation_changes; /* then */
        uint64_t end;                                  /* of the pointer's allocation */
        size_t at;                /* the first span in order that ends behind the pointer */
    } behind[XFW_SPANS_POINTERS]; /* those that were asked for last */
    double floor;                 /* until when forgotten ones were used */
    uint64_t unknown;             /* kernels of unknown arguments so far */
    double unknown_end;           /* when the last of them ended */
    double copied_end;            /* copies to the device, of any span */
    double fetched_end;           /* copies to the host */
};

void xfw_spans_free(struct xfw_spans *spans);

void xfw_spans_allocated(struct xfw_spans *spans, uint64_t address, uint64_t bytes);
/* Bytes of the allocation that begins there; 0: none is known. */
uint64_t xfw_spans_allocation(const struct xfw_spans *spans, uint64_t address);
void xfw_spans_freed(struct xfw_spans *spans, uint64_t address);

/* Until when this memory was written (by copies), read (by copies), used by kernels. The last is
 * `otherwise` where none was seen to be given it since it was written. */
double xfw_spans_written(struct xfw_spans *spans, uint64_t address, uint64_t bytes);
double xfw_spans_read(struct xfw_spans *spans, uint64_t address, uint64_t bytes);
/* Until when a message that begins has to wait for copies: what it sends is written, where it
 * arrives is neither written nor read. 0 of other ops. */
double xfw_spans_message(struct xfw_spans *spans, const struct xfw_op *op);
double xfw_spans_computed(struct xfw_spans *spans, uint64_t address, uint64_t bytes,
                          double otherwise);

/* ---- what ops use ---------------------------------------------------------------------------- */

struct xfw_used {
    uint8_t what, engine; /* enum xfw_what, enum xfw_engine */
    uint64_t src, dst, bytes;
    const struct xfa_arguments *arguments; /* of a kernel; NULL: not known */
};
struct xfw_used xfw_used_by(const struct xfa_process *process, const struct xfw_op *op);

static inline bool xfw_is_copy_with_host(unsigned what, unsigned engine)
{
    return what == XFW_COPY && (engine == XFW_TO_DEVICE || engine == XFW_TO_HOST);
}

/* Until when copies to (written), and from (read), what the work uses last. */
struct xfw_copied {
    double written, read;
};
struct xfw_copied xfw_spans_needs(struct xfw_spans *spans, const struct xfw_used *used);
/* The work ends at `end`. */
void xfw_spans_note(struct xfw_spans *spans, const struct xfw_used *used, double end);

#endif
