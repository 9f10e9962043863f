/*
 * A run in a few lines, for the end of `xferscope record`: what copying cost, and the worst finding
 * with what it would save. Each line is one sentence without a prefix.
 */
#ifndef XFA_SUMMARY_H
#define XFA_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What is done of the work, by the events that there are: about two seconds of one core's time each
 * (docs/record.md). */
#define XFA_SUMMARY_WEIGHED 200000u /* events, up to which savings are reckoned */
#define XFA_SUMMARY_READ 3000000u   /* up to which the run is read at all */

struct xfa_summary_request {
    const char *run;          /* as it is to be opened */
    const char *profile;      /* path; NULL: there is none */
    const char *make_profile; /* half a sentence: how to come by one */
    uint64_t events;
};

/* False: nothing could be read. */
bool xfa_summarize(const struct xfa_summary_request *request, FILE *out);

#endif
