#include "preload/timing/event_pairs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "preload/base/check.h"
#include "preload/base/attributes.h"
#include "preload/base/own_stack.h"
#include "preload/base/settings.h"
#include "preload/lookup/driver.h"
#include "preload/record/periods.h"
#include "preload/record/record.h"
#include "preload/timing/allowance.h"
#include "preload/timing/timing.h"

#define MOST_PAIRS 65536 /* of a context, in flight at once */
#define MOST_CONTEXTS 64 /* further ones are not timed */
#define LOOKS 4          /* pairs queried at each copy */
#define BASE_TRIES 3     /* of which the one with the narrowest bounds is used */
#define BASE_WAIT_NS 5000000u
#define BASE_AGE_NS 1000000000u /* times are floats in ms: their resolution falls with distance */
#define NON_BLOCKING 1
/* Numbers of a sample begin here: those of CUPTI's that the calls before have are below. */
#define SAMPLED_NUMBERS UINT32_C(0x80000000)

/* One copy between two events. */
struct pair {
    struct pair *next;
    xcu_event begin, end;
    struct xft_event copy;
};

struct place { /* a context */
    xcu_context context;
    xcu_stream stream; /* the recorder's own */
    xcu_event bases[2];
    unsigned base;      /* the one in use; the other is for a new attempt */
    uint64_t base_ns;   /* when it was reached; 0 = no base yet */
    uint64_t looked_ns; /* when it was last measured */
    struct pair *spare, *first, **last;
    unsigned made;
};

#define FUNCTIONS(X)                                                                               \
    X(current, "cuCtxGetCurrent", xcu_result (*)(xcu_context *))                                   \
    X(stream_create, "cuStreamCreate", xcu_result (*)(xcu_stream *, unsigned))                     \
    X(create, "cuEventCreate", xcu_result (*)(xcu_event *, unsigned))                              \
    X(record, "cuEventRecord", xcu_result (*)(xcu_event, xcu_stream))                              \
    X(record_ptsz, "cuEventRecord_ptsz", xcu_result (*)(xcu_event, xcu_stream))                    \
    X(query, "cuEventQuery", xcu_result (*)(xcu_event))                                            \
    X(elapsed, "cuEventElapsedTime", xcu_result (*)(float *, xcu_event, xcu_event))                \
    X(exchange, "cuThreadExchangeStreamCaptureMode", xcu_result (*)(int *))

#define DECLARE(field, name, type) __typeof__((type)0) field;
static struct {
    FUNCTIONS(DECLARE)
} driver;

atomic_bool xfs_pairs_on;
int (*xfs_pairs_capturing)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct place places[MOST_CONTEXTS];
static unsigned place_count;
static uint32_t numbers;
static unsigned forgotten;        /* how often */
static atomic_uint pending_count; /* pairs that are not collected yet */
static bool sampled;              /* set before xfs_pairs_on */
static uint64_t begun_ns;         /* the same */
static atomic_ullong spent_ns;    /* by pairs, sampled */

static XFS_TLS struct pair *at_work;
static XFS_TLS bool left_out; /* while something is captured */
static XFS_TLS struct place *at_place;
static XFS_TLS unsigned at_time; /* forgotten, then */

bool xfs_pairs_prepare(bool some)
{
    bool all = true;
    sampled = some;
    begun_ns = xfs_now_ns();
    if (some)
        numbers = SAMPLED_NUMBERS;
#define LOOK_UP(field, name, type)                                                                 \
    driver.field = (__typeof__(driver.field))xfs_driver_symbol(name);                              \
    all = all && driver.field != NULL;
    FUNCTIONS(LOOK_UP)
    return all;
}

void xfs_pairs_switch_on(void)
{
    atomic_store_explicit(&xfs_pairs_on, true, memory_order_release);
}

bool xfs_pairs_start(bool some)
{
    bool prepared = xfs_pairs_prepare(some);
    if (prepared)
        xfs_pairs_switch_on();
    return prepared;
}

