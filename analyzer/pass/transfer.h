/*
 * One transfer as observers get it: the call, joined with what the device told of it, in the run's
 * terms. Times are ns of the process's clock; durations NAN where they are not known.
 */
#ifndef XFA_TRANSFER_H
#define XFA_TRANSFER_H

#include "analyzer/pass/class.h"

/* Where a time comes from. */
enum xfa_timed {
    XFA_TIMED_NOT,
    XFA_TIMED_DEVICE, /* device timestamps */
    XFA_TIMED_HOST, /* the host's time in a call that blocks: it may wait for earlier work as well,
                       so that the transfer took at most this */
};

struct xfa_transfer {
    struct xfa_process *process;
    const struct xft_event *event; /* the call */
    uint32_t lane;
    int32_t tid;
    const struct xfa_class *class;
    uint64_t device_start_ns, device_end_ns; /* 0 = not known */
    enum xfa_timed timed;
    double achieved_ns;
    bool blocks;                    /* the call returned when the data was there, or staged */
    double host_ns;                 /* in a call that blocks */
    struct xfp_estimate achievable; /* basis XFP_UNKNOWN: none */
    double submit_ns;               /* host time of submitting it asynchronously */
    double lost_ns;                 /* max(0, achieved - achievable) */
};

#endif
