/*
 * Records the programs that a recorded process starts. Programs that build a new environment for
 * their children drop LD_PRELOAD and the recorder's settings; these are added again, as they were
 * when this process started, unless the new environment has them.
 *
 * Only in a process that was itself started with the library in LD_PRELOAD, with recording on and
 * XFERSCOPE_FOLLOW=1 (the default). Unchanged are environments with XFERSCOPE_ENABLE=0 or
 * XFERSCOPE_FOLLOW=0, environments for which there is no memory, and those of children that could
 * not load the library because its path is not valid for them (chroot, another mount namespace).
 *
 * The child of a vfork runs on its parent's memory: nothing here takes a lock or allocates, and
 * what is too large for a small stack is written into a mapping that such a child can leave behind
 * (room.h). errno is kept.
 */
#ifndef XFS_FOLLOW_H
#define XFS_FOLLOW_H

/* On the caller's stack, which may be 16 KiB in all. */
struct xfs_follow {
    void *room; /* of room.h, or NULL */
    void *small[120];
};

/* The completed environment, or `environment` itself where nothing is missing; strings are not
 * copied. It may be NULL, which execve takes for an empty one. */
char *const *xfs_follow_begin(struct xfs_follow *follow, char *const *environment);

/* After a call that returned, which means that it failed. */
void xfs_follow_end(struct xfs_follow *follow);

#endif
