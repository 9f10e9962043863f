/*
 * Spans of memory, and when they were used last in a schedule: for changes that let copies and
 * kernels wait for their data alone.
 *
 * Copies say exactly what they read and write; spans are cut so that each was used as a whole. A
 * kernel names pointers without lengths. It is taken to use
 *   - the span that begins there or has the pointer in it,
 *   - of those behind, up to the allocation's end, what was copied since any kernel ran: a kernel
 *     that is given the beginning of memory that was filled in pieces,
 *   - what it was taken to use by that pointer before.
 * One whose arguments are not known uses everything.
 *
 * Bounded: beyond XFW_SPANS spans all are forgotten, and everything counts as used until then.
 * Times are ns of the schedule's clock; 0: never. Private to whatif/.
 */
#ifndef XFW_SPANS_H
#define XFW_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFW_SPANS 1024
#define XFW_SPANS_RECENT 512

struct xfw_span {
    uint64_t first, end;
    double written, read, computed; /* until when copies to it, copies from it, kernels used it */
    bool given;                     /* a kernel was given it since it was written */
    uint64_t unknown;               /* kernels of unknown arguments before it was written */
    uint64_t owner;                 /* the pointer by which a kernel was given it; 0 = none */
};

struct xfw_spans {
    struct xfw_span *items; /* apart; XFW_SPANS of them, NULL at first */
    uint16_t *order;        /* their places, by address */
    size_t count;
    uint16_t places[XFW_SPANS_RECENT]; /* where spans were found, by address */
    struct xfw_stretch {
        uint64_t first, end;
    } * allocations; /* by address */
    size_t allocation_count, allocation_capacity;
    double floor;       /* forgotten ones were used until then */
    uint64_t unknown;   /* kernels of unknown arguments so far */
    double unknown_end; /* when the last of them ended */
    double copied_end;  /* copies to the device, of any span */
    double fetched_end; /* copies to the host */
};

void xfw_spans_free(struct xfw_spans *spans);

void xfw_spans_allocated(struct xfw_spans *spans, uint64_t address, uint64_t bytes);
void xfw_spans_freed(struct xfw_spans *spans, uint64_t address);

/* Until when this memory was written (by copies), read (by copies), used by kernels. The last is
 * `otherwise` where none was seen to be given it since it was written. */
double xfw_spans_written(struct xfw_spans *spans, uint64_t address, uint64_t bytes);
double xfw_spans_read(struct xfw_spans *spans, uint64_t address, uint64_t bytes);
double xfw_spans_computed(struct xfw_spans *spans, uint64_t address, uint64_t bytes,
                          double otherwise);
void xfw_spans_note_copy(struct xfw_spans *spans, uint64_t src, uint64_t dst, uint64_t bytes,
                         bool to_host, double end);
/* By work of the device that is no copy of the host's, of exactly this memory. */
void xfw_spans_note_use(struct xfw_spans *spans, uint64_t address, uint64_t bytes, double end);

/* What a kernel uses by a pointer that it is given: until when copies to it, and from it, last. */
struct xfw_given {
    double written, read;
};
struct xfw_given xfw_spans_given(struct xfw_spans *spans, uint64_t pointer);
void xfw_spans_note_kernel(struct xfw_spans *spans, uint64_t pointer, double end);

/* Of a kernel whose arguments are not known. */
struct xfw_given xfw_spans_all(const struct xfw_spans *spans);
void xfw_spans_note_unknown(struct xfw_spans *spans, double end);

#endif
