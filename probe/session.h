/*
 * One run of the probe: what every benchmark needs at hand. Made by probe_run.c.
 */
#ifndef XFP_SESSION_H
#define XFP_SESSION_H

#include <sched.h>

#include "device/driver.h"
#include "device/kernels.h"
#include "probe.h"
#include "xferscope/profile.h"

#define XFP_MOST_IN_BATCH 16 /* copies queued behind one gate */

/* A GPU that is in use: its primary context, one stream, events, the gate. */
struct xfp_device {
    int ordinal;
    xcu_device handle;
    xcu_context context; /* NULL: not opened yet */
    xcu_stream stream;
    xcu_event events[2 * XFP_MOST_IN_BATCH];
    void *module, *kernels[XFP_KERNEL_COUNT];
    volatile uint32_t *gate; /* XFP_GATE_WORDS, mapped; NULL: no gate on this GPU */
    xcu_deviceptr gate_address;
    int gave_up; /* gates that had to give up */
};

struct xfp_session {
    const struct xfp_driver *cu;
    const struct xfp_probe_options *options;
    struct xfp_profile *profile; /* grows as benchmarks finish */
    size_t device_count;
    struct xfp_device *devices;
    int numa_count, *numa_nodes;      /* nodes with memory and a processor this process may use */
    cpu_set_t affinity;               /* as the process was started */
    unsigned char *pattern;           /* what sources hold: most_bytes of it */
    unsigned char *check;             /* where results are looked at */
    size_t most_bytes;                /* largest size asked for */
    uint64_t started_ns, deadline_ns; /* monotonic clock */
    uint64_t give_up_ns;              /* nothing is begun any more */
    uint64_t bench_deadline_ns;       /* of a benchmark with a budget of its own */
    uint64_t reserved_ns;             /* of the time limit, for those still to come */
    double budget_scale;              /* the time limit over the usual one */
    size_t points_done, points_planned;
    size_t bench_at, bench_count; /* from 1; how many */
    uint64_t checkpoint_ns;       /* when the profile was last kept, 0: not yet */
    bool checkpoint_failed;
    size_t results;   /* paths and other parts that benchmarks have added to the profile */
    char error[240];  /* why the current benchmark failed */
    char notice[240]; /* what it could not measure, although it did not fail; "" = nothing */
};

/* Sets the session's error line; returns -1. */
int xfp_fail(struct xfp_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* xfp_fail() of a driver call that returned result, 0 when it succeeded. */
int xfp_check(struct xfp_session *s, xcu_result result, const char *what);

/* Adds a line to the profile's warnings, once. */
void xfp_warn(struct xfp_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The wall clock, in ns, whatever the GPU's clock is: what the time limit counts. */
uint64_t xfp_wall_ns(void);

/* The user asked to stop (SIGINT, SIGTERM, SIGHUP): what was measured is kept. */
bool xfp_interrupted(void);

/*
 * Devices. Opening makes the primary context current and is repeated at no cost; a device without
 * usable kernels opens too, with gate NULL and a warning.
 */
int xfp_device_open(struct xfp_session *s, struct xfp_device *d);
void xfp_device_close(struct xfp_session *s, struct xfp_device *d);

/*
 * The gate: close it, queue work on d->stream, open it, synchronise, then ask whether it held
 * until it was opened. When it did not, the host blocked while submitting, and the times mean
 * nothing. Whoever closed a gate opens it on every way out.
 */
int xfp_gate_close(struct xfp_session *s, struct xfp_device *d);
void xfp_gate_open(struct xfp_device *d);
bool xfp_gate_held(struct xfp_device *d);

#endif
