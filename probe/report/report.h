/*
 * A measured profile for people (text) and for spreadsheets (CSV); JSON is the profile itself.
 */
#ifndef XFP_REPORT_H
#define XFP_REPORT_H

#include <stdio.h>

#include "xferscope/profile.h"

/* A format of `--format`: its word and its printer (0, or -1 on a write error). */
struct xfp_report_format {
    const char *word;
    int (*print)(const struct xfp_profile *profile, FILE *out);
};

/* The format of that word, NULL when there is none. */
const struct xfp_report_format *xfp_report_format(const char *word);

#endif
