#include "preload/content/access.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"
#include "preload/content/pages.h"
#include "preload/content/share.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"
#include "preload/record/record.h"

/* Why a large copy was not watched; the word is part of a META key. */
#define SKIPS(X)                                                                                   \
    X(SKIP_BUDGET, "budget")     /* it had taken its share of the time */                          \
    X(SKIP_MEMORY, "memory")     /* a kind of memory, or a shape, that is not watched */           \
    X(SKIP_REFUSED, "refused")   /* the kernel refused it, or the process has a sandbox */         \
    X(SKIP_UNJUDGED, "unjudged") /* it was gone, or reclaimed, before it was known */
enum skip {
#define X(symbol, word) symbol,
    SKIPS(X)
#undef X
        SKIP_COUNT
};

/* The program's, for each page that it writes: 1.1 us beside an H200 (docs/settings.md), 4 us on
 * slower virtual machines. */
#define FAULT_NS 2000
#define FREE_NS 50000000u

struct watch {
    uint64_t address, end; /* of the copies */
    struct xfs_pages pages;
    uint64_t since;  /* start_ns of the last copy, after which writes were watched for; 0: none */
    uint64_t turn;   /* when it was copied last */
    bool is_pending; /* the copy to the host below is not judged yet */
    bool is_sent;    /* its memory was copied to a device since */
    struct xft_event fetched;
};

atomic_bool xfs_access_watching;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static XFS_TLS bool holding;
static struct watch watches[XFS_ACCESS_MOST];
static unsigned count;
static uint64_t turns, judged, skipped[SKIP_COUNT];
static struct xfs_share share = {.free_ns = FREE_NS};

static bool enter(struct xfs_guard *guard)
{
    return xfs_turn_begin(&lock, &holding, guard);
}

static void leave(struct xfs_guard guard)
{
    xfs_turn_end(&lock, &holding, guard);
}

/* ---- questions to the kernel ----------------------------------------------------------------- */

enum ask { ASK_START, ASK_WATCH, ASK_LEAVE, ASK_WRITTEN, ASK_UNREAD, ASK_READ };

struct question {
    enum ask ask;
    struct xfs_pages *pages;
    struct xfs_pages_seen seen;
    const char *why;
    bool done;
};

static void answer(void *argument)
{
    struct question *q = argument;
    q->done = true;
    switch (q->ask) {
    case ASK_START:
        q->why = xfs_pages_start();
        break;
    case ASK_WATCH:
        q->done = xfs_pages_watch(q->pages);
        break;
    case ASK_LEAVE:
        xfs_pages_leave(q->pages);
        break;
    case ASK_WRITTEN:
        xfs_pages_written(q->pages, true, &q->seen);
        break;
    case ASK_UNREAD:
        xfs_pages_unread(q->pages);
        break;
    case ASK_READ:
        xfs_pages_read(q->pages, &q->seen);
        break;
    }
}

/* In the recorder's thread. `done` false: it could not be asked, and nothing is known. */
static struct question ask(enum ask what, struct xfs_pages *pages)
{
    struct question q = {.ask = what, .pages = pages};
    uint64_t before = xfs_machine_ns();
    if (!xfs_may_call_kernel() || !xfs_do_apart(answer, &q))
        q = (struct question){.ask = what, .pages = pages};
    share.spent_ns += xfs_machine_ns() - before;
    return q;
}

/* ---- what is found --------------------------------------------------------------------------- */

static void tell(const struct xft_event *copy, uint64_t now, uint64_t since, unsigned what)
{
    struct xft_event event = {
        .start_ns = now,
        .end_ns = now,
        .bytes = copy->bytes,
        .dst = copy->dst,
        .src = copy->src,
        .width = since,
        .aux = copy->start_ns,
        .count = what,
        .src_place = XFT_PLACE_UNKNOWN,
        .dst_place = XFT_PLACE_UNKNOWN,
        .device = XFT_PLACE_UNKNOWN,
        .kind = XFT_EVENT_HOST_ACCESS,
    };
    judged++;
    xfs_event_write(&event);
}

/* Its copy to the host is over: was it read? */
static void judge(struct watch *watch)
{
    if (!watch->is_pending)
        return;
    struct xfs_pages_seen seen = ask(ASK_READ, &watch->pages).seen;
    watch->is_pending = false;
    if (seen.reads_known)
        tell(&watch->fetched, xfs_now_ns(), 0,
             XFT_HOST_READS_KNOWN | (seen.read ? XFT_HOST_READ : 0u) |
                 (watch->is_sent ? XFT_HOST_SENT : 0u));
    else
        skipped[SKIP_UNJUDGED]++;
}

