/*
 * cuptiSubscribe and its second version are exported by this library and returned by dlsym, so that
 * device timing can unsubscribe before another profiler subscribes.
 */
#ifndef XFS_OTHER_PROFILER_H
#define XFS_OTHER_PROFILER_H

int cuptiSubscribe(void **subscriber, void (*callback)(void), void *user);
int cuptiSubscribe_v2(void **subscriber, void (*callback)(void), void *user, void *parameters);

/* Set the real functions, as dlsym found them. */
void xfs_found_cuptiSubscribe(void *real);
void xfs_found_cuptiSubscribe_v2(void *real);

#endif
