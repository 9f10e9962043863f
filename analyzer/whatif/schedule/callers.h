/*
 * Threads in the driver, which lets in one at a time: calls that may wait for each other, and what
 * such calls take alone. For the finding driver-contention, the change that undoes it, and
 * eased.h. Private to whatif/ and findings/.
 */
#ifndef XFW_CALLERS_H
#define XFW_CALLERS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"
#include "analyzer/whatif/op/op.h"
#include "xferscope/trace.h"

/*
 * The threads of a process that are in the driver, as recorded, in the order of calls. Observers
 * hand over events, changes ops. Zeroed at first.
 */
#define XFW_CALLERS 64 /* threads at a time: those whose last calls ended last */
#define XFW_KINDS 32   /* of events: enum xft_event_kind */
struct xfw_call {
    int32_t tid;
    uint8_t kind;  /* enum xft_event_kind */
    uint64_t name; /* of a launch's kernel; 0: not known */
    double start_ns, end_ns;
    double ns;     /* of the call: without what does not count (the recorder's part) */
    bool submits;  /* it gives work to a device, and waits for none */
    bool captured; /* into a graph: that is no measure of others */
};
struct xfw_callers {
    struct xfw_caller { /* the last call of a thread */
        int32_t tid;
        uint8_t kind;
        bool holds; /* others may wait for it */
        bool loads; /* it is the first launch of a kernel, and loads it */
        double start_ns, end_ns;
        double gap_ns; /* the thread's own time before it */
    } items[XFW_CALLERS];
    unsigned count;
    const struct xfw_caller *last; /* whose call was added last; NULL: there was no room */
    struct xfa_table names;        /* of kernels that were launched */
    bool named;                    /* there is one */
};
void xfw_callers_free(struct xfw_callers *callers);

/* Calls that are followed, in addition to transfers. */
#define XFW_CALLERS_KINDS                                                                          \
    (XFA_KIND(XFT_EVENT_LAUNCH) | XFA_KIND(XFT_EVENT_GRAPH_LAUNCH) | XFA_KIND(XFT_EVENT_SET) |     \
     XFA_KIND(XFT_EVENT_RECORD) | XFA_KIND(XFT_EVENT_WAIT) | XFA_KIND(XFT_EVENT_HOST_FUNCTION) |   \
     XFA_KIND(XFT_EVENT_ALLOC) | XFA_KIND(XFT_EVENT_FREE) | XFA_KIND(XFT_EVENT_REGISTER) |         \
     XFA_KIND(XFT_EVENT_UNREGISTER) | XFA_KIND(XFT_EVENT_SYNC) | XFA_KIND(XFT_EVENT_QUERY))
/* Does a call of this kind (no transfer) submit work and wait for none; has one that does not the
 * driver to itself? */
static inline bool xfw_submits(unsigned kind)
{
    return kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET || kind == XFT_EVENT_RECORD ||
           kind == XFT_EVENT_WAIT || kind == XFT_EVENT_HOST_FUNCTION;
}
static inline bool xfw_holds(unsigned kind)
{
    return kind == XFT_EVENT_GRAPH_LAUNCH || kind == XFT_EVENT_ALLOC || kind == XFT_EVENT_FREE ||
           kind == XFT_EVENT_REGISTER || kind == XFT_EVENT_UNREGISTER;
}

/* The same of an op; does its call wait for the copy that it submits; and is it a call of CUDA? */
static inline bool xfw_op_waits_for_copy(const struct xfw_op *op)
{
    return op->what == XFW_COPY && op->awaits != XFW_AWAITS_NOTHING;
}
/* For how long its thread is in the call, without work that was there before. */
static inline double xfw_op_called_ns(const struct xfw_op *op)
{
    return xfw_op_waits_for_copy(op) ? op->own_ns + xfw_op_took(op) : op->own_ns;
}
static inline bool xfw_op_submits(const struct xfw_op *op)
{
    return op->what == XFW_COPY ? op->awaits == XFW_AWAITS_NOTHING : xfw_submits(op->kind);
}
/* Its call has the driver to itself: others may wait for it. */
static inline bool xfw_op_holds(const struct xfw_op *op)
{
    return xfw_op_submits(op) || xfw_op_waits_for_copy(op) || xfw_holds(op->kind);
}
static inline bool xfw_op_is_call(const struct xfw_op *op)
{
    return op->what != XFW_RANGE && op->what != XFW_MESSAGE && op->what != XFW_MEETING &&
           op->kind != XFT_EVENT_CONTEXT;
}

/* Of another thread, under way when this call is made, that it may wait for: of several the one
 * that ends last. NULL: there is none. */
const struct xfw_caller *xfw_callers_add(struct xfw_callers *callers, const struct xfw_call *call);
/* The next op of the process, as recorded: what is under way goes into op->under_way, none where
 * the call, or the one that it would wait for, is a first launch that loads its kernel; the place
 * of its own thread into op->caller. */
void xfw_callers_meet(struct xfw_callers *callers, struct xfw_op *op);
/* What a call of another thread that begins at start_ns waits for, ns: as long as this one takes
 * alone, and its thread's own time before it, as far as that is shorter: of one thread that makes
 * both; where it is not known what it takes alone (INFINITY), until it is done. 0: it is not under
 * way, or holds up nobody. */
double xfw_caller_rest_ns(const struct xfw_caller *caller, double start_ns, double alone_ns);
/* A thread's last call; NULL: none. */
const struct xfw_caller *xfw_callers_of(struct xfw_callers *callers, int32_t tid);

/*
 * What calls that submit work take alone, of one process: the median of those of a kind (all
 * transfers are one) during which no other thread had a call; where these are fewer than 16, the
 * time of the quickest tenth of all.
 */
struct xfw_call_times;
struct xfw_call_times *xfw_call_times_new(void);
void xfw_call_times_free(struct xfw_call_times *times); /* NULL is allowed */
/* The next call, in the order of calls. The result: as xfw_callers_add(). */
const struct xfw_caller *xfw_call_times_add(struct xfw_call_times *times,
                                            const struct xfw_call *call);
/* There are no more: what calls of each of XFW_KINDS take, ns, INFINITY: not known; to be freed.
 * NULL: one thread has made them. */
double *xfw_call_times_end(struct xfw_call_times *times);

#endif
