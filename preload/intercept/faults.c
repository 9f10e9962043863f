#include "preload/intercept/faults.h"

#include <errno.h>
#include <sys/resource.h>

#include "preload/base/sandbox.h"

XFS_TLS struct xfs_faults xfs_faults;

/* Of the thread since it began; 0: not known. */
static uint64_t faults_now(void)
{
    struct rusage usage;
    if (!xfs_may_call_kernel())
        return 0;
    int saved = errno;
    uint64_t faults = getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_minflt : 0;
    errno = saved;
    return faults;
}

void xfs_faults_look(void)
{
    xfs_faults.looks--;
    xfs_faults.known = xfs_faults.looks > 0;
    if (xfs_faults.known)
        xfs_faults.before = faults_now();
}

void xfs_faults_count(struct xft_event *copy)
{
    struct xfs_faults *of = &xfs_faults;
    uint64_t now = faults_now();
    if (of->known && of->behind > 0 && of->behind <= of->before && of->before <= now)
        copy->aux = xft_faults(now - of->before, of->before - of->behind);
    *of = (struct xfs_faults){.behind = now, .looks = XFS_FAULTS_LOOKS + 1};
}
