/*
 * What `xferscope apply` says at the end: a line a site, on standard error.
 */
#ifndef XFERSCOPE_APPLY_END_H
#define XFERSCOPE_APPLY_END_H

#include <stdint.h>

#include "tools/xferscope/given_plan.h"

/* `started_ns`: of the calendar, when the program was started. plan: that was carried out; NULL:
 * none. */
void apply_end(const struct xfs_report *report, uint64_t started_ns,
               const struct xfa_apply_plan *plan);

#endif
