#include "analyzer/pass/first_call.h"

/* The call's own part at most: a copy to memory that is new, a page fault of 2.6 to 3.0 us for each
 * 4 KiB (docs/results/page-faults-h200-2026-11-29.md), which is 1.4 GB/s and more; and a call. */
#define BYTES_PER_NS 1
#define CALL_NS 20000u

static bool is_call(unsigned kind)
{
    return xfa_is_of_thread(kind) && !xfa_is_range(kind) && kind != XFT_EVENT_MESSAGE;
}

static bool is_work(unsigned kind)
{
    return kind == XFT_EVENT_TRANSFER || kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET;
}

void xfa_first_call_look(struct xfa_first_call *first, struct xfa_event *event)
{
    if (!is_call(event->kind))
        return;
    bool lasts = is_work(event->kind) && event->end_ns > event->start_ns;
    if (!first->called && lasts) {
        uint64_t own_ns = event->bytes / BYTES_PER_NS + CALL_NS;
        uint64_t ns = event->end_ns - event->start_ns;
        if (ns > own_ns && ns - own_ns > XFA_CONTEXT_NS)
            first->ready_ns = event->end_ns - own_ns;
    }
    first->called = true;
    if (lasts && event->start_ns < first->ready_ns)
        event->start_ns = first->ready_ns < event->end_ns ? first->ready_ns : event->end_ns;
}
