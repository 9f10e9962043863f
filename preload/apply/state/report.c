#include "preload/apply/state/report.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/command_memory.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"

static struct xfs_report *_Atomic report;
static atomic_ullong left_before[XFS_LEFT_COUNT]; /* before there was a place for it */

/* The same for all threads: who comes second takes the first one's. */
struct xfs_report *xfs_report(void)
{
    struct xfs_report *found = atomic_load(&report), *none = NULL;
    if (found)
        return found;
    found = xfs_command_memory(XFS_REPORT_NAME, xfs_settings()->apply_report, sizeof *found);
    if (found && found->bytes != sizeof *found) {
        munmap(found, sizeof *found);
        found = NULL;
    }
    if (found == NULL) {
        void *own =
            mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        found = own == MAP_FAILED ? NULL : own;
    }
    if (found == NULL || atomic_compare_exchange_strong(&report, &none, found))
        return found;
    munmap(found, sizeof *found);
    return none;
}

struct xfs_report_site *xfs_report_add_site(struct xfs_report *page)
{
    uint32_t at = __atomic_fetch_add(&page->sites_used, 1, __ATOMIC_RELAXED);
    if (at >= XFS_REPORT_SITES) {
        __atomic_store_n(&page->sites_used, XFS_REPORT_SITES, __ATOMIC_RELAXED);
        return NULL;
    }
    __atomic_store_n(&page->sites[at].state, XFS_REPORT_BEING_WRITTEN, __ATOMIC_RELAXED);
    return &page->sites[at];
}

static uint32_t add_module(struct xfs_report *page, const char *path)
{
    uint32_t at = __atomic_fetch_add(&page->modules_used, 1, __ATOMIC_RELAXED);
    if (at >= XFS_REPORT_MODULES) {
        __atomic_store_n(&page->modules_used, XFS_REPORT_MODULES, __ATOMIC_RELAXED);
        return 0;
    }
    snprintf(page->modules[at], XFS_REPORT_PATH, "%s", path);
    __atomic_store_n(&page->module_state[at], XFS_REPORT_THERE, __ATOMIC_RELEASE);
    return at + 1;
}

uint32_t xfs_report_module(struct xfs_report *page, const char *path)
{
    uint32_t used = __atomic_load_n(&page->modules_used, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < used && i < XFS_REPORT_MODULES; i++)
        if (__atomic_load_n(&page->module_state[i], __ATOMIC_ACQUIRE) == XFS_REPORT_THERE &&
            strncmp(page->modules[i], path, XFS_REPORT_PATH - 1) == 0)
            return i + 1;
    return add_module(page, path);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void tell_left(struct xfs_report *page)
{
    for (int i = 0; i < XFS_LEFT_COUNT; i++)
        __atomic_fetch_add(&page->left[i], atomic_exchange(&left_before[i], 0), __ATOMIC_RELAXED);
}

void xfs_report_left(enum xfs_report_left why)
{
    struct xfs_report *page = atomic_load(&report);
    atomic_fetch_add(&left_before[why], 1);
    if (page)
        tell_left(page);
}

void xfs_report_own(enum xfs_report_own what, uint64_t count)
{
    struct xfs_report *page = atomic_load(&report);
    if (page)
        __atomic_fetch_add(&page->own[what], count, __ATOMIC_RELAXED);
}

/* Its place; NULL: all are used, or the name is too long. Two processes may have it twice. */
static struct xfs_report_kernel *kernel_of(struct xfs_report *page, const char *name)
{
    for (unsigned i = 0; i < XFS_REPORT_KERNELS; i++) {
        struct xfs_report_kernel *kernel = &page->kernels[i];
        uint32_t none = XFS_REPORT_FREE;
        uint32_t state = __atomic_load_n(&kernel->state, __ATOMIC_ACQUIRE);
        if (state == XFS_REPORT_THERE && strcmp(kernel->name, name) == 0)
            return kernel;
        if (state != XFS_REPORT_FREE || strlen(name) >= XFS_REPORT_KERNEL_CHARS ||
            !__atomic_compare_exchange_n(&kernel->state, &none, XFS_REPORT_BEING_WRITTEN, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        memcpy(kernel->name, name, strlen(name) + 1);
        __atomic_store_n(&kernel->state, XFS_REPORT_THERE, __ATOMIC_RELEASE);
        return kernel;
    }
    return NULL;
}

void xfs_report_kernel(const char *name, uint64_t given, uint64_t changed)
{
    struct xfs_report *page = atomic_load(&report);
    struct xfs_report_kernel *kernel = page ? kernel_of(page, name) : NULL;
    if (kernel == NULL)
        return;
    __atomic_fetch_add(&kernel->looked, 1, __ATOMIC_RELAXED);
    __atomic_fetch_or(&kernel->given, given, __ATOMIC_RELAXED);
    __atomic_fetch_or(&kernel->changed, changed, __ATOMIC_RELAXED);
}

static void raise(uint64_t *most, uint64_t value)
{
    uint64_t known = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (known < value && !__atomic_compare_exchange_n(most, &known, value, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void xfs_report_started(unsigned threads, uint64_t locked_bytes)
{
    struct xfs_report *page = atomic_load(&report);
    if (page == NULL)
        return;
    uint32_t known = __atomic_load_n(&page->threads, __ATOMIC_RELAXED);
    while (known < threads && !__atomic_compare_exchange_n(&page->threads, &known, threads, false,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    raise(&page->locked_bytes, locked_bytes);
}

/* A process that never started tells why, if it had anything to leave. */
__attribute__((destructor)) static void process_ends(void)
{
    bool any = false;
    for (int i = 0; i < XFS_LEFT_COUNT; i++)
        any |= atomic_load(&left_before[i]) > 0;
    struct xfs_report *page = any && xfs_may_call_kernel() ? xfs_report() : NULL;
    if (page)
        tell_left(page);
}
