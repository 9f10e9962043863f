/*
 * What the process may use: processors (affinity, the cgroups' quotas) and memory (the cgroups'
 * limits, RLIMIT_AS, RLIMIT_DATA). Reads files: on a thread with descriptors of its own.
 */
#ifndef XFS_APPLY_LIMITS_H
#define XFS_APPLY_LIMITS_H

#include <stdint.h>

struct xfs_limits {
    unsigned processors; /* at least 1; 1 as well where no descriptor is left (nothing is begun) */
    uint64_t memory;     /* bytes that can be had before a limit is reached; UINT64_MAX: none */
};

void xfs_limits_read(struct xfs_limits *limits);

/* One group's files into the limits: the texts of cpu.max, memory.max and memory.current, "" where
 * there is none. For tests. */
void xfs_limits_of_group(struct xfs_limits *limits, const char *cpu_max, const char *memory_max,
                         const char *memory_current);

#endif
