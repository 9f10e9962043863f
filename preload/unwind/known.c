#include "preload/unwind/known.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/attributes.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/sandbox.h"

#define PAGE ((uintptr_t)4096)
#define RANGES 4
#define MOST_PAGES 64 /* queried in one step, so that a range stays contiguous */
/* The kernel reserves the default stack limit for the first stack: no other mapping lies there.
 * Deeper parts are queried like other stacks. */
#define FIRST_STACK_BYTES ((uintptr_t)8 << 20)

static XFS_TLS struct xfs_known ranges[RANGES];
static XFS_TLS unsigned replaced;

static uintptr_t first_stack_end;

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(PAGE - 1);
}

void xfs_known_init(void)
{
    void *const *end = xfs_real_dlsym(RTLD_DEFAULT, "__libc_stack_end");
    if (end)
        first_stack_end = page_of((uintptr_t)*end) + PAGE; /* arguments and environment lie above */
    else
        dlerror(); /* not the program's message */
}

static enum xfs_reach ask(uintptr_t page)
{
    if (page == 0)
        return XFS_UNREADABLE; /* the kernel takes NULL for "no set" */
    if (!xfs_may_call_kernel())
        return XFS_NOT_ASKED;
    if (syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) == 0 || errno == EINVAL)
        return XFS_REACHED;
    return errno == EFAULT ? XFS_UNREADABLE : XFS_NOT_ASKED;
}

static struct xfs_known *range_of(uintptr_t word)
{
    for (unsigned i = 0; i < RANGES; i++)
        if (word >= ranges[i].low && word < ranges[i].high)
            return &ranges[i];
    return NULL;
}

static struct xfs_known *new_range(uintptr_t page)
{
    struct xfs_known *range = &ranges[replaced++ % RANGES];
    *range = (struct xfs_known){page, page + PAGE, range};
    return range;
}

/* A range that begins a few pages above, extended down to this page. */
static struct xfs_known *stretch_down(uintptr_t page)
{
    for (unsigned i = 0; i < RANGES; i++) {
        struct xfs_known *range = &ranges[i];
        if (range->low <= page || range->low - page > MOST_PAGES * PAGE)
            continue;
        while (range->low > page && ask(range->low - PAGE) == XFS_REACHED)
            range->low -= PAGE;
        if (range->low == page)
            return range;
    }
    return NULL;
}

static XFS_COLD void begin_elsewhere(struct xfs_known *known, uintptr_t sp)
{
    struct xfs_known *range = stretch_down(page_of(sp));
    *known = range ? *range : *new_range(page_of(sp)); /* this thread's frames are in that page */
}

void xfs_known_begin(struct xfs_known *known, uintptr_t sp)
{
    struct xfs_known *range;
    if (first_stack_end - sp <= FIRST_STACK_BYTES)
        *known = (struct xfs_known){sp & ~(uintptr_t)7, first_stack_end, NULL};
    else if ((range = range_of(sp)) != NULL)
        *known = *range;
    else
        begin_elsewhere(known, sp);
}

/* Asks from the range's end on. */
static enum xfs_reach stretch_up(struct xfs_known *range, uintptr_t word)
{
    enum xfs_reach reach = XFS_REACHED;
    while (reach == XFS_REACHED && range->high <= word) {
        reach = ask(range->high);
        if (reach == XFS_REACHED)
            range->high += PAGE;
    }
    return reach;
}

XFS_COLD enum xfs_reach xfs_known_reach(struct xfs_known *known, uintptr_t word)
{
    struct xfs_known *range = range_of(word), *kept = known->kept;
    enum xfs_reach reach = XFS_REACHED;
    if (word & 7)
        return XFS_UNREADABLE;
    if (range == NULL && kept && word >= kept->high && word - kept->high < MOST_PAGES * PAGE) {
        reach = stretch_up(kept, word);
        range = kept;
    } else if (range == NULL) {
        reach = ask(page_of(word));
        range = reach == XFS_REACHED ? new_range(page_of(word)) : NULL;
    }
    if (range)
        *known = *range;
    return reach;
}
