/*
 * What recording itself cost the program's threads, as its processes told (docs/trace-format.md):
 * of each kind of call the median of those timed, times the calls. CUPTI's own part is not in it.
 */
#ifndef XFA_RECORDING_H
#define XFA_RECORDING_H

#include "analyzer/pass/pass.h"

/* Over the processes that told a figure for this kind. */
struct xfa_recording_kind {
    uint64_t samples, calls;
    double ns; /* per call: the median; of several processes by their calls. NAN without calls */
    double took_ns;
};

struct xfa_recording {
    struct xfa_recording_kind kinds[XFA_EVENT_KINDS]; /* by enum xft_event_kind */
    bool told;                                        /* any process told any */
    double took_ns;                                   /* of all kinds, threads added up */
    double once_ns;      /* besides: what is not done at every call, as it was told (OVERHEAD) */
    double processes_ns; /* how long the processes that told ran, added up; NAN = not known */
};

struct xfa_recording xfa_recording_of(const struct xfa_run *run, const struct xfa_pass *pass);

#endif