/* Its memory is sent to a device: has the host read it by now? If not, it may do so later. */
static void judge_sent(struct watch *watch)
{
    if (!watch->is_pending)
        return;
    struct xfs_pages_seen seen = ask(ASK_READ, &watch->pages).seen;
    watch->is_sent = true;
    if (seen.reads_known && seen.read) {
        watch->is_pending = false;
        tell(&watch->fetched, xfs_now_ns(), 0,
             XFT_HOST_READS_KNOWN | XFT_HOST_READ | XFT_HOST_SENT);
    }
}

/* ---- the list -------------------------------------------------------------------------------- */

static bool overlaps(const struct watch *watch, uint64_t start, uint64_t end)
{
    return watch->pages.start < end && start < watch->pages.end;
}

static void drop(unsigned i)
{
    judge(&watches[i]);
    ask(ASK_LEAVE, &watches[i].pages);
    watches[i] = watches[--count];
}

static void drop_all_in(uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < count;)
        if (overlaps(&watches[i], start, end))
            drop(i);
        else
            i++;
}

static struct watch *find(uint64_t address, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        if (watches[i].address == address && watches[i].end == address + bytes)
            return &watches[i];
    return NULL;
}

/* One that no neighbour has, so that the mappings stay apart. */
static int free_context(uint64_t start, uint64_t end)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < count; i++)
        if (watches[i].pages.start <= end && start <= watches[i].pages.end)
            taken |= 1u << watches[i].pages.context;
    for (int context = 0; context < XFS_PAGES_CONTEXTS; context++)
        if (!(taken & 1u << context))
            return context;
    return 0; /* cannot be: a piece has two neighbours */
}

static unsigned oldest(void)
{
    unsigned at = 0;
    for (unsigned i = 1; i < count; i++)
        if (watches[i].turn < watches[at].turn)
            at = i;
    return at;
}

static struct watch *watch_anew(uint64_t address, uint64_t bytes, unsigned memory)
{
    struct watch watch = {.address = address, .end = address + bytes};
    watch.pages.of_driver = memory == XFT_MEM_PINNED || memory == XFT_MEM_MAPPED;
    watch.pages.start = address & ~(uint64_t)(XFS_PAGE - 1);
    watch.pages.end = (watch.end + XFS_PAGE - 1) & ~(uint64_t)(XFS_PAGE - 1);
    drop_all_in(watch.pages.start, watch.pages.end);
    if (count == XFS_ACCESS_MOST)
        drop(oldest());
    watch.pages.context = free_context(watch.pages.start, watch.pages.end);
    if (!ask(ASK_WATCH, &watch.pages).done) {
        skipped[SKIP_REFUSED]++;
        return NULL;
    }
    watches[count] = watch;
    return &watches[count++];
}

/* The watch of this memory, new where there is none; NULL: it is not watched, and counted. */
static struct watch *watch_of(const struct xfs_rows *rows, unsigned memory)
{
    uint64_t bytes = xfs_rows_bytes(rows);
    bool is_one = bytes == xfs_rows_end(rows) - rows->address;
    bool is_host = memory == XFT_MEM_PAGEABLE || memory == XFT_MEM_PINNED ||
                   memory == XFT_MEM_REGISTERED || memory == XFT_MEM_MAPPED;
    struct watch *watch = is_one && is_host ? find(rows->address, bytes) : NULL;
    if (!watch)
        drop_all_in(rows->address, xfs_rows_end(rows));
    if (bytes < XFS_ACCESS_LEAST)
        return NULL;
    if (!is_one || !is_host)
        skipped[SKIP_MEMORY]++;
    else if (!xfs_share_left(&share))
        skipped[SKIP_BUDGET]++;
    else {
        watch = watch ? watch : watch_anew(rows->address, bytes, memory);
        if (watch)
            watch->turn = ++turns;
        return watch;
    }
    if (watch)
        drop((unsigned)(watch - watches));
    return NULL;
}

/* From now on writes are watched for. The memory may have been mapped anew at the same place: then
 * it has to be watched anew, too. */
