#include "preload/apply/state/driver.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "preload/lookup/driver.h"

enum state { UNKNOWN, WHOLE, LACKING };

/* Written by whoever comes first; others write the same. */
static struct xfs_apply_driver driver;
static atomic_int state;

static enum state look_up(void)
{
    enum state found = WHOLE;
    if (xfs_driver_handle() == NULL)
        return UNKNOWN;
#define X(field, name, type, needed)                                                               \
    {                                                                                              \
        __typeof__((type)0) function = (__typeof__((type)0))xfs_driver_symbol(name);               \
        __atomic_store_n(&driver.field, function, __ATOMIC_RELAXED);                               \
        if ((needed) && function == NULL)                                                          \
            found = LACKING;                                                                       \
    }
    XFS_APPLY_DRIVER(X)
#undef X
    return found;
}

const struct xfs_apply_driver *xfs_apply_driver(void)
{
    int known = atomic_load_explicit(&state, memory_order_acquire);
    if (known == UNKNOWN) {
        known = look_up();
        atomic_store_explicit(&state, known, memory_order_release);
    }
    return known == WHOLE ? &driver : NULL;
}

uint64_t xfs_apply_now_ns(void)
{
    struct timespec now;
    if (driver.simulated_now)
        return driver.simulated_now();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t xfs_apply_buffer_at(xcu_deviceptr address, size_t bytes, int attribute)
{
    xcu_deviceptr start = 0;
    size_t size = 0;
    uint64_t buffer = 0;
    unsigned has = 0;
    int which[] = {XCU_PTR_RANGE_START, XCU_PTR_RANGE_SIZE, XCU_PTR_BUFFER_ID, attribute};
    void *values[] = {&start, &size, &buffer, &has};
    bool known = xfs_apply_driver()->attributes(4, which, values, address) == XCU_SUCCESS;
    return known && has && start == address && size >= bytes ? buffer : 0;
}

unsigned long long xfs_apply_context_id(xcu_context context)
{
    unsigned long long id = 0;
    return xfs_apply_driver()->context_id(context, &id) == XCU_SUCCESS ? id : 0;
}

/* Retaining a context that exists returns its handle. */
xcu_context xfs_apply_primary(xcu_device device)
{
    const struct xfs_apply_driver *real = xfs_apply_driver();
    xcu_context context = NULL;
    unsigned flags;
    int active = 0, mode = XCU_CAPTURE_MODE_RELAXED;
    if (real == NULL || real->primary_state(device, &flags, &active) != XCU_SUCCESS || !active)
        return NULL;
    real->exchange(&mode);
    if (real->primary_retain(&context, device) == XCU_SUCCESS)
        real->primary_release(device);
    real->exchange(&mode);
    return context;
}
