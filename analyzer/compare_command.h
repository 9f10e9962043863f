/*
 * xferscope analyze --compare: reads the runs of both sides, one after the other, and reports what
 * changed between them (compare/compare.h).
 */
#ifndef XFA_COMPARE_COMMAND_H
#define XFA_COMPARE_COMMAND_H

#include "analyzer/analyze_options.h"

/* The exit status: enum xfa_status. */
int xfa_compare_command(const struct xfa_analyze_options *options);

#endif
