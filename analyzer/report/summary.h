/*
 * A run in a few lines, for the end of `xferscope record`: the time of transfers, and the worst
 * finding with its saving. Each line is one sentence without a prefix.
 */
#ifndef XFA_SUMMARY_H
#define XFA_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Limits on the number of events, so that each step takes about two seconds of one core
 * (docs/record.md). */
#define XFA_SUMMARY_WEIGHED 200000u /* more: savings are not computed */
#define XFA_SUMMARY_READ 3000000u   /* more: the run is not read */

struct xfa_summary_request {
    const char *run;          /* path */
    const char *profile;      /* path; NULL: there is none */
    const char *make_profile; /* half a sentence: how to make one */
    uint64_t events;
};

/* False: nothing could be read. */
bool xfa_summarize(const struct xfa_summary_request *request, FILE *out);

#endif
