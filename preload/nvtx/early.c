#include "preload/nvtx/early.h"
#include "preload/nvtx/parts.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/base/attributes.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"

struct early {
    uint64_t id;
    struct xfs_text *domain;
    struct xfs_text *kept;
    uint32_t bytes;
    char text[XFS_EARLY_TEXT];
};

/* Counts of a domain's ranges that lie inside its innermost kept range, and are not kept. */
struct beyond {
    const struct xfs_text *domain;
    uint64_t early; /* open ones that began before recording */
    uint64_t since; /* open ones inside these that began later */
};

struct open_ranges {
    bool written; /* recording has begun; only `beyond` is in use */
    uint32_t count, domains;
    struct early ranges[XFS_EARLY_MOST];
    struct beyond beyond[XFS_EARLY_MOST]; /* no more domains than ranges that are kept */
};

atomic_int xfs_nvtx_waiting, xfs_early_beyond;
static atomic_ullong first_ns; /* when recording began; 0 = it has not */

static XFS_TLS struct open_ranges *own; /* nested in this thread */
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;
static bool own_key_made;

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_ranges shared; /* of the process */

/* ---- a thread's own ------------------------------------------------------------------------- */

static void discard_own(void *ranges)
{
    const struct open_ranges *open = ranges;
    if (open->written)
        atomic_fetch_sub(&xfs_early_beyond, open->domains > 0);
    else
        atomic_fetch_sub(&xfs_nvtx_waiting, 1);
    own = NULL;
    munmap(ranges, sizeof(struct open_ranges));
}

static void make_key(void)
{
    own_key_made = pthread_key_create(&own_key, discard_own) == 0;
}

