#include "preload/apply/calls/check.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/apply/state/driver.h"
#include "preload/base/log.h"

#define STEP ((size_t)4 << 20)

enum outcome { SAME, DIFFERENT, NOT_COMPARED };

/* Device memory of our own, and what it and the program's have. */
struct spare {
    xcu_deviceptr device;
    char *asked, *found;
};

static bool take_spare(const struct xfs_apply_driver *driver, struct spare *spare)
{
    char *host = mmap(NULL, 2 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *spare = (struct spare){0};
    if (host == MAP_FAILED)
        return false;
    spare->asked = host;
    spare->found = host + STEP;
    if (driver->alloc(&spare->device, STEP) == XCU_SUCCESS)
        return true;
    munmap(host, 2 * STEP);
    return false;
}

static void leave_spare(const struct xfs_apply_driver *driver, const struct spare *spare)
{
    driver->free(spare->device);
    munmap(spare->asked, 2 * STEP);
}

/* Copies of pageable memory to the host have their data when they return. */
static enum outcome compare(const struct xfs_apply_driver *driver, const struct xfs_compared *copy,
                            const struct spare *spare, size_t at, size_t bytes)
{
    const char *host = (const char *)(uintptr_t)(copy->host + at);
    xcu_deviceptr device = copy->device + at;
    xcu_result r = XCU_SUCCESS;
    const char *found = copy->up ? spare->found : host;
    if (copy->up) {
        r = driver->to_device(spare->device, host, bytes, copy->stream);
        if (r == XCU_SUCCESS)
            r = driver->to_host(spare->asked, spare->device, bytes, copy->stream);
        if (r == XCU_SUCCESS)
            r = driver->to_host(spare->found, device, bytes, copy->stream);
    } else {
        r = driver->to_host(spare->asked, device, bytes, copy->stream);
    }
    if (r != XCU_SUCCESS)
        return NOT_COMPARED;
    return memcmp(spare->asked, found, bytes) == 0 ? SAME : DIFFERENT;
}

/* Says and counts it. */
static bool is_good(enum outcome outcome, uint64_t bytes, struct xfs_report_site *site)
{
    if (outcome == DIFFERENT)
        xfs_log("apply: a copy of %llu bytes was different from what the program asked for",
                (unsigned long long)bytes);
    if (site && outcome != NOT_COMPARED)
        __atomic_fetch_add(&site->checked, 1, __ATOMIC_RELAXED);
    if (site && outcome == DIFFERENT)
        __atomic_fetch_add(&site->different, 1, __ATOMIC_RELAXED);
    return outcome != DIFFERENT;
}

bool xfs_check_copy(const struct xfs_compared *copy, struct xfs_report_site *site)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    enum outcome outcome = SAME;
    struct spare spare;
    if (!take_spare(driver, &spare))
        return true;
    for (size_t at = 0; at < copy->bytes && outcome == SAME; at += STEP) {
        size_t left = copy->bytes - at;
        outcome = compare(driver, copy, &spare, at, left < STEP ? left : STEP);
    }
    leave_spare(driver, &spare);
    return is_good(outcome, copy->bytes, site);
}

bool xfs_check_peer(uint64_t dst, uint64_t src, uint64_t bytes, xcu_stream stream,
                    struct xfs_report_site *site)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    enum outcome outcome = SAME;
    int mode = XCU_CAPTURE_MODE_RELAXED;
    char *host = mmap(NULL, 2 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (host == MAP_FAILED)
        return true;
    driver->exchange(&mode);
    for (size_t at = 0; at < bytes && outcome == SAME; at += STEP) {
        size_t part = bytes - at < STEP ? bytes - at : STEP;
        if (driver->to_host(host, src + at, part, stream) != XCU_SUCCESS ||
            driver->to_host(host + STEP, dst + at, part, stream) != XCU_SUCCESS)
            outcome = NOT_COMPARED;
        else if (memcmp(host, host + STEP, part) != 0)
            outcome = DIFFERENT;
    }
    driver->exchange(&mode);
    munmap(host, 2 * STEP);
    return is_good(outcome, bytes, site);
}
