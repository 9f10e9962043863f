#include "parts.h"

enum xfs_content_mode xfs_content_afford(enum xfs_content_mode wanted, uint64_t spent,
                                         uint64_t elapsed, uint64_t cost, unsigned share_percent)
{
    if (share_percent == 0)
        return wanted;
    uint64_t allowed = elapsed / 100 * share_percent;
    if (wanted == XFS_CONTENT_WHOLE && spent + cost <= allowed)
        return XFS_CONTENT_WHOLE;
    return spent <= allowed * 2 ? XFS_CONTENT_SAMPLED : XFS_CONTENT_OFF;
}
