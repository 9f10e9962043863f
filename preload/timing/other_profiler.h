/*
 * Other profilers' way to CUPTI: cuptiSubscribe and its second version are exported by this library
 * and answered by dlsym, so that device timing can give way before they are served.
 */
#ifndef XFS_OTHER_PROFILER_H
#define XFS_OTHER_PROFILER_H

int cuptiSubscribe(void **subscriber, void (*callback)(void), void *user);
int cuptiSubscribe_v2(void **subscriber, void (*callback)(void), void *user, void *parameters);

/* What the loader found under these names. */
void xfs_found_cuptiSubscribe(void *real);
void xfs_found_cuptiSubscribe_v2(void *real);

#endif
