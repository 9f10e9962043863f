#include "preload/record/others.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/apart.h"
#include "preload/base/listing.h"
#include "preload/base/sandbox.h"
#include "preload/record/clock.h"
#include "preload/record/lanes.h"
#include "preload/record/processor.h"
#include "xferscope/trace.h"

struct known {
    struct xfs_other last; /* as of the last sample */
    bool met;              /* at that; else it is new */
};

static struct {
    struct known threads[XFS_OTHERS_MOST];
    unsigned count;
    bool listed, anew;    /* there is a list; it is the first one, and no sample was made of it */
    unsigned added;       /* xfs_apart_added() as of the list */
    uint64_t took_ns;     /* the last sample */
} others;                 /* the holder's alone */
static atomic_int holder; /* the thread that is at it; 0: none */
static _Atomic uint64_t last_ns,
    wait_ns;               /* the last sample, by the trace's clock; until the next */
static atomic_bool wanted, /* a list: samples are made; */
    gone;                  /* of late not all of the list were there */
/* The background thread's: another list, and where a thread is gone. */
static uint64_t list_again_ns, list_soon_ns;
static _Atomic(xfs_others_function *) other_clocks;

void xfs_others_use(xfs_others_function *list)
{
    atomic_store(&other_clocks, list);
}

static void forget_threads(void)
{
    others.count = 0;
    others.listed = others.anew = false;
    others.took_ns = 0;
}

static void begin_anew(void)
{
    forget_threads();
    atomic_store(&last_ns, 0);
    atomic_store(&wait_ns, 0);
}

void xfs_others_after_fork(void)
{
    begin_anew();
    list_again_ns = list_soon_ns = 0;
    atomic_store(&gone, false);
    xfs_apart_after_fork();
    atomic_store(&wanted, false);
    atomic_store(&holder, 0);
}

/* A handler may have left a sample by a jump: what its thread had is half done. */
static bool take_hold(int tid)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&holder, &none, tid))
        return true;
    if (none == tid)
        begin_anew();
    return none == tid;
}

static void let_go(void)
{
    atomic_store(&holder, 0);
}

/* ---- which there are ------------------------------------------------------------------------- */

static const struct known *find(const struct known *threads, unsigned count, int tid)
{
    for (unsigned i = 0; i < count; i++)
        if (threads[i].last.tid == tid)
            return &threads[i];
    return NULL;
}

/* These, of which those that are there already stay as they are. Held. */
static void set_threads(const struct xfs_other *list, unsigned count)
{
    static struct known before[XFS_OTHERS_MOST];
    unsigned before_count = others.count;
    memcpy(before, others.threads, before_count * sizeof *before);
    others.added = xfs_apart_added();
    others.count = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct known *known = find(before, before_count, list[i].tid);
        if (!xfs_apart_has(list[i].tid))
            others.threads[others.count++] =
                known ? *known : (struct known){.last.tid = list[i].tid};
    }
    others.anew = !others.listed;
    others.listed = true;
}

/* The driver's threads have such names, and these lengths. */
static bool is_drivers(int tid)
{
    static const char events[] = "cuda-EvtHandlr\n", numbered[] = "cuda";
    const size_t digits = 11;
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? -1 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    if (bytes > 0 && strcmp(name, events) == 0)
        return true;
    return bytes > 0 && strncmp(name, numbered, sizeof numbered - 1) == 0 &&
           strspn(name + sizeof numbered - 1, "0123456789abcdef") == digits;
}

static bool has(const struct xfs_other *list, unsigned count, int tid)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i].tid == tid)
            return true;
    return false;
}

struct list { /* the background thread's */
    struct xfs_other all[XFS_OTHERS_MOST];
    unsigned count;
};

/* False: there are too many. Those that were in the list before are none of the driver's. */
static bool note_listed(const char *entries, long bytes, const struct list *before,
                        struct list *list)
{
    for (long at = 0; at < bytes;) {
        int tid = xfs_entry_number(entries, &at);
        if (tid == 0 || xfs_apart_has(tid) ||
            (!has(before->all, before->count, tid) && is_drivers(tid)))
            continue;
        if (list->count == XFS_OTHERS_MOST)
            return false;
        list->all[list->count++] = (struct xfs_other){.tid = tid};
    }
    return true;
}

static bool list_threads(const struct list *before, struct list *list)
{
    _Alignas(struct xfs_entry) static char entries[8192];
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && !xfs_apart_is_full();
    list->count = 0;
    for (long got = 1; good && got > 0;) {
        got = syscall(SYS_getdents64, folder, entries, sizeof entries);
        good = got >= 0 && note_listed(entries, got, before, list);
    }
    if (folder >= 0)
        close(folder);
    return good;
}

static uint64_t at_least(uint64_t ns, uint64_t least_ns)
{
    return ns > least_ns ? ns : least_ns;
}

static void set_next_list(uint64_t from_ns, uint64_t until_ns)
{
    uint64_t took_ns = until_ns - from_ns;
    list_again_ns = until_ns + at_least(XFS_OTHERS_PART * took_ns, XFS_OTHERS_LIST_NS);
    list_soon_ns = until_ns + at_least(XFS_OTHERS_SOON * took_ns, XFS_OTHERS_NS);
}

