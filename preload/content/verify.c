#include "preload/content/verify.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/settings.h"
#include "preload/content/hash.h"
#include "preload/lookup/driver.h"
#include "preload/content/share.h"
#include "preload/record/clock.h"
#include "preload/record/cost.h"
#include "preload/record/record.h"

/* Why something was not verified; the word is part of a META key. */
#define SKIPS(X)                                                                                   \
    X(SKIP_BUDGET, "budget")   /* it had taken its share of the time */                            \
    X(SKIP_MEMORY, "memory")   /* too large, in rows, or too many pieces */                        \
    X(SKIP_REFUSED, "refused") /* the driver refused to fetch it */                                \
    X(SKIP_BUSY, "busy")       /* the stream's work did not end in time; several threads launch */
enum skip {
#define X(symbol, word) symbol,
    SKIPS(X)
#undef X
        SKIP_COUNT
};

#define FREE_NS 200000000u
#define WAIT_NS 1000000000u
#define SPIN_NS 100000000u /* of it, before the thread sleeps between its questions */
#define CHUNK ((size_t)4 << 20)

struct piece {
    uint64_t start, end, hash;
    bool known; /* the hash is that of what was there last */
};

atomic_bool xfs_verify_watching;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static XFS_TLS bool holding;
static struct piece pieces[XFS_VERIFY_MOST];
static unsigned count;
static bool full; /* there was copied memory that had no room here: nothing is said any more */
static void *room;
static XFS_TLS char this_thread;
static const char *launcher; /* the thread whose launches are verified */
static bool many_launch;     /* another one has launched, too */
static uint64_t launches, kept, skipped[SKIP_COUNT];
static struct xfs_share share = {.free_ns = FREE_NS};

static struct driver {
    xcu_result (*query)(xcu_stream), (*query_ptsz)(xcu_stream);
    xcu_result (*create)(xcu_stream *, unsigned), (*destroy)(xcu_stream), (*wait)(xcu_stream);
    xcu_result (*fetch)(void *, xcu_deviceptr, size_t, xcu_stream);
    xcu_result (*exchange)(int *);
} driver;

static bool enter(struct xfs_guard *guard)
{
    return xfs_turn_begin(&lock, &holding, guard);
}

static void leave(struct xfs_guard guard)
{
    xfs_turn_end(&lock, &holding, guard);
}

/* Until the next exchange: another thread's capture must not be broken by our calls. */
static int without_captures(void)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    driver.exchange(&mode);
    return mode;
}

/* ---- the device's memory --------------------------------------------------------------------- */

/* The stream has nothing left to do. */
static bool is_idle(xcu_stream stream, bool per_thread)
{
    const struct timespec pause = {0, 50000};
    uint64_t begun = xfs_machine_ns();
    xcu_result result;
    while ((result = (per_thread ? driver.query_ptsz : driver.query)(stream)) ==
           XCU_ERROR_NOT_READY) {
        uint64_t waited = xfs_machine_ns() - begun;
        if (waited > WAIT_NS) {
            skipped[SKIP_BUSY]++;
            return false;
        }
        if (waited > SPIN_NS)
            nanosleep(&pause, NULL);
    }
    skipped[SKIP_REFUSED] += result != XCU_SUCCESS;
    return result == XCU_SUCCESS;
}

static bool fetch(const struct piece *piece, xcu_stream own, uint64_t *hash)
{
    *hash = 0;
    for (uint64_t at = piece->start; at < piece->end; at += CHUNK) {
        uint64_t bytes = piece->end - at < CHUNK ? piece->end - at : CHUNK, part, hashed;
        const struct xfs_rows rows = {(uintptr_t)room, bytes, 1, 1, 0, 0};
        if (driver.fetch(room, (xcu_deviceptr)at, bytes, own) != XCU_SUCCESS ||
            driver.wait(own) != XCU_SUCCESS || !xfs_hash_whole(&rows, &part, &hashed))
            return false;
        *hash = (*hash ^ part) * 0x9e3779b97f4a7c15u;
    }
    return true;
}

/* What is there now. False: it was not found out. */
static bool look(const struct piece *piece, uint64_t *hash)
{
    xcu_stream own;
    bool good = driver.create(&own, XCU_STREAM_NON_BLOCKING) == XCU_SUCCESS;
    if (good) {
        good = fetch(piece, own, hash);
        driver.destroy(own);
    }
    skipped[SKIP_REFUSED] += !good;
    return good;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static bool overlaps(const struct piece *piece, uint64_t start, uint64_t end)
{
    return piece->start < end && start < piece->end;
}

static void drop_all_in(uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < count;)
        if (overlaps(&pieces[i], start, end))
            pieces[i] = pieces[--count];
        else
            i++;
}

/* What is there is not known until it is looked at again. */
static void lose_sight(uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < count; i++)
        if (overlaps(&pieces[i], start, end))
            pieces[i].known = false;
}

