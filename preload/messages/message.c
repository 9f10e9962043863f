/* What a message is made of, and its event. */
#include "preload/messages/message.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/base/settings.h"
#include "preload/intercept/classify.h"
#include "preload/nvtx/nvtx.h"
#include "preload/record/hot.h"

/* ---- whether ----------------------------------------------------------------------------------
 */

static atomic_char wanted; /* 0: not known yet; else 'y' or 'n' */

static bool is_zero(const char *variable)
{
    const char *text = xfs_settings_text(variable);
    return text && strcmp(text, "0") == 0;
}

/* The settings as a whole, and what is wrong with them, are read when recording begins. */
static XFS_COLD bool ask_settings(void)
{
    int saved = errno;
    bool off = getauxval(AT_SECURE) || is_zero("XFERSCOPE_ENABLE") || is_zero("XFERSCOPE_MESSAGES");
    atomic_store(&wanted, off ? 'n' : 'y');
    errno = saved;
    return !off;
}

bool xfs_messages_wanted(void)
{
    char known = atomic_load_explicit(&wanted, memory_order_relaxed);
    return __builtin_expect(known == 0, 0) ? ask_settings() : known == 'y';
}

/* ---- its event --------------------------------------------------------------------------------
 */

void xfs_message_stack(struct xfs_message *m)
{
    if (xfs_stacks_wanted())
        m->event.stack = xfs_stack_capture((uintptr_t)m->called_from);
}

void xfs_message_write(struct xfs_message *m)
{
    m->written = true;
    if (m->event.kind == XFT_EVENT_NONE)
        return;
    xfs_nvtx_catch_up();
    if (m->event.stack == 0)
        xfs_message_stack(m);
    struct xfs_lane *lane = xfs_event_write_now(&m->event);
    if (lane && xfs_call_is_timed(lane))
        xfs_cost_ends(lane, m->event.kind, m->event.start_ns, m->event.end_ns);
}

/* ---- its two ends -----------------------------------------------------------------------------
 */

void xfs_message_sent(struct xfs_message *m, const void *from, uint64_t bytes)
{
    m->event.src = (uintptr_t)from;
    m->event.bytes = bytes;
    if (from == NULL || bytes == 0)
        return;
    struct xfs_place place = xfs_classify((uintptr_t)from);
    m->event.src_mem = place.memory;
    m->event.src_place = place.place;
}

void xfs_message_received(struct xfs_message *m, const void *at, uint64_t most)
{
    m->event.dst = (uintptr_t)at;
    m->event.width = most;
    if (at == NULL || most == 0)
        return;
    struct xfs_place place = xfs_classify((uintptr_t)at);
    m->event.dst_mem = place.memory;
    m->event.dst_place = place.place;
}