void xfs_others_list(uint64_t now_ns)
{
    static struct list lists[2];
    static unsigned last;
    if (!atomic_load(&wanted) || !xfs_may_call_kernel() ||
        now_ns < (atomic_load(&gone) ? list_soon_ns : list_again_ns))
        return;
    bool hurried = atomic_exchange(&gone, false); /* who is gone from now on may be in the list */
    bool good = list_threads(&lists[last], &lists[1 - last]);
    if (!good)
        lists[1 - last].count = 0;
    last = 1 - last;
    set_next_list(now_ns, xfs_monotonic_ns());
    if (!take_hold((int)gettid())) { /* a list that comes later will do */
        if (hurried)
            atomic_store(&gone, true);
        return;
    }
    if (good)
        set_threads(lists[last].all, lists[last].count);
    else
        forget_threads();
    let_go();
    atomic_store(&wanted, false);
}

/* ---- a sample -------------------------------------------------------------------------------- */

struct simulated { /* threads with clocks of their own */
    struct xfs_other all[XFS_OTHERS_SIMULATED];
    unsigned count;
};

struct sums {
    uint64_t busiest_ns, all_ns;
    unsigned worked;
};

/* What the thread worked since the last sample, window_ns ago; its clock is new where it goes back.
 */
static uint64_t worked_ns(const struct known *known, uint64_t ns, uint64_t window_ns)
{
    if (!known->met && others.anew)
        return 0;
    uint64_t worked = known->met && ns >= known->last.ns ? ns - known->last.ns : ns;
    return worked < window_ns ? worked : window_ns;
}

/* By the list of another clock, or (NULL) by the kernel; 0: the thread is gone. */
static uint64_t time_of(int tid, const struct simulated *by)
{
    if (!by)
        return xfs_kernel_ns_of(tid);
    for (unsigned i = 0; i < by->count; i++)
        if (by->all[i].tid == tid)
            return by->all[i].ns + 1;
    return 0;
}

/* Those that are still there, and have made no call. Held. */
static struct sums read_threads(uint64_t window_ns, const struct simulated *by)
{
    struct sums sums = {0};
    unsigned left = 0, added = xfs_apart_added();
    for (unsigned i = 0; i < others.count; i++) {
        struct known *known = &others.threads[i];
        uint64_t ns = time_of(known->last.tid, by);
        if (ns == 0) {
            atomic_store(&gone, true);
            continue;
        }
        if (added != others.added && xfs_apart_has(known->last.tid))
            continue;
        uint64_t worked = worked_ns(known, ns, window_ns);
        sums.all_ns += worked;
        sums.busiest_ns = worked > sums.busiest_ns ? worked : sums.busiest_ns;
        sums.worked += worked > window_ns / XFS_OTHERS_IDLE;
        others.threads[left++] = (struct known){{known->last.tid, ns}, true};
    }
    others.count = left;
    others.added = added;
    others.anew = false;
    return sums;
}

/* What the shorter of the last two took: one may have been interrupted. */
static uint64_t next_wait_ns(uint64_t took_ns)
{
    uint64_t before_ns = others.took_ns;
    others.took_ns = took_ns;
    uint64_t shorter_ns = before_ns && before_ns < took_ns ? before_ns : took_ns;
    return at_least(XFS_OTHERS_PART * shorter_ns, XFS_OTHERS_NS);
}

static bool is_due(uint64_t now)
{
    return now - atomic_load(&last_ns) >= atomic_load(&wait_ns);
}

/* Held. The first list is waited for in short steps. */
static struct sums sample(uint64_t window_ns, const struct simulated *by)
{
    struct sums sums = {0};
    uint64_t from_ns = by ? 0 : xfs_monotonic_ns();
    if (by)
        set_threads(by->all, by->count);
    if (others.listed)
        sums = read_threads(window_ns, by);
    if (!others.listed)
        atomic_store(&wait_ns, XFS_OTHERS_NS / 5);
    else
        atomic_store(&wait_ns, next_wait_ns(by ? 0 : xfs_monotonic_ns() - from_ns));
    return sums;
}

static void write_sums(uint64_t from_ns, uint64_t until_ns, const struct sums *sums, bool begins)
{
    const struct xft_event figures = {.start_ns = from_ns,
                                      .end_ns = until_ns,
                                      .src = XFT_PROCESSOR_OF_OTHERS,
                                      .aux = sums->busiest_ns,
                                      .width = sums->all_ns + 1,
                                      .count = sums->worked};
    xfs_processor_write(&figures, begins);
}

/* Whose turn it is by another clock is known once that has listed its threads: by then another one
 * may have made the sample. */
void xfs_others_look(uint64_t now, bool begins)
{
    struct simulated simulated = {.count = 0};
    const struct simulated *by = NULL;
    if (!is_due(now) || !xfs_may_call_kernel())
        return;
    if (!xfs_thread_is_timed_by_kernel()) {
        xfs_others_function *list = atomic_load(&other_clocks);
        simulated.count = list ? list(simulated.all, XFS_OTHERS_SIMULATED) : 0;
        by = &simulated;
        if (simulated.count == 0 || !is_due(now))
            return;
    }
    if (!take_hold(xfs_self->tid))
        return;
    uint64_t from_ns = atomic_exchange(&last_ns, now),
             window_ns = now > from_ns ? now - from_ns : 0;
    struct sums sums = sample(window_ns, by);
    let_go();
    atomic_store(&wanted, by == NULL);
    if (sums.busiest_ns > window_ns / XFS_OTHERS_IDLE)
        write_sums(from_ns, now, &sums, begins);
}
