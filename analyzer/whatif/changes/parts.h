/*
 * Parts of the work that a stream was given, one behind the other: copies to the device, kernels,
 * copies to the host. Of a thread that works in several streams by turns each has a part. Private
 * to changes/.
 */
#ifndef XFW_PARTS_H
#define XFW_PARTS_H

#include "analyzer/whatif/changes/more_buffers.h"
#include "analyzer/whatif/changes/overlap.h"

#define XFW_PARTS 16 /* whose ends are remembered: more than XFW_MOST_STREAMS */

struct xfw_parts {        /* of a stream; zeroed at first */
    uint32_t thread;      /* that gave it work last */
    bool given;           /* any */
    bool shared;          /* by several threads */
    bool tail, no_tails;  /* a kernel belongs to the part behind whose results it is; such do not */
    enum xfw_stage first; /* what the part at hand began with */
    bool fetches;         /* the part at hand began with a copy to the host */
    bool waited;          /* the host has waited for it (of streams that read the host's memory) */
    enum xfw_stage stage; /* of the part at hand */
    uint64_t part;        /* from 1 on; 0: none has begun */
    uint64_t begun;       /* which one of its thread's parts that is */
    uint64_t turns; /* how many of these before the stream had its last one; 0: none has begun */
    double ends[XFW_PARTS];      /* a ring */
    double filled[XFW_PARTS];    /* of their copies to the device; 0: they have none */
    struct xfw_more_run runs[2]; /* its copies, by direction */
};

/* A thread gives it work. */
void xfw_parts_give(struct xfw_parts *parts, uint32_t thread);

/* of_thread: how many parts its thread has begun. Returns the part. */
uint64_t xfw_parts_begin(struct xfw_parts *parts, uint64_t *of_thread);

/* The part that work of this stage belongs to, which may begin with it. A memset (neutral) begins
 * no part, nor does a kernel of the device's own behind a part's copies to the host. */
uint64_t xfw_parts_of(struct xfw_parts *parts, uint64_t *of_thread, enum xfw_stage stage,
                      bool neutral);

/* When the part that is `before` parts back was done. */
double xfw_parts_end(const struct xfw_parts *parts, uint64_t part, unsigned before);

/* Of so many that its thread has in flight the stream's share; and how many of the stream that are:
 * one at least. */
double xfw_parts_share(const struct xfw_parts *parts, unsigned buffers);
unsigned xfw_parts_in_flight(const struct xfw_parts *parts, unsigned buffers);

/* How many parts back the host waits for, which uses the data of the last part but buffers - 1 of
 * its thread's; 0: for the one at hand. */
unsigned xfw_parts_behind(const struct xfw_parts *parts, uint64_t of_thread, unsigned buffers);

/* All of them are so much later. */
void xfw_parts_later(struct xfw_parts *parts, double ns);

#endif
