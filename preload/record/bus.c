#include "preload/record/bus.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/base/real_dlsym.h"
#include "preload/record/hot.h"

#define PAGE 4096u
#define KEPT_FLAGS (SA_ONSTACK | SA_RESTART | SA_NODEFER)

/* ---- what is mapped --------------------------------------------------------------------- */

struct xfs_bus_region {
    _Atomic uintptr_t start; /* 0: free */
    _Atomic size_t bytes;
    size_t unit;
};

#define REGIONS 160
struct xfs_bus_regions {
    struct xfs_bus_regions *next;
    atomic_uint used;
    struct xfs_bus_region region[REGIONS];
};

static XFS_TLS bool own_thread;

void xfs_bus_own_thread(void)
{
    sigset_t bus;
    own_thread = true;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
}

/* Threads may come here at once. */
static struct xfs_bus_region *take_region(struct xfs_life *life)
{
    for (;;) {
        struct xfs_bus_regions *first = atomic_load(&life->mapped);
        unsigned i = first ? atomic_fetch_add(&first->used, 1) : REGIONS;
        if (i < REGIONS)
            return &first->region[i];
        struct xfs_bus_regions *more =
            mmap(NULL, sizeof *more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED)
            return NULL;
        more->next = first;
        if (!atomic_compare_exchange_strong(&life->mapped, &first, more))
            munmap(more, sizeof *more);
    }
}

struct xfs_bus_region *xfs_bus_cover(void *start, size_t bytes, size_t unit)
{
    struct xfs_life *life = atomic_load(&xfs_life);
    struct xfs_bus_region *region = life ? take_region(life) : NULL;
    if (region == NULL)
        return NULL;
    region->unit = unit;
    atomic_store(&region->bytes, bytes);
    atomic_store(&region->start, (uintptr_t)start);
    return region;
}

void xfs_bus_leave(struct xfs_bus_region *region)
{
    if (region)
        atomic_store(&region->start, 0);
}

