/*
 * One run of the probe: what every benchmark needs at hand, and the first argument of nearly every
 * function above device/. session.c makes it.
 */
#ifndef XFP_SESSION_H
#define XFP_SESSION_H

#include "probe/device/device.h"
#include "probe/probe.h"
#include "xferscope/profile.h"

struct xfp_session {
    struct xfp_system sys; /* what is measured on; its error is the session's */
    const struct xfp_probe_options *options;
    struct xfp_profile *profile;      /* grows as benchmarks finish */
    uint64_t started_ns, deadline_ns; /* monotonic clock */
    uint64_t give_up_ns;              /* nothing is begun any more */
    uint64_t bench_deadline_ns;       /* of a benchmark with a budget of its own */
    uint64_t reserved_ns;             /* of the time limit, for those still to come */
    double budget_scale;              /* the time limit over the usual one */
    size_t points_done, points_planned;
    size_t bench_at, bench_count; /* from 1; how many */
    char absent[240]; /* why the last benchmark has nothing to measure here; "" = it has */
    size_t results;   /* paths and other parts that benchmarks have added to the profile */
};

/* The driver and the profile's description of the machine. 0, or -1 with the session's error; to be
 * closed in either case. */
int xfp_session_open(struct xfp_session *s, const struct xfp_probe_options *options);

/* The memory that data comes from and is compared with, of the largest size. */
int xfp_session_make_pattern(struct xfp_session *s);

/* The system's warnings, each once, into the profile of the session that is passed. */
void xfp_session_warn(void *session, const char *line);

/* Gives back all but the profile. */
void xfp_session_close(struct xfp_session *s);

/* The user asked to stop (SIGINT, SIGTERM, SIGHUP): what was measured is kept. */
bool xfp_interrupted(void);

#endif
