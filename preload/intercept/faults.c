#include "preload/intercept/faults.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "preload/base/sandbox.h"

enum { PAGE = 4096 };

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

static void look_for_page(struct xfs_faults *of)
{
    unsigned char there;
    if (of->page == 0 || of->gone || !xfs_may_call_kernel())
        return;
    int saved = errno;
    of->gone = mincore((void *)(uintptr_t)of->page, PAGE, &there) != 0 && errno == ENOMEM;
    errno = saved;
}

void xfs_faults_ask(void)
{
    xfs_faults.launches--;
    look_for_page(&xfs_faults);
}

/* Before a copy that is too small, or in rows. */
static void pass_other(struct xfs_faults *of)
{
    of->known = false;
    if (of->others < XFS_FAULTS_ASKED)
        look_for_page(of);
    if (++of->others == XFS_FAULTS_MOST_OTHERS)
        of->looks = 0;
}

void xfs_faults_look(uint64_t bytes)
{
    struct xfs_faults *of = &xfs_faults;
    if (bytes < XFS_FAULTS_LEAST) {
        pass_other(of);
        return;
    }
    of->looks--;
    of->known = of->looks > 0;
    if (!of->known)
        return;
    of->before = faults_now();
    look_for_page(of);
}

/* Before how many copies to come it is counted, behind one before which it was not. */
static void reach_further(struct xfs_faults *of)
{
    uint8_t had = of->reach;
    of->in_vain = of->in_vain || had >= XFS_FAULTS_MOST_LOOKS;
    of->reach = of->in_vain ? XFS_FAULTS_LOOKS : (uint8_t)(2 * had);
}

void xfs_faults_count(struct xft_event *copy)
{
    struct xfs_faults *of = &xfs_faults;
    uint64_t now = faults_now();
    uint64_t host = copy->direction == XFT_DIR_H2D ? copy->src : copy->dst;
    if (of->known && of->behind > 0 && of->behind <= of->before && of->before <= now) {
        copy->aux = xft_faults(now - of->before, of->before - of->behind);
        if (of->gone && host <= of->page && of->page - host < copy->bytes)
            copy->flags |= XFT_NEW_MEMORY;
    }
    if (of->reach == 0)
        of->reach = XFS_FAULTS_LOOKS;
    else if (!of->known)
        reach_further(of);
    *of = (struct xfs_faults){.behind = now,
                              .looks = of->reach + 1,
                              .reach = of->reach,
                              .in_vain = of->in_vain,
                              .launches = XFS_FAULTS_LAUNCHES,
                              .page = (host + copy->bytes / 2) & ~(uint64_t)(PAGE - 1)};
}
