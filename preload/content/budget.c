#include "preload/content/parts.h"

enum xfs_content_mode xfs_content_afford(enum xfs_content_mode setting, bool slow_memory,
                                         const struct xfs_hash_ns *spent,
                                         const struct xfs_hash_ns *cost, uint64_t elapsed,
                                         unsigned share)
{
    bool whole = setting == XFS_CONTENT_WHOLE && !slow_memory;
    if (share == 0)
        return whole ? XFS_CONTENT_WHOLE : XFS_CONTENT_SAMPLED;
    uint64_t allowed = elapsed / 100 * share;
    uint64_t samples = setting == XFS_CONTENT_WHOLE ? allowed / 5 : allowed;
    if (whole && spent->whole + cost->whole <= allowed - samples)
        return XFS_CONTENT_WHOLE;
    return spent->sampled + cost->sampled <= samples ? XFS_CONTENT_SAMPLED : XFS_CONTENT_OFF;
}
