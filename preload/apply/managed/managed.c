#include "preload/apply/managed/managed.h"

#include <stdatomic.h>
#include <string.h>

#include "preload/apply/state/driver.h"
#include "preload/base/brief_lock.h"

#define SPINS 20000

static struct xfs_managed followed[XFS_MANAGED]; /* the first `count`, in no order */
static atomic_uint count;
static atomic_bool all_left; /* what was to be noted could not be */
static atomic_flag taken = ATOMIC_FLAG_INIT;

static bool take(void)
{
    return xfs_brief_take(&taken, SPINS);
}

static void give_back(void)
{
    xfs_brief_give_back(&taken);
}

/* For what must not be missed. */
static bool take_or_leave_all(void)
{
    bool got = take();
    if (!got)
        atomic_store(&all_left, true);
    return got;
}

bool xfs_managed_any(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed) > 0 && !atomic_load(&all_left);
}

/* ---- the driver ------------------------------------------------------------------------------ */

bool xfs_managed_is_there(const struct xfs_managed *managed)
{
    return xfs_apply_buffer_at(managed->address, managed->bytes, XCU_PTR_IS_MANAGED) ==
           managed->buffer;
}

/* ---- what is followed ------------------------------------------------------------------------ */

/* With the lock held. */
static void drop(unsigned at)
{
    unsigned last = atomic_load(&count) - 1;
    followed[at] = followed[last];
    atomic_store(&count, last);
}

void xfs_managed_follow(xcu_deviceptr address, size_t bytes, struct xfs_site *site)
{
    uint64_t buffer = xfs_apply_buffer_at(address, bytes, XCU_PTR_IS_MANAGED);
    xfs_managed_forget(address); /* an end that was not seen */
    if (buffer == 0 || !take())
        return;
    unsigned n = atomic_load(&count);
    if (n < XFS_MANAGED) {
        followed[n] = (struct xfs_managed){address, bytes, buffer, site, -1, false};
        atomic_store(&count, n + 1);
    }
    give_back();
}

void xfs_managed_forget(xcu_deviceptr address)
{
    if (!xfs_managed_any() || !take_or_leave_all())
        return;
    for (unsigned i = 0; i < atomic_load(&count); i++) {
        if (followed[i].address != address)
            continue;
        drop(i);
        break;
    }
    give_back();
}

void xfs_managed_forget_all(void)
{
    if (!take_or_leave_all())
        return;
    atomic_store(&count, 0);
    give_back();
}

void xfs_managed_leave(xcu_deviceptr address, size_t bytes)
{
    if (!xfs_managed_any() || !take_or_leave_all())
        return;
    for (unsigned i = 0; i < atomic_load(&count); i++) {
        struct xfs_managed *one = &followed[i];
        bool meets = one->address - address < bytes || address - one->address < one->bytes;
        one->left |= meets || bytes == 0;
    }
    give_back();
}

/* ---- what a launch is given ------------------------------------------------------------------ */

static bool is_in(const struct xfs_managed *one, const uint64_t *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (words[i] - one->address < one->bytes)
            return true;
    return false;
}

/* Its kernels' device; false: it is left alone. */
static bool is_for(struct xfs_managed *one, int device)
{
    if (one->device < 0)
        one->device = device;
    one->left |= one->device != device;
    return !one->left;
}

unsigned xfs_managed_given(const uint64_t *words, unsigned n, int device,
                           struct xfs_managed given[XFS_MANAGED_GIVEN])
{
    unsigned found = 0;
    if (!xfs_managed_any() || !take())
        return 0;
    for (unsigned i = 0; i < atomic_load(&count) && found < XFS_MANAGED_GIVEN; i++)
        if (is_in(&followed[i], words, n) && is_for(&followed[i], device))
            given[found++] = followed[i];
    give_back();
    return found;
}

void xfs_managed_after_fork(void)
{
    atomic_store(&count, 0);
    atomic_store(&all_left, false);
    atomic_flag_clear(&taken);
    memset(followed, 0, sizeof followed);
}
