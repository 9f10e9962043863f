/*
 * xferscope probe: measures what this machine's transfers can achieve.
 *
 * Library xfp_probe; docs/probe.md is the manual of the command.
 */
#ifndef XFP_PROBE_H
#define XFP_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "xferscope/profile.h"

/* Exit status of the command. */
enum xfp_probe_status {
    XFP_PROBE_OK = 0,
    XFP_PROBE_FAILED = 1, /* nothing was measured, or the profile could not be written */
    XFP_PROBE_USAGE = 2,
    XFP_PROBE_PARTLY = 3,  /* some benchmarks failed, or the run was interrupted */
    XFP_PROBE_DIFFERS = 4, /* compared profiles differ beyond noise */
};

struct xfp_probe_options {
    const char *filter;            /* extended regular expression on names, NULL: all */
    uint64_t min_bytes, max_bytes; /* sizes: powers of two (four when quick) between them */
    int device;                    /* -1: all */
    double time_limit_s;           /* for the whole sweep; 0: what the benchmarks may need */
    bool quick, quiet, verify;
    bool sized; /* the sizes are the user's: nothing beyond them is measured */
    bool paper; /* by Comm|Scope's rule: each figure for at least a second, five times */
    /* This program can start itself again as `probe ARGUMENT`, for benchmarks that need a process
     * of their own. */
    bool again;
    bool flush; /* flush host memory from the processor's caches before every copy */
    /* file for the profile so far, written every few seconds; NULL: none */
    const char *checkpoint;
    /* profile of an earlier run: its results are kept, not measured again; NULL: none */
    struct xfp_profile *resume;
};

/* The outcome of a run. */
struct xfp_probe_outcome {
    size_t selected, measured;
    size_t failed; /* wholly or in part */
    bool interrupted;
};

/* The subcommand: argv[0] is "probe". Returns an exit status. */
int xfp_probe_command(int argc, char **argv);

/*
 * Measures what options select. Returns the profile (the caller frees it with xfp_free(); it has
 * all figures measured so far, also after an interruption), or NULL with one line in error when the
 * machine has nothing to measure. Benchmarks that fail are named on stderr, one line each.
 */
struct xfp_profile *xfp_probe_run(const struct xfp_probe_options *options,
                                  struct xfp_probe_outcome *outcome, char *error,
                                  size_t error_bytes);

/* The names of the benchmarks that xfp_probe_run() would run, one a line. 0, or -1 with the line.
 */
int xfp_probe_list(const struct xfp_probe_options *options, FILE *out, char *error,
                   size_t error_bytes);

#endif