/* If another thread begins a capture at this moment, our queries are forbidden and would invalidate
 * it; in relaxed mode they do not. */
static int relax(void)
{
    int mode = XCU_CAPTURE_MODE_RELAXED;
    driver.exchange(&mode);
    return mode;
}

static void restore(int mode)
{
    driver.exchange(&mode);
}

/* ---- the base ------------------------------------------------------------------------------ */

/* Nothing else is on that stream; the wait has a limit all the same. */
static bool reached(xcu_event event, uint64_t since)
{
    xcu_result result;
    do
        result = driver.query(event);
    while (result == XCU_ERROR_NOT_READY && xfs_now_ns() - since < BASE_WAIT_NS);
    return result == XCU_SUCCESS;
}

static void set_base(struct place *p)
{
    uint64_t best = UINT64_MAX, before = xfs_now_ns();
    p->base_ns = 0;
    p->looked_ns = before;
    for (int i = 0; i < BASE_TRIES; i++, before = xfs_now_ns()) {
        xcu_event event = p->bases[!p->base];
        if (driver.record(event, p->stream) != XCU_SUCCESS || !reached(event, before))
            return;
        uint64_t took = xfs_now_ns() - before;
        if (took < best) {
            best = took;
            p->base_ns = before + took / 2;
            p->base = !p->base;
        }
    }
}

static struct place *make_place(xcu_context context)
{
    struct place *p = &places[place_count];
    if (place_count == MOST_CONTEXTS)
        return NULL;
    *p = (struct place){.context = context};
    p->last = &p->first;
    place_count++;
    if (driver.stream_create(&p->stream, NON_BLOCKING) == XCU_SUCCESS &&
        driver.create(&p->bases[0], 0) == XCU_SUCCESS &&
        driver.create(&p->bases[1], 0) == XCU_SUCCESS)
        set_base(p);
    else
        p->made = MOST_PAIRS; /* nothing is timed in this context; not tried again */
    return p;
}

static struct place *current_place(void)
{
    xcu_context context = NULL;
    if (driver.current(&context) != XCU_SUCCESS || context == NULL)
        return NULL;
    for (unsigned i = 0; i < place_count; i++)
        if (places[i].context == context)
            return &places[i];
    int mode = relax();
    struct place *p = make_place(context);
    restore(mode);
    return p;
}

/* ---- pairs --------------------------------------------------------------------------------- */

static struct pair *take_pair(struct place *p)
{
    struct pair *pair = p->spare;
    if (pair) {
        p->spare = pair->next;
        return pair;
    }
    if (p->made == MOST_PAIRS || (pair = calloc(1, sizeof *pair)) == NULL)
        return NULL;
    if (driver.create(&pair->begin, 0) != XCU_SUCCESS ||
        driver.create(&pair->end, 0) != XCU_SUCCESS) {
        free(pair);
        return NULL;
    }
    p->made++;
    return pair;
}

static void put_pair(struct place *p, struct pair *pair)
{
    pair->next = p->spare;
    p->spare = pair;
}

/* Writes the copy's device times; false when its events cannot be read. */
static bool write_copy(const struct place *p, const struct pair *pair)
{
    float since_base, took;
    if (!XFS_EXPECT(pair->copy.kind == XFT_EVENT_DEVICE_COPY, "a pair of events is of no copy") ||
        p->base_ns == 0 ||
        driver.elapsed(&since_base, p->bases[p->base], pair->begin) != XCU_SUCCESS ||
        driver.elapsed(&took, pair->begin, pair->end) != XCU_SUCCESS || took < 0)
        return false;
    struct xft_event e = pair->copy;
    e.start_ns = p->base_ns + (uint64_t)(int64_t)((double)since_base * 1e6);
    e.end_ns = e.start_ns + (uint64_t)((double)took * 1e6);
    if (xfs_periods_keep_record(&e))
        xfs_event_write(&e);
    return true;
}