static struct piece *find(uint64_t start, uint64_t end)
{
    for (unsigned i = 0; i < count; i++)
        if (pieces[i].start == start && pieces[i].end == end)
            return &pieces[i];
    return NULL;
}

/* NULL: there is no room, so that from now on it is not known what kernels may have changed. */
static struct piece *piece_of(uint64_t start, uint64_t end)
{
    struct piece *piece = find(start, end);
    if (!piece && count == XFS_VERIFY_MOST) {
        full = true;
        skipped[SKIP_MEMORY]++;
        return NULL;
    }
    if (!piece)
        piece = &pieces[count++];
    *piece = (struct piece){.start = start, .end = end};
    return piece;
}

struct copied {
    uint64_t start, end;
    xcu_stream stream;
    bool per_thread, one, writes;
};

static void watch(const struct copied *copy)
{
    if (copy->writes)
        drop_all_in(copy->start, copy->end);
    struct piece *piece = piece_of(copy->start, copy->end);
    if (!piece)
        return;
    if (!copy->one || copy->end - copy->start > XFS_VERIFY_BYTES)
        skipped[SKIP_MEMORY]++;
    else if (!xfs_share_left(&share))
        skipped[SKIP_BUDGET]++;
    else
        piece->known = is_idle(copy->stream, copy->per_thread) && look(piece, &piece->hash);
}

/* A short copy, or one within devices. */
static void overwritten(const struct xft_event *event, bool one)
{
    if (event->direction == XFT_DIR_D2H)
        return;
    if (one)
        lose_sight(event->dst, event->dst + event->bytes);
    else
        lose_sight(0, UINT64_MAX);
}

/* What looks at memory behind a call: in no capture, and of the share of the time. */
struct visit {
    struct xfs_guard guard;
    uint64_t from_ns, before_ns;
    int mode;
};

static bool begin_visit(struct visit *visit)
{
    visit->from_ns = xfs_now_apart_ns();
    if (!enter(&visit->guard))
        return false;
    visit->before_ns = xfs_machine_ns();
    visit->mode = without_captures();
    return true;
}

static void end_visit(struct visit *visit)
{
    driver.exchange(&visit->mode);
    share.spent_ns += xfs_machine_ns() - visit->before_ns;
    leave(visit->guard);
    xfs_cost_took(XFT_OVERHEAD_VERIFY, visit->from_ns);
}

void xfs_verify_copied(const struct xft_event *event, bool one)
{
    struct visit visit;
    bool up = event->direction == XFT_DIR_H2D;
    bool watched = (up || event->direction == XFT_DIR_D2H) && event->bytes >= XFS_VERIFY_LEAST;
    uint64_t start = up ? event->dst : event->src;
    const struct copied copy = {start,
                                start + event->bytes,
                                (xcu_stream)(uintptr_t)event->stream,
                                (event->flags & XFT_PER_THREAD) != 0,
                                one,
                                up};
    if ((event->flags & (XFT_CAPTURED | XFT_FAILED)) || !begin_visit(&visit))
        return;
    if (watched)
        watch(&copy);
    else
        overwritten(event, one);
    end_visit(&visit);
}

static bool may_look(void)
{
    bool left = xfs_share_left(&share);
    skipped[SKIP_BUDGET] += !many_launch && !left;
    return left && !many_launch;
}

static void look_at_filled(const struct xft_event *event, uint64_t end)
{
    const xcu_stream stream = (xcu_stream)(uintptr_t)event->stream;
    bool per_thread = event->flags & XFT_PER_THREAD, asked = false, idle = false;
    for (unsigned i = 0; i < count; i++) {
        struct piece *piece = &pieces[i];
        if (!overlaps(piece, event->dst, end))
            continue;
        if (!asked)
            idle = may_look() && is_idle(stream, per_thread);
        asked = true;
        piece->known = idle && look(piece, &piece->hash);
    }
}

void xfs_verify_filled(const struct xft_event *event, uint64_t end)
{
    struct visit visit;
    if ((event->flags & XFT_CAPTURED) || !begin_visit(&visit))
        return;
    look_at_filled(event, end);
    end_visit(&visit);
}

void xfs_verify_unseen(void)
{
    struct xfs_guard guard;
    if (!enter(&guard))
        return;
    full = true;
    skipped[SKIP_MEMORY]++;
    leave(guard);
}

void xfs_verify_unknown(void)
{
    struct xfs_guard guard;
    if (!enter(&guard))
        return;
    lose_sight(0, UINT64_MAX);
    leave(guard);
}

void xfs_verify_forget(uint64_t start, uint64_t end)
{
    struct xfs_guard guard;
    if (!enter(&guard))
        return;
    drop_all_in(start, end > start ? end : start + 1);
    leave(guard);
}

/* ---- launches -------------------------------------------------------------------------------- */

enum left { NOT_KNOWN, KEPT, CHANGED };

