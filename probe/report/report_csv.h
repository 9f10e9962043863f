/*
 * A profile as CSV: a row per figure, of every part of the profile. docs/probe.md, "CSV", explains
 * the columns; a cell is empty where it does not apply or was not measured.
 */
#ifndef XFP_REPORT_CSV_H
#define XFP_REPORT_CSV_H

#include <stdio.h>

#include "xferscope/profile.h"

/* 0, or -1 on a write error. */
int xfp_print_csv(const struct xfp_profile *profile, FILE *out);

#endif
