#include "analyzer/pass/first_call.h"

/* To make a context takes at least so much (a guess): 143 ms were measured on an H100
 * (docs/results/apply-within-h100-2026-11-28.md), 236 with the modules on an H200. */
#define CONTEXT_NS 50000000u
/* The call's own part at most: a copy of pageable memory that is new, so that its pages come first,
 * 1 GB/s (a guess: 2 to 3 were measured, docs/results/page-faults-h200-2026-11-29.md), and a call.
 */
#define BYTES_PER_NS 1
#define CALL_NS 20000u

/* Of the device alone; or made to say something about a call. */
static bool is_call(unsigned kind)
{
    switch (kind) {
    case XFT_EVENT_DEVICE_COPY:
    case XFT_EVENT_KERNEL:
    case XFT_EVENT_MEMSET:
    case XFT_EVENT_MIGRATION:
    case XFT_EVENT_FAULT:
    case XFT_EVENT_RANGE_BEGIN:
    case XFT_EVENT_RANGE_END:
    case XFT_EVENT_CONTENT:
    case XFT_EVENT_HOST_ACCESS:
    case XFT_EVENT_RECORDS:
    case XFT_EVENT_OVERHEAD:
    case XFT_EVENT_MESSAGE:
    case XFT_EVENT_MESSAGE_END:
    case XFT_EVENT_COMMUNICATOR:
        return false;
    default:
        return true;
    }
}

static bool is_work(unsigned kind)
{
    return kind == XFT_EVENT_TRANSFER || kind == XFT_EVENT_LAUNCH || kind == XFT_EVENT_SET;
}

void xfa_first_call_take(struct xfa_first_call *first, struct xfa_event *event)
{
    if (!is_call(event->kind) || (first->called && event->start_ns >= first->ready_ns))
        return;
    if (!first->called && is_work(event->kind) && event->end_ns > event->start_ns) {
        uint64_t own_ns = event->bytes / BYTES_PER_NS + CALL_NS;
        uint64_t ns = event->end_ns - event->start_ns;
        if (ns > own_ns && ns - own_ns > CONTEXT_NS)
            first->ready_ns = event->end_ns - own_ns;
    }
    first->called = true;
    if (is_work(event->kind) && event->start_ns < first->ready_ns &&
        event->end_ns > event->start_ns)
        event->start_ns = first->ready_ns < event->end_ns ? first->ready_ns : event->end_ns;
}
