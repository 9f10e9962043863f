#include "preload/apply/check.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/apply/driver.h"
#include "preload/base/log.h"

#define STEP ((size_t)4 << 20)

enum outcome { SAME, DIFFERENT, NOT_COMPARED };

/* Device memory of our own, and what it and the program's have. */
struct room {
    xcu_deviceptr device;
    char *asked, *found;
};

static bool take_room(const struct xfs_apply_driver *driver, struct room *room)
{
    char *host = mmap(NULL, 2 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *room = (struct room){0};
    if (host == MAP_FAILED)
        return false;
    room->asked = host;
    room->found = host + STEP;
    if (driver->alloc(&room->device, STEP) == XCU_SUCCESS)
        return true;
    munmap(host, 2 * STEP);
    return false;
}

static void leave_room(const struct xfs_apply_driver *driver, const struct room *room)
{
    driver->free(room->device);
    munmap(room->asked, 2 * STEP);
}

/* Copies of pageable memory to the host have their data when they return. */
static enum outcome compare(const struct xfs_apply_driver *driver, const struct xfs_pieces *pieces,
                            const struct room *room, size_t at, size_t bytes)
{
    const char *host = (const char *)(uintptr_t)(pieces->host + at);
    xcu_deviceptr device = pieces->device + at;
    xcu_result r = XCU_SUCCESS;
    const char *found = pieces->up ? room->found : host;
    if (pieces->up) {
        r = driver->to_device(room->device, host, bytes, pieces->stream);
        if (r == XCU_SUCCESS)
            r = driver->to_host(room->asked, room->device, bytes, pieces->stream);
        if (r == XCU_SUCCESS)
            r = driver->to_host(room->found, device, bytes, pieces->stream);
    } else {
        r = driver->to_host(room->asked, device, bytes, pieces->stream);
    }
    if (r != XCU_SUCCESS)
        return NOT_COMPARED;
    return memcmp(room->asked, found, bytes) == 0 ? SAME : DIFFERENT;
}

bool xfs_check_copy(const struct xfs_pieces *pieces, struct xfs_told_site *site)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    enum outcome outcome = SAME;
    struct room room;
    if (!take_room(driver, &room))
        return true;
    for (size_t at = 0; at < pieces->bytes && outcome == SAME; at += STEP) {
        size_t left = pieces->bytes - at;
        outcome = compare(driver, pieces, &room, at, left < STEP ? left : STEP);
    }
    leave_room(driver, &room);
    if (outcome == DIFFERENT)
        xfs_log("apply: a copy of %llu bytes was different from what the program asked for",
                (unsigned long long)pieces->bytes);
    if (site && outcome != NOT_COMPARED)
        __atomic_fetch_add(&site->checked, 1, __ATOMIC_RELAXED);
    if (site && outcome == DIFFERENT)
        __atomic_fetch_add(&site->different, 1, __ATOMIC_RELAXED);
    return outcome != DIFFERENT;
}
