/*
 * Staying with the programs that a recorded process starts. Programs that build their children's
 * environment anew drop LD_PRELOAD and the recorder's settings; they are put back, as they were
 * when this process started, unless the new environment has them.
 *
 * Only in a process that was itself started with the library in LD_PRELOAD, with recording on and
 * XFERSCOPE_FOLLOW=1 (the default). Left alone are environments that say XFERSCOPE_ENABLE=0 or
 * XFERSCOPE_FOLLOW=0, environments for which there is no memory, and children that could not load
 * the library because its path does not lead there any more (chroot, another mount namespace).
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

/* The completed environment, or `environment` itself where nothing is to be done; its strings stay
 * where they are. It may be NULL, which execve takes for an empty one. */
char *const *xfs_follow_begin(struct xfs_follow *follow, char *const *environment);

/* Where the call that it was for has returned. */
void xfs_follow_end(struct xfs_follow *follow);

#endif