static void protect(struct watch *watch, uint64_t since)
{
    bool known = ask(ASK_WRITTEN, &watch->pages).seen.writes_known;
    if (!known && ask(ASK_WATCH, &watch->pages).done)
        known = ask(ASK_WRITTEN, &watch->pages).seen.writes_known;
    watch->since = known ? since : 0;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The source of a copy to the device, as it is now; the program may not change it while it is
 * copied. */
static void look_at_source(struct xft_event *event, struct watch *watch)
{
    struct xfs_pages_seen seen = ask(ASK_WRITTEN, &watch->pages).seen;
    event->start_ns = xfs_now_ns();
    if (seen.writes_known && watch->since)
        tell(event, event->start_ns, watch->since,
             XFT_HOST_WRITES_KNOWN | (seen.written ? XFT_HOST_WROTE : 0u));
    share.spent_ns += watch->since ? seen.pages_written * FAULT_NS : 0;
    watch->since = seen.writes_known ? event->start_ns : 0;
}

static void before_sent(struct xft_event *event)
{
    for (unsigned i = 0; i < count; i++)
        if (overlaps(&watches[i], event->src, event->src + event->bytes))
            judge_sent(&watches[i]);
    struct watch *watch = find(event->src, event->bytes);
    if (watch)
        look_at_source(event, watch);
}

static void before_fetched(const struct xft_event *event)
{
    for (unsigned i = 0; i < count; i++)
        if (overlaps(&watches[i], event->dst, event->dst + event->bytes)) {
            judge(&watches[i]);
            watches[i].since = 0; /* until the bytes are there */
        }
}

void xfs_access_before(struct xft_event *event)
{
    struct xfs_guard guard;
    uint64_t from_ns = event->start_ns;
    if (event->bytes == 0 || (event->flags & XFT_CAPTURED) || !enter(&guard))
        return;
    event->start_ns = 0;
    if (event->direction == XFT_DIR_H2D)
        before_sent(event);
    else if (event->direction == XFT_DIR_D2H || event->direction == XFT_DIR_H2H)
        before_fetched(event);
    leave(guard);
    xfs_cost_took(XFT_OVERHEAD_ACCESS, from_ns);
    if (event->start_ns == 0)
        event->start_ns = xfs_now_ns();
}

void xfs_access_sent(const struct xft_event *event, const struct xfs_rows *src)
{
    struct xfs_guard guard;
    if (!enter(&guard))
        return;
    xfs_cost_unusual(XFT_OVERHEAD_ACCESS);
    /* Not the host, but the copy may have read what was not read before. */
    for (unsigned i = 0; i < count; i++)
        if (watches[i].is_pending && overlaps(&watches[i], src->address, xfs_rows_end(src)))
            ask(ASK_UNREAD, &watches[i].pages);
    struct watch *watch = watch_of(src, event->src_mem);
    if (watch && watch->since != event->start_ns) /* else it is protected since before the copy */
        protect(watch, event->start_ns);
    leave(guard);
}

void xfs_access_arrived(const struct xft_event *event, const struct xfs_rows *dst)
{
    struct xfs_guard guard;
    if (!enter(&guard))
        return;
    xfs_cost_unusual(XFT_OVERHEAD_ACCESS);
    struct watch *watch = watch_of(dst, event->dst_mem);
    if (watch) {
        protect(watch, event->start_ns);
        ask(ASK_UNREAD, &watch->pages);
        watch->is_pending = watch->pages.reads_known;
        watch->is_sent = false;
        watch->fetched = *event;
        skipped[SKIP_REFUSED] += !watch->is_pending;
    }
    leave(guard);
}

void xfs_access_forget(uint64_t start, uint64_t end)
{
    struct xfs_guard guard;
    if (!enter(&guard))
        return;
    drop_all_in(start, end > start ? end : start + 1);
    leave(guard);
}

void xfs_access_unseen(void)
{
    xfs_access_forget(0, UINT64_MAX);
}

/* ---- life ------------------------------------------------------------------------------------ */

void xfs_access_session_start(bool seen)
{
    const struct xfs_settings *settings = xfs_settings();
    xfs_meta_set("host_access", settings->host_access ? "on" : "off");
    if (!settings->host_access)
        return;
    share.started_ns = xfs_machine_ns();
    share.percent = settings->host_access_share;
    struct question q = {.why = "this machine does not let a process read itself", .done = true};
    if (seen)
        q = ask(ASK_START, NULL);
    const char *why = q.done ? q.why : "the recorder's thread could not be asked";
    if (why)
        xfs_meta_set("host_access.why", why);
    atomic_store(&xfs_access_watching, why == NULL);
}

void xfs_access_finish(void)
{
    static const char *const words[] = {
#define X(symbol, word) word,
        SKIPS(X)
#undef X
    };
    struct xfs_guard guard;
    if (!xfs_access_on() || !enter(&guard))
        return;
    for (unsigned i = 0; i < count; i++)
        judge(&watches[i]);
    leave(guard);
    xfs_note_number("host_access.ns", share.spent_ns);
    xfs_note_number("host_access.told", judged);
    for (size_t i = 0; i < SKIP_COUNT; i++) {
        char key[48];
        snprintf(key, sizeof key, "host_access.skipped.%s", words[i]);
        if (skipped[i])
            xfs_note_number(key, skipped[i]);
    }
}

void xfs_access_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    atomic_store(&xfs_access_watching, false);
    holding = false;
    count = 0;
    turns = share.spent_ns = judged = 0;
    memset(skipped, 0, sizeof skipped);
}
