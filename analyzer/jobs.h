/*
 * `xferscope analyze --jobs`: by how many processes of this machine a run is analyzed
 * (base/forked_team.h).
 */
#ifndef XFA_JOBS_H
#define XFA_JOBS_H

#include <stddef.h>
#include <stdint.h>

#include "analyzer/analyze_options.h"

struct xfa_jobs_work {
    uint64_t files, bytes; /* of traces */
    uint64_t processors;   /* that this process may use */
    uint64_t available;    /* bytes of memory */
};
/* Of runs by their names, as the user gave them, on this machine as it is now. */
struct xfa_jobs_work xfa_jobs_work(const char *const *traces, size_t count);
/* By how many processes that is analyzed fastest; 1: alone. */
uint32_t xfa_jobs_members(const struct xfa_jobs_work *work);

/* Makes the team, if it is not to be done alone: from here on there are as many processes. Each has
 * its part of what the options say of memory. */
void xfa_jobs_begin(struct xfa_analyze_options *options);

#endif
