#include "preload/apply/team/team.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/base/apart.h"

#define MOST_JOBS 32
#define MOST_THREADS 64
#define STACK_BYTES (512u << 10)
#define AWAKE_ROUNDS 4000 /* some 100 us: while an operation is under way */
#define LAST_ROUNDS 40    /* some us: while none is */
#define SLEEP_NS 1000000000
#define LEAVE_NS 100000
#define LEAVE_ROUNDS 5000 /* half a second */

static struct xfs_job *_Atomic jobs[MOST_JOBS];
static atomic_uint job_count;
static atomic_uint threads, sleeping;
static atomic_uint calls; /* a futex: raised by each call */
static atomic_ullong cpu_ns;
static atomic_bool leaving;
static atomic_int ids[MOST_THREADS]; /* the kernel's, of those that live; 0: free */

bool xfs_team_add(struct xfs_job *job)
{
    unsigned at = atomic_fetch_add(&job_count, 1);
    if (at >= MOST_JOBS) {
        atomic_fetch_sub(&job_count, 1);
        return false;
    }
    atomic_store(&jobs[at], job);
    return true;
}

enum found { NOTHING, MORE_TO_COME, A_CHUNK };

static enum found step_any(void)
{
    enum found found = NOTHING;
    for (unsigned i = 0; i < MOST_JOBS; i++) {
        struct xfs_job *job = atomic_load_explicit(&jobs[i], memory_order_acquire);
        if (job == NULL)
            break;
        if (xfs_job_step(job))
            return A_CHUNK;
        if (atomic_load_explicit(&job->going, memory_order_relaxed))
            found = MORE_TO_COME;
    }
    return found;
}

/* ---- a thread -------------------------------------------------------------------------------- */

static unsigned long long own_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

/* False: nobody has called for a second. `seen`: the call since which there was nothing to do. */
static bool sleep_after(unsigned seen)
{
    struct timespec limit = {.tv_sec = SLEEP_NS / 1000000000, .tv_nsec = SLEEP_NS % 1000000000};
    atomic_fetch_add(&sleeping, 1);
    syscall(SYS_futex, &calls, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
    atomic_fetch_sub(&sleeping, 1);
    return atomic_load(&calls) != seen;
}

/* Works until nothing was found for a while. */
static void work_on(void)
{
    enum found found = A_CHUNK;
    for (unsigned idle = 0; idle < (found == NOTHING ? LAST_ROUNDS : AWAKE_ROUNDS); idle++) {
        if (atomic_load(&leaving))
            return;
        found = step_any();
        if (found == A_CHUNK)
            idle = 0;
        else
            __builtin_ia32_pause();
    }
}

/* Where the thread's number stands until it ends. */
static atomic_int *note_id(void)
{
    int own = (int)syscall(SYS_gettid);
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&ids[i], &none, own))
            return &ids[i];
    }
    return NULL; /* one that is being left ends unseen */
}

static void *copier(void *unused)
{
    unsigned long long counted = 0, now;
    unsigned seen;
    atomic_int *id = note_id();
    int tid = (int)gettid();
    xfs_apart_add(tid);
    do {
        seen = atomic_load(&calls);
        work_on();
        now = own_cpu_ns();
        atomic_fetch_add(&cpu_ns, now - counted);
        counted = now;
    } while (!atomic_load(&leaving) && (atomic_load(&calls) != seen || sleep_after(seen)));
    if (id && !atomic_load(&leaving))
        atomic_store(id, 0);
    xfs_apart_remove(tid);
    atomic_fetch_sub(&threads, 1);
    return unused;
}

/* ---- the team -------------------------------------------------------------------------------- */

static void add_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t most, before;
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(&most);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&most, faults[i]);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    if (pthread_create(&thread, &attributes, copier, NULL) != 0)
        atomic_fetch_sub(&threads, 1);
    else
        pthread_setname_np(thread, "xferscope-copy");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

void xfs_team_call(struct xfs_job *job, unsigned wanted)
{
    atomic_store(&job->going, true);
    unsigned there = atomic_load(&threads);
    if (wanted > MOST_THREADS)
        wanted = MOST_THREADS;
    while (there < wanted && !atomic_load(&leaving)) {
        if (!atomic_compare_exchange_weak(&threads, &there, there + 1))
            continue;
        add_thread();
        there = atomic_load(&threads) < there + 1 ? wanted : there + 1; /* it could not be made */
    }
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&sleeping) > 0)
        syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool any_lives(void)
{
    bool any = atomic_load(&threads) > 0;
    int process = getpid();
    for (unsigned i = 0; i < MOST_THREADS && !any; i++) {
        int id = atomic_load(&ids[i]);
        any = id != 0 && syscall(SYS_tgkill, process, id, 0) == 0;
    }
    return any;
}

void xfs_team_leave(void)
{
    atomic_store(&leaving, true);
    atomic_fetch_add(&calls, 1);
    syscall(SYS_futex, &calls, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    for (int i = 0; i < LEAVE_ROUNDS && any_lives(); i++)
        nanosleep(&(struct timespec){0, LEAVE_NS}, NULL);
}

unsigned long long xfs_team_cpu_ns(void)
{
    return atomic_load(&cpu_ns);
}

void xfs_team_after_fork(void)
{
    atomic_store(&threads, 0);
    atomic_store(&sleeping, 0);
    atomic_store(&leaving, false);
    for (unsigned i = 0; i < MOST_THREADS; i++)
        atomic_store(&ids[i], 0);
    atomic_store(&job_count, 0);
    for (unsigned i = 0; i < MOST_JOBS; i++)
        atomic_store(&jobs[i], NULL);
}
