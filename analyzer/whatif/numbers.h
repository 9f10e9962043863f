/*
 * The numbers, from 0 on, by which ops name a process's threads, streams, events and ranges; and
 * which ranges of a thread are open. Private to whatif/.
 *
 * What is returned lasts until the next one of its sort is asked for.
 */
#ifndef XFW_NUMBERS_H
#define XFW_NUMBERS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/observer.h"
#include "analyzer/whatif/op.h"

#define XFW_OPEN_RANGES 32 /* of a thread; deeper ones are not known by their text */

struct xfw_numbers {
    struct xfa_process *process; /* NULL: none at hand, and nothing to free */
    struct xfa_table threads, streams, events, ranges;
    uint32_t stream_numbers;
};

/* Zero to begin with; the process before is forgotten. */
void xfw_numbers_begin(struct xfw_numbers *numbers, struct xfa_process *process);
void xfw_numbers_free(struct xfw_numbers *numbers);

struct xfw_thread {
    int32_t tid; /* key */
    uint32_t number;
    uint64_t end_ns;          /* of its last call */
    struct xfw_moved fetched; /* since then */
    double fetched_until_ns;
    uint64_t overhead_ns, overhead_until_ns; /* since then, the recorder was at work so long; the
                                                latest end of that */
    uint32_t depth;
    struct xfw_open_range {
        uint64_t domain, id; /* id: 0 = of the thread */
        uint32_t range;
    } open[XFW_OPEN_RANGES];
};
struct xfw_thread *xfw_thread_of(struct xfw_numbers *numbers, int32_t tid);

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
const struct xfw_stream *xfw_stream_of(struct xfw_numbers *numbers, const struct xft_event *event,
                                       int32_t tid);
/* A stream is made: its handle may have been another's. */
void xfw_make_stream(struct xfw_numbers *numbers, const struct xft_event *event);

uint32_t xfw_event_of(struct xfw_numbers *numbers, uint64_t handle);

/* A range of the thread begins, or ends: its number, XFW_NONE where it is not known which ends. */
uint32_t xfw_open_range(struct xfw_numbers *numbers, const struct xfa_step *step);
uint32_t xfw_close_range(struct xfw_numbers *numbers, const struct xfa_step *step);
uint64_t xfw_range_text(const struct xfw_numbers *numbers, uint32_t range); /* id in NAMES, or 0 */

#endif
