/*
 * Staying with the programs that a recorded process starts. Programs that build their children's
 * environment anew drop LD_PRELOAD and the recorder's settings; they are put back, as they were
 * when this process started, unless the new environment has them.
 *
 * Only in a process that was itself started with the library in LD_PRELOAD, with recording on and
 * XFERSCOPE_FOLLOW=1 (the default). Left alone are environments that say XFERSCOPE_ENABLE=0 or
 * XFERSCOPE_FOLLOW=0, environments too large for the stack, and children that could not load the
 * library because its path does not lead there any more (chroot, another mount namespace).
 *
 * The child of a vfork runs on its parent's memory: nothing here writes to any but the caller's
 * stack, takes a lock or allocates. errno is kept.
 */
#ifndef XFS_FOLLOW_H
#define XFS_FOLLOW_H

#include <stddef.h>
#include <stdint.h>

/* What an environment lacks. */
struct xfs_follow_plan {
    size_t entries;      /* of the environment */
    const char *preload; /* its LD_PRELOAD, NULL when it has none */
    uint32_t missing;    /* bit i: the i-th setting this process was started with */
    size_t bytes;        /* of stack that xfs_follow_build() needs; 0: nothing to do */
};

/* `environment` may be NULL, which execve takes for an empty one. */
struct xfs_follow_plan xfs_follow_plan(char *const *environment);

/* The completed environment, in `room` of plan->bytes; its other strings stay where they are. */
char *const *xfs_follow_build(const struct xfs_follow_plan *plan, char *const *environment,
                              void *room);

#endif
