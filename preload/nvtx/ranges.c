#include "preload/nvtx/nvtx.h"
#include "preload/nvtx/parts.h"

#include <errno.h>
#include <string.h>

#include "preload/record/hot.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"

/* NVTX's callbacks. Each function has the signature of its place in the table. */

static atomic_ullong last_id;

/* ---- events --------------------------------------------------------------------------------- */

/* False when recording is over, or the run has reached its size limit. */
static inline bool is_recorded(void)
{
    return xfs_recording() && xfs_periods_keep_ranges();
}

/* A range counts as a call for the timing of what recording costs. */
static inline void count_range(void)
{
    if (xfs_self)
        (void)xfs_count_call(xfs_self);
}

static inline void write_counted(enum xft_event_kind kind, uint32_t domain, uint32_t name,
                                 uint64_t id, uint64_t at_ns)
{
    struct xfs_lane *lane = xfs_range_event(kind, domain, name, id, at_ns);
    if (lane && xfs_call_is_timed(lane))
        xfs_cost_ends(lane, (uint8_t)kind, at_ns, at_ns);
}

static inline bool some_beyond(uint64_t id)
{
    return id == 0 &&
           __builtin_expect(atomic_load_explicit(&xfs_early_beyond, memory_order_relaxed) > 0, 0);
}

static void begin(struct xfs_text *domain, const struct xfs_message *message, uint64_t id)
{
    int saved = errno;
    xfs_phase_begin(domain, message, id);
    if (xfs_range_first_ns() == 0) {
        xfs_early_begin(domain, message, id);
    } else if (is_recorded()) {
        count_range();
        xfs_nvtx_catch_up();
        if (some_beyond(id))
            xfs_early_begun(domain);
        write_counted(XFT_EVENT_RANGE_BEGIN, domain ? xfs_text_id(domain) : 0,
                      xfs_message_id(message), id, xfs_now_ns());
    }
    errno = saved;
}

static void end(struct xfs_text *domain, uint64_t id)
{
    int saved = errno;
    if (xfs_range_first_ns() == 0) {
        xfs_early_end(domain, id);
    } else if (is_recorded()) {
        count_range();
        xfs_nvtx_catch_up();
        if (!some_beyond(id) || !xfs_early_ended(domain))
            write_counted(XFT_EVENT_RANGE_END, domain ? xfs_text_id(domain) : 0, 0, id,
                          xfs_now_ns());
    }
    xfs_phase_end(domain, id);
    errno = saved;
}

static uint64_t begin_of_process(struct xfs_text *domain, const struct xfs_message *message)
{
    uint64_t id = atomic_fetch_add(&last_id, 1) + 1;
    begin(domain, message, id);
    return id;
}

/* ---- the default domain ---------------------------------------------------------------------- */

static int push_plain(const char *text)
{
    struct xfs_message message;
    xfs_message_plain(&message, text);
    begin(NULL, &message, 0);
    return XNV_NO_PUSH_POP_TRACKING;
}

static int push_wide(const void *text)
{
    struct xfs_message message;
    xfs_message_wide(&message, text);
    begin(NULL, &message, 0);
    return XNV_NO_PUSH_POP_TRACKING;
}

static uint64_t start_plain(const char *text)
{
    struct xfs_message message;
    xfs_message_plain(&message, text);
    return begin_of_process(NULL, &message);
}

static uint64_t start_wide(const void *text)
{
    struct xfs_message message;
    xfs_message_wide(&message, text);
    return begin_of_process(NULL, &message);
}

/* ---- any domain ------------------------------------------------------------------------------ */

static int domain_push(struct xfs_text *domain, const struct xnv_attributes *attributes)
{
    struct xfs_message message;
    xfs_message_of(&message, attributes);
    begin(domain, &message, 0);
    return XNV_NO_PUSH_POP_TRACKING;
}

static int domain_pop(struct xfs_text *domain)
{
    end(domain, 0);
    return XNV_NO_PUSH_POP_TRACKING;
}

static uint64_t domain_start(struct xfs_text *domain, const struct xnv_attributes *attributes)
{
    struct xfs_message message;
    xfs_message_of(&message, attributes);
    return begin_of_process(domain, &message);
}

static void domain_end(struct xfs_text *domain, uint64_t id)
{
    if (id != 0)
        end(domain, id);
}

static int push(const struct xnv_attributes *attributes)
{
    return domain_push(NULL, attributes);
}

static int pop(void)
{
    return domain_pop(NULL);
}

static uint64_t start(const struct xnv_attributes *attributes)
{
    return domain_start(NULL, attributes);
}

static void end_id(uint64_t id)
{
    domain_end(NULL, id);
}

/* ---- domains and strings --------------------------------------------------------------------- */

static struct xfs_text *keep_plain(const char *text)
{
    int saved = errno;
    struct xfs_text *kept = text ? xfs_text_keep(text, strlen(text)) : NULL;
    errno = saved;
    return kept;
}

static struct xfs_text *keep_wide(const void *text)
{
    struct xfs_message message;
    int saved = errno;
    xfs_message_wide(&message, text);
    struct xfs_text *kept = text ? xfs_text_keep(message.text, message.bytes) : NULL;
    errno = saved;
    return kept;
}

static struct xfs_text *register_plain(struct xfs_text *domain, const char *text)
{
    return keep_plain(text);
}

static struct xfs_text *register_wide(struct xfs_text *domain, const void *text)
{
    return keep_wide(text);
}

#define AT(place, function) [place] = (xnv_function)function
const xnv_function xfs_nvtx_core[XFS_CORE_PLACES] = {
    AT(XNV_CORE_RANGE_START_EX, start),     AT(XNV_CORE_RANGE_START_A, start_plain),
    AT(XNV_CORE_RANGE_START_W, start_wide), AT(XNV_CORE_RANGE_END, end_id),
    AT(XNV_CORE_RANGE_PUSH_EX, push),       AT(XNV_CORE_RANGE_PUSH_A, push_plain),
    AT(XNV_CORE_RANGE_PUSH_W, push_wide),   AT(XNV_CORE_RANGE_POP, pop),
};
const xnv_function xfs_nvtx_core2[XFS_CORE2_PLACES] = {
    AT(XNV_CORE2_RANGE_START_EX, domain_start),      AT(XNV_CORE2_RANGE_END, domain_end),
    AT(XNV_CORE2_RANGE_PUSH_EX, domain_push),        AT(XNV_CORE2_RANGE_POP, domain_pop),
    AT(XNV_CORE2_REGISTER_STRING_A, register_plain), AT(XNV_CORE2_REGISTER_STRING_W, register_wide),
    AT(XNV_CORE2_DOMAIN_CREATE_A, keep_plain),       AT(XNV_CORE2_DOMAIN_CREATE_W, keep_wide),
};
