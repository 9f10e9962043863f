/*
 * Other profilers' way to CUPTI: cuptiSubscribe and its second version are exported by this library
 * and answered by dlsym, so that device timing can give way before they are served.
 */
#ifndef XFS_OTHER_PROFILER_H
#define XFS_OTHER_PROFILER_H

#include <stdbool.h>

/* Is it one of the two names? */
bool xfs_other_profiler_name(const char *name);

/* What to hand out for such a name, when the loader found `real` for it. */
void *xfs_other_profiler_function(const char *name, void *real);

#endif
