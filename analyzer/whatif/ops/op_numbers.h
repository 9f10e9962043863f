/*
 * The numbers, from 0 on, by which ops name a process's threads, streams, events and ranges (all of
 * one name have one). Private to whatif/.
 *
 * What is returned lasts until the next one of its sort is asked for.
 */
#ifndef XFW_OP_NUMBERS_H
#define XFW_OP_NUMBERS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"
#include "analyzer/whatif/op/op.h"
#include "analyzer/whatif/op/recording_cost.h"
#include "analyzer/whatif/ops/paces.h"

#define XFW_ASKED 64 /* a power of two */

struct xfw_numbers {
    struct xfa_process *process; /* NULL: none at hand, and nothing to free */
    struct xfa_table threads, streams, events, ranges;
    struct xfw_asked { /* what was asked for of late: the places in these tables + 1 */
        uint64_t key;
        uint32_t at;
    } asked_threads[XFW_ASKED], asked_streams[XFW_ASKED];
    uint32_t stream_numbers;
    struct xfw_windows windows; /* of threads without calls */
};

/* Zero to begin with; the process before is forgotten. */
void xfw_numbers_begin(struct xfw_numbers *numbers, struct xfa_process *process);
void xfw_numbers_free(struct xfw_numbers *numbers);

struct xfw_thread {
    int32_t tid; /* key */
    uint32_t number;
    uint64_t end_ns; /* of its last call */
    bool ended;      /* which is its last one in the trace */
    uint64_t calls;  /* so far */
    enum xfw_behind behind;
    struct xfw_moved fetched; /* since then */
    double fetched_from_ns, fetched_until_ns;
    uint64_t overhead_ns, overhead_until_ns; /* since then, the recorder was at work so long; the
                                                latest end of that */
    uint64_t opening_ns;                     /* of overhead_ns: until recording had begun */
    uint64_t hash_ns, hashed_ns; /* hashes took so long, behind a call that is still to come; the
                                    start of the last of these transfers */
    uint64_t worked_ns;          /* before its first call, of the processor's time; 0: not known */
    struct xfw_pace pace;        /* how it sleeps */
};
struct xfw_thread *xfw_thread_of(struct xfw_numbers *numbers, int32_t tid);

/* It makes this call: the end of the one before. */
static inline uint64_t xfw_thread_calls(struct xfw_thread *thread, const struct xfa_event *event)
{
    const uint64_t before_ns = thread->end_ns;
    thread->end_ns = event->end_ns > before_ns ? event->end_ns : before_ns;
    if (thread->end_ns > before_ns)
        xfw_pace_rates_call(&thread->pace.rates,
                            event->start_ns > before_ns ? event->start_ns : before_ns,
                            thread->end_ns);
    thread->ended = event->last;
    thread->calls++;
    return before_ns;
}

struct xfw_stream {
    struct xfw_stream_key {
        uint64_t handle; /* 0: the default stream, of the GPU or of the thread */
        int32_t tid, gpu;
    } key;
    uint32_t number;
    int32_t gpu;  /* -1: not known */
    uint8_t kind; /* enum xfw_stream_kind */
};
/* The one that a call of this thread was given. */
const struct xfw_stream *xfw_stream_of(struct xfw_numbers *numbers, const struct xfa_event *event);
/* A stream is made: its handle may have been another's. */
void xfw_make_stream(struct xfw_numbers *numbers, const struct xfa_event *event);

uint32_t xfw_event_of(struct xfw_numbers *numbers, uint64_t handle);

/* The number of a range's name; NULL: XFW_NONE. */
uint32_t xfw_range_of(struct xfw_numbers *numbers, const struct xfa_range *range);
/* The name: an id in NAMES, 0 = none. False: there is no such number. */
bool xfw_range_name(const struct xfw_numbers *numbers, uint32_t number, uint64_t *name);

#endif
