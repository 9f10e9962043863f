/*
 * One run of the probe. Nearly every function above device/ has the session as its first argument.
 */
#ifndef XFP_SESSION_H
#define XFP_SESSION_H

#include "probe/device/device.h"
#include "probe/probe.h"
#include "xferscope/profile.h"

struct xfp_session {
    struct xfp_system sys; /* the system under measurement; its error is the session's */
    const struct xfp_probe_options *options;
    struct xfp_profile *profile;      /* grows as benchmarks finish */
    uint64_t started_ns, deadline_ns; /* monotonic clock */
    uint64_t give_up_ns;              /* from then on no benchmark begins */
    uint64_t bench_deadline_ns;       /* of a benchmark with a budget of its own */
    uint64_t reserved_ns; /* part of the time limit kept for the benchmarks still to come */
    double budget_scale;  /* the time limit over the usual one */
    size_t points_done, points_planned;
    size_t bench_at, bench_count; /* number of the current one, from 1; of all */
    char absent[240];             /* why the last benchmark does not apply here; "" = it does */
    size_t results; /* paths and other parts that benchmarks have added to the profile */
};

/* The driver and the profile's description of the machine. 0, or -1 with the session's error; to be
 * closed in either case. */
int xfp_session_open(struct xfp_session *s, const struct xfp_probe_options *options);

/* The same where a machine need not have a GPU, nor a driver: then sys.cu is NULL, there is no
 * device, and the session's error says why. */
int xfp_session_open_any(struct xfp_session *s, const struct xfp_probe_options *options);

/* Allocates the pattern that copies move and are compared with, of the largest size. */
int xfp_session_make_pattern(struct xfp_session *s);

/* Adds a warning to the session's profile, each once. */
void xfp_session_warn(void *session, const char *line);

/* Releases everything except the profile. */
void xfp_session_close(struct xfp_session *s);

/* True after SIGINT, SIGTERM or SIGHUP. Results measured so far are kept. */
bool xfp_interrupted(void);

#endif