/* Queries at most `most` of the pending pairs, oldest first. */
static void collect(struct place *p, unsigned most)
{
    struct pair **link = &p->first;
    for (unsigned i = 0; *link && i < most; i++) {
        struct pair *pair = *link;
        xcu_result result = driver.query(pair->end);
        if (result == XCU_ERROR_NOT_READY) {
            link = &pair->next;
            continue;
        }
        *link = pair->next;
        if (p->last == &pair->next)
            p->last = link;
        atomic_fetch_sub(&pending_count, 1);
        if (result != XCU_SUCCESS || !write_copy(p, pair))
            xfs_count_device_lost(1);
        put_pair(p, pair);
    }
    if (p->first == NULL && xfs_now_ns() - p->looked_ns > BASE_AGE_NS)
        set_base(p);
}

/* ---- around a copy ------------------------------------------------------------------------- */

static bool capturing(void)
{
    return xfs_pairs_capturing && xfs_pairs_capturing();
}

/* The first event is recorded last: time between it and the copy would count. */
static struct pair *begin(struct place *p, xcu_stream stream, bool per_thread)
{
    int mode = relax();
    collect(p, LOOKS);
    struct pair *pair = take_pair(p);
    restore(mode);
    if (pair == NULL)
        return NULL;
    if ((per_thread ? driver.record_ptsz : driver.record)(pair->begin, stream) != XCU_SUCCESS) {
        put_pair(p, pair);
        return NULL;
    }
    pair->copy = (struct xft_event){.stream = (uint64_t)(uintptr_t)stream,
                                    .flags = per_thread ? XFT_PER_THREAD : 0};
    return pair;
}

struct start {
    xcu_stream stream;
    bool per_thread;
};

/* Making an event takes the driver kilobytes of stack, which the program's thread may not have. */
static void start_pair(void *arguments)
{
    const struct start *start = arguments;
    pthread_mutex_lock(&lock);
    at_place = current_place();
    at_time = forgotten;
    at_work = at_place ? begin(at_place, start->stream, start->per_thread) : NULL;
    if (at_work) {
        numbers = numbers < UINT32_MAX ? numbers + 1 : sampled ? SAMPLED_NUMBERS : 1;
        at_work->copy.correlation = xfs_timing_seen = numbers;
        xfs_periods_numbered(numbers);
    } else {
        xfs_count_device_lost(1);
    }
    pthread_mutex_unlock(&lock);
}

/* The share of the time so far, and of one second more. */
static bool may_spend(void)
{
    uint64_t passed_ns = xfs_now_ns() - begun_ns + UINT64_C(1000000000);
    return atomic_load_explicit(&spent_ns, memory_order_relaxed) <
           passed_ns / 100 * xfs_settings()->budget;
}

static void add_spent(uint64_t from_ns)
{
    atomic_fetch_add_explicit(&spent_ns, xfs_now_ns() - from_ns, memory_order_relaxed);
}

static void begin_sampled(struct start *start)
{
    uint64_t from_ns = xfs_now_ns();
    xfs_on_any_stack(start_pair, start);
    add_spent(from_ns);
}

void xfs_pairs_begin(xcu_stream stream, bool per_thread, uint16_t call, const void *returns_to)
{
    struct start start = {stream, per_thread};
    at_work = NULL;
    left_out = false;
    if (sampled && !xfs_sample_takes(call, (uintptr_t)returns_to))
        return;
    int saved = errno;
    left_out = capturing();
    if (!left_out && !sampled)
        xfs_on_any_stack(start_pair, &start);
    else if (!left_out && may_spend())
        begin_sampled(&start);
    left_out = left_out && !sampled;
    errno = saved;
}

/* Fills the event as a device record would be. */
static void describe(struct xft_event *e, const struct xft_event *copy)
{
    e->kind = XFT_EVENT_DEVICE_COPY;
    e->bytes = e->width = copy->bytes;
    e->direction = copy->direction;
    e->src_mem = copy->src_mem;
    e->dst_mem = copy->dst_mem;
    e->src_place = copy->src_place;
    e->dst_place = copy->dst_place;
    e->device = copy->device;
    e->count = copy->count;
    e->flags = XFT_ASYNC | XFT_BY_EVENTS;
}