/* The stream is idle: as it was? Later launches are compared with what is there now. */
static enum left look_again(struct piece *piece)
{
    struct piece before = *piece;
    piece->known = look(piece, &piece->hash);
    if (!before.known || !piece->known)
        return NOT_KNOWN;
    return piece->hash == before.hash ? KEPT : CHANGED;
}

/* A bit for each pointer from which the piece can be reached. */
static uint64_t reach(const struct piece *piece, const struct xfs_verify_pointer *pointers,
                      unsigned n)
{
    uint64_t bits = 0;
    for (unsigned k = 0; k < n; k++)
        if (overlaps(piece, pointers[k].address, pointers[k].end))
            bits |= (uint64_t)1 << k;
    return bits;
}

static uint64_t verified(const struct xfs_verify_pointer *pointers, unsigned n, xcu_stream stream,
                         bool per_thread)
{
    uint64_t left[] = {[NOT_KNOWN] = 0, [KEPT] = 0, [CHANGED] = 0};
    bool idle = false;
    for (unsigned i = 0; i < count; i++) {
        uint64_t bits = reach(&pieces[i], pointers, n);
        if (bits && !idle && !(idle = is_idle(stream, per_thread))) {
            lose_sight(0, UINT64_MAX);
            return 0;
        }
        if (bits)
            left[look_again(&pieces[i])] |= bits;
    }
    uint64_t kept_all = full ? 0 : left[KEPT] & ~left[CHANGED] & ~left[NOT_KNOWN];
    return kept_all | left[CHANGED] << XFS_VERIFY_POINTERS;
}

uint64_t xfs_verify_launched(const struct xfs_verify_pointer *pointers, unsigned n,
                             xcu_stream stream, bool per_thread)
{
    struct xfs_guard guard;
    uint64_t from_ns = xfs_now_apart_ns(), bits = 0, before = xfs_machine_ns();
    if (n > XFS_VERIFY_POINTERS || !enter(&guard))
        return 0;
    launcher = launcher ? launcher : &this_thread;
    many_launch = many_launch || launcher != &this_thread;
    int mode = without_captures();
    if (!many_launch && xfs_share_left(&share)) {
        bits = verified(pointers, n, stream, per_thread);
    } else {
        skipped[many_launch ? SKIP_BUSY : SKIP_BUDGET]++;
        lose_sight(0, UINT64_MAX);
    }
    driver.exchange(&mode);
    launches++;
    kept += (uint32_t)bits != 0;
    share.spent_ns += xfs_machine_ns() - before;
    leave(guard);
    xfs_cost_took(XFT_OVERHEAD_VERIFY, from_ns);
    return bits;
}

/* ---- life ------------------------------------------------------------------------------------ */

static const char *start(void)
{
    const struct {
        void *to;
        const char *name;
    } functions[] = {
        {&driver.query, "cuStreamQuery"},
        {&driver.query_ptsz, "cuStreamQuery_ptsz"},
        {&driver.create, "cuStreamCreate"},
        {&driver.destroy, "cuStreamDestroy_v2"},
        {&driver.wait, "cuStreamSynchronize"},
        {&driver.fetch, "cuMemcpyDtoHAsync_v2"},
        {&driver.exchange, "cuThreadExchangeStreamCaptureMode"},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = xfs_driver_symbol(functions[i].name);
        if (!found)
            return "the driver lacks a function";
        memcpy(functions[i].to, &found, sizeof found);
    }
    if (!room) {
        void *mapped =
            mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        room = mapped == MAP_FAILED ? NULL : mapped;
    }
    return room ? NULL : "out of memory";
}

void xfs_verify_session_start(bool seen)
{
    const struct xfs_settings *settings = xfs_settings();
    if (!settings->verify)
        return;
    xfs_meta_set("verify", "on");
    share.started_ns = xfs_machine_ns();
    share.percent = settings->verify_share;
    const char *why = seen ? start() : "the machine does not let a process read itself";
    if (why)
        xfs_meta_set("verify.why", why);
    atomic_store(&xfs_verify_watching, why == NULL);
}

void xfs_verify_finish(void)
{
    static const char *const words[] = {
#define X(symbol, word) word,
        SKIPS(X)
#undef X
    };
    if (!xfs_verify_on())
        return;
    xfs_note_number("verify.ns", share.spent_ns);
    xfs_note_number("verify.launches", launches);
    xfs_note_number("verify.kept", kept);
    for (size_t i = 0; i < SKIP_COUNT; i++) {
        char key[48];
        snprintf(key, sizeof key, "verify.skipped.%s", words[i]);
        if (skipped[i])
            xfs_note_number(key, skipped[i]);
    }
}

void xfs_verify_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    atomic_store(&xfs_verify_watching, false);
    holding = full = many_launch = false;
    launcher = NULL;
    count = 0;
    share.spent_ns = launches = kept = 0;
    memset(skipped, 0, sizeof skipped);
}
