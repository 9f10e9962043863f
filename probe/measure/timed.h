/*
 * One repetition, timed on a device's clock: work queued behind the gate, and the time between
 * events.
 */
#ifndef XFP_TIMED_H
#define XFP_TIMED_H

#include "probe/session.h"

/* Whether to use the gate on this GPU: not where it gave up repeatedly. */
bool xfp_gate_usable(const struct xfp_device *d);

/* Work that is queued together, into the device's stream and optionally a second one. */
struct xfp_queued {
    struct xfp_device *device;
    bool gated; /* all of it is submitted before any of it starts */
    xcu_result (*queue)(struct xfp_session *s, void *state);
    void *state;
    xcu_stream other; /* waited for as well; NULL: none */
    const char *what; /* "copying": for the session's error */
};

/* Queues it and waits for its end. 1: the gate timed out, so the times are invalid and the caller
 * repeats it; 0; -1 with the session's error. */
int xfp_run_queued(struct xfp_session *s, const struct xfp_queued *queued);

int xfp_elapsed(struct xfp_session *s, xcu_event from, xcu_event to, double *ns);

/* Queues work into a stream; state has its data. */
typedef xcu_result xfp_queue(struct xfp_session *s, void *state, xcu_stream stream);

/*
 * The device's time, between events, of one piece of work or of two at the same time.
 *
 * prepare (may be NULL) is called before each repetition, when no work is in flight. `first` is
 * queued into the device's stream; `second`, if any, into `other`: both start together, and the
 * time runs until both have ended. gated: all work is submitted before either starts.
 */
struct xfp_timed {
    struct xfp_device *device;
    xcu_stream other;
    int (*prepare)(struct xfp_session *s, void *state);
    xfp_queue *lead; /* may be NULL: queued before the first event, to bring the stream from the
                        gate's engine to that of the first thing */
    xfp_queue *first, *second;
    void *state;
    bool gated;
    double call_ns; /* out: host time of the first thing's call, of the last repetition */
};

/* An xfp_once (sample.h) whose state is a struct xfp_timed; one figure, ns. */
int xfp_once_timed(struct xfp_session *s, void *timed, double *ns);

#endif
