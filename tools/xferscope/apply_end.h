/*
 * What `xferscope apply` says at the end: a line a site, on standard error.
 */
#ifndef XFERSCOPE_APPLY_END_H
#define XFERSCOPE_APPLY_END_H

#include <stdint.h>

#include "preload/apply/told.h"

/* `started_ns`: of the calendar, when the program was started. */
void apply_end(const struct xfs_told *told, uint64_t started_ns);

#endif
