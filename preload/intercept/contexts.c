#include "preload/intercept/contexts.h"

#include <errno.h>
#include <stdatomic.h>

#include "preload/intercept/session.h"
#include "preload/lookup/driver.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"
#include "preload/record/periods.h"

#define DEVICES 64 /* of others primary contexts are not recorded */

typedef xcu_result (*get_state)(xcu_device, unsigned *, int *);

static _Atomic(get_state) ask;
static atomic_uint_fast64_t being_made; /* primary contexts, by device */

void xfs_context_calls_start(void)
{
    atomic_store(&ask, (get_state)xfs_driver_symbol("cuDevicePrimaryCtxGetState"));
}

void xfs_context_calls_after_fork(void)
{
    atomic_store(&being_made, 0);
}

/* The process's work has begun, and this part of it is recorded. */
static bool is_recorded(void)
{
    unsigned char state = atomic_load(&xfs_session);
    return state >= XFS_SESSION_LAUNCHED &&
           (!atomic_load(&xfs_periods_limited) || xfs_periods_look());
}

static bool is_there(xcu_device device)
{
    get_state state = atomic_load(&ask);
    unsigned flags;
    int active = 0;
    return state == NULL || state(device, &flags, &active) != XCU_SUCCESS || active != 0;
}

/* Two threads may find that it is not there: one of them makes it, and the other waits for that. */
static bool claim(xcu_device device)
{
    uint_fast64_t bit = UINT64_C(1) << device;
    return !(atomic_fetch_or(&being_made, bit) & bit);
}

void xfs_context_call_begins(struct xfs_context_call *context, xcu_device device, bool primary)
{
    int saved = errno;
    bool known = device >= 0 && device < DEVICES;
    *context = (struct xfs_context_call){.device = device};
    if (known && is_recorded())
        context->makes = !primary || (!is_there(device) && claim(device));
    context->claims = context->makes && primary;
    if (context->makes)
        context->start_ns = xfs_now_ns();
    errno = saved;
}

void xfs_context_call_ends(const struct xfs_context_call *context, uint16_t call, int status)
{
    if (!context->makes)
        return;
    struct xft_event event = {.kind = XFT_EVENT_CONTEXT,
                              .call = call,
                              .start_ns = context->start_ns,
                              .end_ns = xfs_now_ns(),
                              .device = (int16_t)context->device,
                              .src_place = XFT_PLACE_UNKNOWN,
                              .dst_place = XFT_PLACE_UNKNOWN};
    if (context->claims)
        atomic_fetch_and(&being_made, ~(UINT64_C(1) << context->device));
    if (status == 0)
        xfs_event_write_aside(&event);
}
