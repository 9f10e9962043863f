#include "preload/apply/state/state.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "preload/apply/state/driver.h"
#include "preload/apply/state/limits.h"
#include "preload/apply/team/team.h"
#include "preload/apply/state/report.h"
#include "preload/base/attributes.h"
#include "preload/base/guard.h"
#include "preload/base/own_stack.h"
#include "preload/base/sandbox.h"
#include "preload/base/settings.h"
#include "preload/unwind/unwind.h"

#define MOST_THREADS 16   /* more add nothing: the link is full before */
#define LOOK_NS 100000000 /* between two readings of the CPU time */

enum state { NOT_STARTED, STARTED, CANNOT };

static atomic_int state;
static struct xfs_limits limits;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

/* ---- captures -------------------------------------------------------------------------------- */

static int (*captures_now)(void);
static atomic_bool passes_on;
static _Atomic uint64_t passed_ns; /* when it began last */

void xfs_apply_pass_on(bool all)
{
    if (all)
        atomic_store_explicit(&passed_ns, xfs_apply_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&passes_on, all, memory_order_relaxed);
}

bool xfs_apply_passed_since(uint64_t ns)
{
    return atomic_load_explicit(&passed_ns, memory_order_relaxed) > ns;
}

void xfs_apply_watch_captures(int (*now)(void))
{
    captures_now = now;
}

bool xfs_apply_captures(void)
{
    return captures_now == NULL || captures_now() > 0 ||
           atomic_load_explicit(&passes_on, memory_order_relaxed);
}

/* ---- threads of the program ------------------------------------------------------------------ */

static pthread_key_t leaving;
static bool watches; /* the key was made */

static void thread_leaves(void *unused)
{
    (void)unused;
    xfs_own_stack_give_back();
}

void xfs_apply_enter(void)
{
    static XFS_TLS bool entered;
    if (entered || !watches)
        return;
    entered = true;
    if (pthread_setspecific(leaving, &leaving) == 0)
        (void)xfs_own_stack_keep();
}

/* ---- the start ------------------------------------------------------------------------------- */

bool xfs_apply_started(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == STARTED;
}

/* On a thread of its own, which leaves the program's table of descriptors. */
static void *look_around(void *unused)
{
    (void)unshare(CLONE_FILES); /* it is gone in a moment, and so are its copies of descriptors */
    xfs_limits_read(&limits);
    (void)xfs_report();
    return unused;
}

/* It takes none of the program's signals. */
static bool look_apart(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&thread, NULL, look_around, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made && pthread_join(thread, NULL) == 0;
}

/* In prctl. */
static void restrict_begins(void)
{
    int saved = errno;
    xfs_team_leave();
    errno = saved;
}

static void begin_watching(void)
{
    watches = pthread_key_create(&leaving, thread_leaves) == 0;
}

bool xfs_apply_start(void)
{
    static atomic_bool watched;
    if (atomic_load(&state) == CANNOT || pthread_mutex_trylock(&starting) != 0)
        return false;
    struct xfs_guard guard = xfs_guard_enter();
    if (atomic_load(&state) == NOT_STARTED) {
        if (!atomic_exchange(&watched, true))
            begin_watching();
        atomic_store(&xfs_sandbox_begins, restrict_begins);
        xfs_unwind_init();
        atomic_store(&state, look_apart() && limits.processors > 1 ? STARTED : CANNOT);
    }
    xfs_guard_leave(guard);
    pthread_mutex_unlock(&starting);
    return xfs_apply_started();
}

bool xfs_apply_after_fork(void)
{
    int before = atomic_exchange(&state, NOT_STARTED);
    pthread_mutex_init(&starting, NULL);
    return before != NOT_STARTED;
}

static void start(void *argument)
{
    *(bool *)argument = xfs_apply_start();
}

bool xfs_apply_begin(void)
{
    bool started = xfs_apply_started();
    if (!started)
        xfs_on_large_stack(start, &started);
    if (started)
        xfs_apply_enter();
    return started;
}

/* ---- what it may use ------------------------------------------------------------------------- */

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Processors that the program's own threads kept busy since the last look, in hundredths. */
static unsigned used(void)
{
    static atomic_ullong looked_ns, cpu_then_ns;
    static atomic_uint busy = 100;
    unsigned long long now = read_ns(CLOCK_MONOTONIC), then = atomic_load(&looked_ns);
    if (now - then < LOOK_NS || !atomic_compare_exchange_strong(&looked_ns, &then, now))
        return atomic_load(&busy);
    unsigned long long own = xfs_team_cpu_ns(), all = read_ns(CLOCK_PROCESS_CPUTIME_ID);
    unsigned long long cpu = all > own ? all - own : 0;
    unsigned long long before = atomic_exchange(&cpu_then_ns, cpu);
    if (then != 0 && cpu >= before)
        atomic_store(&busy, (unsigned)((cpu - before) * 100 / (now - then)));
    return atomic_load(&busy);
}

unsigned xfs_apply_threads(void)
{
    unsigned cores = limits.processors, busy = (used() + 50) / 100, most = cores / 2;
    unsigned idle = busy < cores ? cores - busy : 0, limit = xfs_settings()->apply_threads;
    if (most > MOST_THREADS)
        most = MOST_THREADS;
    if (limit > 0 && limit < most)
        most = limit;
    return idle < most ? idle : most;
}

uint64_t xfs_apply_memory(void)
{
    uint64_t wanted = xfs_settings()->apply_memory, bearable = limits.memory / 8;
    return wanted < bearable ? wanted : bearable;
}

bool xfs_apply_has_room(uint64_t bytes, uint64_t had)
{
    struct sysinfo now;
    uint64_t bearable = limits.memory / 8;
    return had <= bearable && bytes <= bearable - had && sysinfo(&now) == 0 &&
           bytes <= (uint64_t)now.freeram * now.mem_unit / 2;
}