static bool replace(const struct xfs_bus_region *region, uintptr_t start, uintptr_t at)
{
    uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = start + ((at - start) / region->unit + 1) * region->unit;
    uintptr_t last = (start + region->bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    void *memory = mmap((void *)page, (end < last ? end : last) - page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return memory != MAP_FAILED;
}

/* The life is wiped in a forked child, where what lies at these addresses is the child's. */
static bool mend(const void *address)
{
    struct xfs_life *life = atomic_load(&xfs_life);
    uintptr_t at = (uintptr_t)address;
    const struct xfs_bus_regions *some = life ? atomic_load(&life->mapped) : NULL;
    for (; some; some = some->next) {
        unsigned used = atomic_load(&some->used);
        for (unsigned i = 0; i < used && i < REGIONS; i++) {
            uintptr_t start = atomic_load(&some->region[i].start);
            if (start && at - start < atomic_load(&some->region[i].bytes))
                return replace(&some->region[i], start, at);
        }
    }
    return false;
}

/* ---- the program's disposition ---------------------------------------------------------- */

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
typedef sighandler_t signal_function(int, sighandler_t);
static sigaction_function *_Atomic real_sigaction;
static signal_function *_Atomic real_signal;

/* The latest of them counts; an older one stays whole while a handler reads it. */
#define KEPT 16
static struct sigaction theirs[KEPT];
static atomic_uint changes;
static atomic_bool watching;

static void find_real(void)
{
    atomic_store(&real_sigaction, (sigaction_function *)xfs_real_dlsym(RTLD_NEXT, "sigaction"));
    atomic_store(&real_signal, (signal_function *)xfs_real_dlsym(RTLD_NEXT, "signal"));
}

__attribute__((constructor)) static void at_start(void)
{
    find_real();
}

static int set_really(int number, const struct sigaction *new, struct sigaction *old)
{
    if (atomic_load(&real_sigaction) == NULL) /* a constructor that runs before ours */
        find_real();
    sigaction_function *real = atomic_load(&real_sigaction);
    if (real)
        return real(number, new, old);
    errno = ENOSYS;
    return -1;
}

static void keep(const struct sigaction *their)
{
    unsigned next = atomic_load(&changes) + 1;
    theirs[next % KEPT] = *their;
    atomic_store(&changes, next);
}

static void on_bus(int number, siginfo_t *info, void *context);

/* Ours in the place of theirs, as it is called by the kernel. */
static int set_ours(const struct sigaction *their)
{
    struct sigaction own = *their;
    own.sa_sigaction = on_bus;
    own.sa_flags = (their->sa_flags & KEPT_FLAGS) | SA_SIGINFO;
    if (their->sa_handler == SIG_DFL)
        own.sa_flags |= SA_ONSTACK | SA_RESTART;
    return set_really(SIGBUS, &own, NULL);
}

/* As the kernel does it: the faulting instruction meets the default when it is tried again; what
 * was sent is sent again. */
static void end_by_default(const siginfo_t *info)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    set_really(SIGBUS, &none, NULL);
    if (info->si_code <= 0 || info->si_code == SI_KERNEL)
        raise(SIGBUS);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    if (info->si_code > 0 && info->si_code != SI_KERNEL && mend(info->si_addr)) {
        errno = saved;
        return;
    }
    if (own_thread && info->si_code <= 0) {
        sigaddset(&((ucontext_t *)context)->uc_sigmask, number);
        kill(getpid(), number);
        return;
    }
    struct sigaction their = theirs[atomic_load(&changes) % KEPT];
    errno = saved;
    if (their.sa_handler == SIG_DFL) {
        end_by_default(info);
        return;
    }
    if (their.sa_flags & (int)SA_RESETHAND)
        keep(&(struct sigaction){.sa_handler = SIG_DFL});
    if (their.sa_flags & SA_SIGINFO)
        their.sa_sigaction(number, info, context);
    else
        their.sa_handler(number);
}

void xfs_bus_watch(void)
{
    struct sigaction now;
    if (atomic_load(&watching) || set_really(SIGBUS, NULL, &now) != 0 || now.sa_handler == SIG_IGN)
        return;
    keep(&now);
    atomic_store(&watching, set_ours(&now) == 0);
}

static void answer(struct sigaction *old)
{
    if (old)
        *old = theirs[atomic_load(&changes) % KEPT];
}

/* One that ignores it goes to the kernel as it is: programs that are started inherit that. */
static int change(const struct sigaction *new, struct sigaction *old)
{
    struct sigaction copy = *new, before;
    answer(&before);
    if (copy.sa_handler == SIG_IGN)
        atomic_store(&watching, false);
    else
        keep(&copy);
    int status = copy.sa_handler == SIG_IGN ? set_really(SIGBUS, &copy, NULL) : set_ours(&copy);
    if (status == 0 && old)
        *old = before;
    return status;
}

__attribute__((visibility("default"), no_sanitize("thread"))) int
sigaction(int number, const struct sigaction *restrict new, struct sigaction *restrict old)
{
    if (number != SIGBUS || !atomic_load(&watching))
        return set_really(number, new, old);
    if (new)
        return change(new, old);
    answer(old);
    return 0;
}

__attribute__((visibility("default"), no_sanitize("thread"))) sighandler_t
signal(int number, sighandler_t handler)
{
    if (atomic_load(&real_signal) == NULL)
        find_real();
    signal_function *real = atomic_load(&real_signal);
    if (number != SIGBUS || !atomic_load(&watching) || handler == SIG_ERR)
        return real ? real(number, handler) : SIG_ERR;
    struct sigaction new = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigemptyset(&new.sa_mask);
    sigaddset(&new.sa_mask, number);
    return change(&new, &old) == 0 ? old.sa_handler : SIG_ERR;
}
