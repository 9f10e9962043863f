/*
 * libc's own dlsym, under this library's hook (lookup/dlsym.S).
 */
#ifndef XFS_REAL_DLSYM_H
#define XFS_REAL_DLSYM_H

void *xfs_real_dlsym(void *handle, const char *name);

/* The same for a name that may be missing: that leaves no message for the program's dlerror(). */
void *xfs_try_dlsym(void *handle, const char *name);

/* Its address; found by xfs_real_dlsym() or, before, by xfs_find_real_dlsym(). */
extern void *_Atomic xfs_dlsym_address;
void xfs_find_real_dlsym(void);

#endif
