/*
 * Other profilers' way to CUPTI: cuptiSubscribe and its second version are exported by this library
 * and answered by dlsym, so that device timing can give way before they are served.
 */
#ifndef XFS_PEER_H
#define XFS_PEER_H

#include <stdbool.h>

/* Is it one of the two names? */
bool xfs_peer_name(const char *name);

/* What to hand out for such a name, when the loader found `real` for it. */
void *xfs_peer_function(const char *name, void *real);

#endif
