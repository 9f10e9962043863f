#include "preload/record/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/attributes.h"
#include "preload/record/clock.h"
#include "preload/base/sandbox.h"

uint64_t xfs_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(xfs_no_counter ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>

/* One counter reading and the time at it, taken at recording's start: the base of the rate. */
static uint64_t base_ticks, base_ns;
static atomic_bool usable;

#define RATE_SHIFT 32
#define RATE_AFTER_NS 1000000 /* the rate is used once it was measured for this long */
#define ANCHOR_NS 4000000     /* how long an anchor holds */

static XFS_TLS struct {
    uint64_t ticks, ns; /* the anchor */
    uint64_t valid;     /* for this many ticks; 0 = no anchor yet */
    uint64_t rate;      /* ns per tick, fixed point */
    uint64_t last;      /* what was answered last */
} anchor;

static bool counter_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}

/* The kernel keeps time by the counter: it is the same on all processors and never stops. */
static bool kernel_uses_counter(void)
{
    char name[16] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    return n > 0 && (strcmp(name, "tsc\n") == 0 || strcmp(name, "kvm-clock\n") == 0);
}

/* A reading between two others: the narrowest of a few, since the thread may be interrupted. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = __rdtsc(), now = xfs_monotonic_ns(), after = __rdtsc();
        if (i > 0 && after - before >= narrowest)
            continue;
        narrowest = after - before;
        *ticks = before + (after - before) / 2;
        *ns = now;
    }
}

void xfs_clock_start(void)
{
    int saved = errno;
    if (!atomic_load(&usable) && counter_is_invariant() && kernel_uses_counter()) {
        read_both(&base_ticks, &base_ns);
        atomic_store_explicit(&usable, true, memory_order_release);
    }
    errno = saved;
}

static uint64_t keep_order(uint64_t now)
{
    if (now < anchor.last)
        now = anchor.last;
    anchor.last = now;
    return now;
}

/* Also until recording starts, and where the counter cannot be used: there is no anchor then. */
static __attribute__((cold, noinline)) uint64_t anchor_again(void)
{
    if (!atomic_load_explicit(&usable, memory_order_acquire))
        return xfs_monotonic_ns();
    uint64_t ticks, ns;
    read_both(&ticks, &ns);
    anchor.valid = 0;
    if (ns - base_ns >= RATE_AFTER_NS && ticks > base_ticks) {
        anchor.rate =
            (uint64_t)(((unsigned __int128)(ns - base_ns) << RATE_SHIFT) / (ticks - base_ticks));
        anchor.ticks = ticks;
        anchor.ns = ns;
        if (anchor.rate)
            anchor.valid = ((uint64_t)ANCHOR_NS << RATE_SHIFT) / anchor.rate;
    }
    return keep_order(ns);
}

static inline __attribute__((always_inline)) uint64_t host_clock(void)
{
    if (__builtin_expect(xfs_no_counter, 0))
        return keep_order(xfs_monotonic_ns());
    uint64_t passed = __rdtsc() - anchor.ticks;
    if (passed >= anchor.valid) /* also when the counter of another processor is behind */
        return anchor_again();
    return keep_order(anchor.ns +
                      (uint64_t)(((unsigned __int128)passed * anchor.rate) >> RATE_SHIFT));
}

#else

void xfs_clock_start(void)
{
}

static uint64_t host_clock(void)
{
    return xfs_monotonic_ns();
}

#endif

static uint64_t (*_Atomic other_clock)(void);

static inline __attribute__((always_inline)) uint64_t read_clock(void)
{
    uint64_t (*other)(void) = atomic_load_explicit(&other_clock, memory_order_relaxed);
    return __builtin_expect(other == NULL, 1) ? host_clock() : other();
}

uint64_t xfs_now_ns(void)
{
    return read_clock();
}

XFS_COLD uint64_t xfs_now_apart_ns(void)
{
    return read_clock();
}

void xfs_clock_use(uint64_t (*now)(void))
{
    atomic_store(&other_clock, now);
}

bool xfs_clock_is_monotonic(void)
{
    return atomic_load(&other_clock) == NULL;
}

static uint64_t (*_Atomic of_threads)(void);

void xfs_clock_use_of_threads(uint64_t (*ns)(void))
{
    atomic_store(&of_threads, ns);
}

static uint64_t kernels_ns(clockid_t clock)
{
    const uint64_t second = 1000000000;
    struct timespec t;
    if (!xfs_may_call_kernel() || clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

XFS_COLD uint64_t xfs_kernel_thread_ns(void)
{
    return kernels_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The clock of a thread of this process, by the kernel's numbers of clocks; of another process's
 * there is none. */
XFS_COLD uint64_t xfs_kernel_ns_of(int tid)
{
    const unsigned of_thread = 4, scheduled = 2;
    return kernels_ns((clockid_t)(~(unsigned)tid << 3 | of_thread | scheduled));
}

XFS_COLD bool xfs_thread_is_timed_by_kernel(void)
{
    return xfs_clock_is_monotonic() || atomic_load(&of_threads) == xfs_kernel_thread_ns;
}

XFS_COLD uint64_t xfs_thread_ns(void)
{
    uint64_t (*ns)(void) = atomic_load(&of_threads);
    if (xfs_clock_is_monotonic())
        return xfs_kernel_thread_ns();
    return ns ? ns() : 0;
}

static uint64_t (*_Atomic of_process)(void);

void xfs_clock_use_of_process(uint64_t (*ns)(void))
{
    atomic_store(&of_process, ns);
}

XFS_COLD uint64_t xfs_process_ns(void)
{
    uint64_t (*ns)(void) = atomic_load(&of_process);
    if (xfs_thread_is_timed_by_kernel())
        return kernels_ns(CLOCK_PROCESS_CPUTIME_ID);
    return ns ? ns() : 0;
}