static struct open_ranges *get_own(void)
{
    if (own)
        return own;
    pthread_once(&own_once, make_key);
    void *fresh = own_key_made ? mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                               : MAP_FAILED;
    if (fresh == MAP_FAILED)
        return NULL;
    if (pthread_setspecific(own_key, fresh) != 0) {
        munmap(fresh, sizeof *own);
        return NULL;
    }
    atomic_fetch_add(&xfs_nvtx_waiting, 1);
    return own = fresh;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static struct beyond *beyond_of(struct open_ranges *open, const struct xfs_text *domain)
{
    for (uint32_t i = 0; i < open->domains; i++)
        if (open->beyond[i].domain == domain)
            return &open->beyond[i];
    return NULL;
}

static bool is_kept(const struct open_ranges *open, const struct xfs_text *domain)
{
    for (uint32_t i = 0; i < open->count; i++)
        if (open->ranges[i].domain == domain)
            return true;
    return false;
}

/* Ends are matched as if all ranges were kept. In a domain without a kept range an end has no
 * effect. */
static void add_beyond(struct open_ranges *open, const struct xfs_text *domain)
{
    struct beyond *beyond = beyond_of(open, domain);
    if (!beyond && !is_kept(open, domain))
        return;
    if (!beyond) {
        beyond = &open->beyond[open->domains++];
        *beyond = (struct beyond){.domain = domain};
    }
    beyond->early++;
}

static void take_beyond(struct open_ranges *open, struct beyond *beyond)
{
    if (--beyond->early == 0)
        *beyond = open->beyond[--open->domains];
}

static void add(struct open_ranges *open, struct xfs_text *domain,
                const struct xfs_message *message, uint64_t id)
{
    if (open->count == XFS_EARLY_MOST || (id == 0 && beyond_of(open, domain))) {
        if (id == 0)
            add_beyond(open, domain);
        return;
    }
    struct early *range = &open->ranges[open->count++];
    *range = (struct early){.id = id, .domain = domain, .kept = message->kept};
    if (message->kept)
        return;
    range->bytes = (uint32_t)(message->bytes < XFS_EARLY_TEXT ? message->bytes : XFS_EARLY_TEXT);
    memcpy(range->text, message->text ? message->text : "", range->bytes);
}

/* The innermost of the domain, or the one with the id. */
static bool take(struct open_ranges *open, const struct xfs_text *domain, uint64_t id)
{
    struct beyond *beyond = id == 0 ? beyond_of(open, domain) : NULL;
    if (beyond) {
        take_beyond(open, beyond);
        return true;
    }
    for (uint32_t i = open->count; i-- > 0;) {
        const struct early *range = &open->ranges[i];
        if (id ? range->id != id : range->domain != domain)
            continue;
        open->count--;
        memmove(open->ranges + i, open->ranges + i + 1, (open->count - i) * sizeof *open->ranges);
        return true;
    }
    return false;
}

void xfs_early_begin(struct xfs_text *domain, const struct xfs_message *message, uint64_t id)
{
    if (id == 0) {
        struct open_ranges *open = get_own();
        if (open)
            add(open, domain, message, 0);
        return;
    }
    pthread_mutex_lock(&shared_lock);
    if (shared.count == 0)
        atomic_fetch_add(&xfs_nvtx_waiting, 1);
    add(&shared, domain, message, id);
    pthread_mutex_unlock(&shared_lock);
}

void xfs_early_end(struct xfs_text *domain, uint64_t id)
{
    if (id == 0) {
        if (own)
            take(own, domain, 0);
        return;
    }
    pthread_mutex_lock(&shared_lock);
    if (take(&shared, domain, id) && shared.count == 0)
        atomic_fetch_sub(&xfs_nvtx_waiting, 1);
    pthread_mutex_unlock(&shared_lock);
}

/* ---- when recording has begun ---------------------------------------------------------------- */

uint64_t xfs_range_first_ns(void)
{
    return atomic_load_explicit(&first_ns, memory_order_relaxed);
}

void xfs_ranges_begin_recording(void)
{
    atomic_store(&first_ns, xfs_now_ns());
    xfs_nvtx_catch_up();
}

static void write_all(const struct open_ranges *open)
{
    for (uint32_t i = 0; i < open->count; i++) {
        const struct early *range = &open->ranges[i];
        uint32_t domain = range->domain ? xfs_text_id(range->domain) : 0;
        uint32_t name =
            range->kept ? xfs_text_id(range->kept) : xfs_name(range->text, range->bytes);
        if (xfs_periods_keep_ranges())
            xfs_range_event(XFT_EVENT_RANGE_BEGIN, domain, name, range->id, xfs_range_first_ns());
    }
}

/* Ranges deeper than the kept ones are still open. */
static void write_own(void)
{
    struct open_ranges *open = own;
    if (open->domains == 0)
        pthread_setspecific(own_key, NULL);
    write_all(open);
    if (open->domains == 0) {
        discard_own(open);
        return;
    }
    open->written = true;
    atomic_fetch_add(&xfs_early_beyond, 1);
    atomic_fetch_sub(&xfs_nvtx_waiting, 1);
}

void xfs_nvtx_write_early(void)
{
    int saved = errno;
    if (xfs_range_first_ns() == 0)
        return;
    if (own && !own->written)
        write_own();
    pthread_mutex_lock(&shared_lock);
    if (shared.count > 0) {
        write_all(&shared);
        shared.count = 0;
        atomic_fetch_sub(&xfs_nvtx_waiting, 1);
    }
    pthread_mutex_unlock(&shared_lock);
    errno = saved;
}

void xfs_early_begun(const struct xfs_text *domain)
{
    struct beyond *beyond = own ? beyond_of(own, domain) : NULL;
    if (beyond)
        beyond->since++;
}

bool xfs_early_ended(const struct xfs_text *domain)
{
    struct beyond *beyond = own ? beyond_of(own, domain) : NULL;
    if (!beyond)
        return false;
    if (beyond->since > 0) {
        beyond->since--;
        return false;
    }
    take_beyond(own, beyond);
    if (own->domains == 0)
        atomic_fetch_sub(&xfs_early_beyond, 1);
    return true;
}

/* Ranges of other threads are not open in the child, and those in the parent's trace are not
 * repeated. */
void xfs_nvtx_after_fork(void)
{
    pthread_mutex_init(&shared_lock, NULL);
    atomic_store(&xfs_early_beyond, 0);
    if (own && own->written) {
        own->written = false;
        own->count = own->domains = 0;
    }
    atomic_store(&xfs_nvtx_waiting, (own != NULL) + (shared.count > 0));
    xfs_periods_after_fork(xfs_phase_after_fork());
    xfs_texts_new_recording();
    atomic_store(&first_ns, 0);
}