static bool has_moved(const struct xft_event *copy)
{
    return copy->kind == XFT_EVENT_TRANSFER && copy->status == 0 && copy->bytes > 0 &&
           !(copy->flags & XFT_CAPTURED);
}

static void end_pair(void *ended)
{
    const struct xft_event *copy = ended;
    struct pair *pair = at_work;
    at_work = NULL;
    xcu_stream stream = (xcu_stream)(uintptr_t)pair->copy.stream;
    bool per_thread = (pair->copy.flags & XFT_PER_THREAD) != 0;
    bool moved = has_moved(copy) && !capturing();
    pthread_mutex_lock(&lock);
    if (at_time != forgotten) {
        /* its context is gone, and its events with it */
    } else if (moved && (per_thread ? driver.record_ptsz : driver.record)(pair->end, stream) ==
                            XCU_SUCCESS) {
        pair->copy.stream = 0;
        describe(&pair->copy, copy);
        pair->next = NULL;
        *at_place->last = pair;
        at_place->last = &pair->next;
        atomic_fetch_add(&pending_count, 1);
    } else {
        put_pair(at_place, pair);
        if (has_moved(copy))
            xfs_count_device_lost(1);
    }
    pthread_mutex_unlock(&lock);
}

void xfs_pairs_end(const struct xft_event *copy)
{
    if (!at_work && !left_out)
        return;
    int saved = errno;
    uint64_t from_ns = xfs_now_ns();
    if (left_out && has_moved(copy))
        xfs_count_device_lost(1);
    left_out = false;
    if (at_work)
        xfs_on_any_stack(end_pair, (void *)(uintptr_t)copy);
    add_spent(from_ns);
    errno = saved;
}

/* ---- later --------------------------------------------------------------------------------- */

static void collect_all(void *unused)
{
    pthread_mutex_lock(&lock);
    int mode = relax();
    for (unsigned i = 0; i < place_count; i++)
        collect(&places[i], UINT32_MAX);
    restore(mode);
    pthread_mutex_unlock(&lock);
}

void xfs_pairs_collect(void)
{
    if (!xfs_pairs_is_on() || atomic_load(&pending_count) == 0 || capturing())
        return;
    int saved = errno;
    uint64_t from_ns = xfs_now_ns();
    xfs_on_any_stack(collect_all, NULL);
    add_spent(from_ns);
    errno = saved;
}

/* The pairs' memory is not freed: a thread may be between begin and end. */
void xfs_pairs_forget(void)
{
    if (!xfs_pairs_is_on())
        return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < place_count; i++) {
        for (struct pair *pair = places[i].first; pair; pair = pair->next)
            xfs_count_device_lost(1);
        places[i] = (struct place){0};
        atomic_store(&pending_count, 0);
    }
    place_count = 0;
    forgotten++;
    pthread_mutex_unlock(&lock);
}

static bool pending(void)
{
    bool any = false;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < place_count; i++)
        any = any || places[i].first;
    pthread_mutex_unlock(&lock);
    return any;
}

static void lose_pending(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < place_count; i++)
        for (struct pair *pair = places[i].first; pair; pair = pair->next)
            xfs_count_device_lost(1);
    pthread_mutex_unlock(&lock);
}

void xfs_pairs_finish(int most_ms)
{
    struct timespec pause = {0, 1000000};
    if (!xfs_pairs_is_on())
        return;
    xfs_pairs_collect();
    for (int ms = 0; pending() && ms < most_ms; ms++) {
        nanosleep(&pause, NULL);
        xfs_pairs_collect();
    }
    atomic_store(&xfs_pairs_on, false);
    lose_pending();
}

void xfs_pairs_after_fork(void)
{
    atomic_store(&xfs_pairs_on, false);
    at_work = NULL;
}
