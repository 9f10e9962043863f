#include "preload/record/processor.h"

#include <stdatomic.h>

#include "preload/record/cost.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"

void xfs_processor_write(const struct xft_event *figures, bool begins)
{
    bool limited = atomic_load_explicit(&xfs_periods_limited, memory_order_relaxed);
    struct xft_event event = *figures;
    if (limited && !xfs_periods_last_has(event.start_ns))
        return;
    event.kind = XFT_EVENT_PROCESSOR;
    event.device = event.src_place = event.dst_place = XFT_PLACE_UNKNOWN;
    if (begins)
        xfs_cost_make_room(event.end_ns);
    xfs_event_write(&event);
}
