#include "preload/record/bus.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/base/attributes.h"
#include "preload/base/real_dlsym.h"
#include "preload/record/life.h"

/* ---- the mappings ----------------------------------------------------------------------- */

#define PAGE 4096u

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

/* In a forked child xfs_life is wiped: the memory at these addresses belongs to the child. */
bool xfs_bus_mend(const void *address)
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

/* Sanitizers set their handlers before they can watch anything. */
#define EARLY __attribute__((no_sanitize("thread", "address")))

#define KEPT_FLAGS (SA_ONSTACK | SA_RESTART | SA_NODEFER)
#define RESTORER_FLAG 0x04000000 /* libc sets it in all that it hands to the kernel */

/* ---- libc's ------------------------------------------------------------------------------ */

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);
static sigaction_function *_Atomic real_sigaction;

EARLY static sigaction_function *find_sigaction(void)
{
    sigaction_function *found = atomic_load(&real_sigaction);
    if (found == NULL) { /* a constructor that runs before ours */
        found = (sigaction_function *)xfs_real_dlsym(RTLD_NEXT, "sigaction");
        atomic_store(&real_sigaction, found);
    }
    return found;
}

EARLY static int set_really(int number, const struct sigaction *new, struct sigaction *old)
{
    sigaction_function *real = find_sigaction();
    if (real)
        return real(number, new, old);
    errno = ENOSYS;
    return -1;
}

/* ---- what the kernel is given ------------------------------------------------------------ */

/*
 * Each disposition that the program sets gets an entry with a handler function of its own, and that
 * function is what the kernel is given. So the kernel's disposition says which one the program has,
 * and no other copy of it exists that two threads, a handler during a change, or a vforked child
 * (which shares this memory and has its own dispositions) could make wrong. An entry never changes;
 * programs have few.
 */
#define ENTRIES 32
enum state { FREE, BEING_MADE, READY };
static struct entry {
    atomic_int state;
    int flags;
    union {
        sighandler_t handler;
        void (*informed)(int, siginfo_t *, void *); /* SA_SIGINFO */
    };
} entries[ENTRIES];

static void on_bus(const struct entry *entry, int number, siginfo_t *info, void *context);

#define ENTER(i)                                                                                   \
    static void enter_##i(int number, siginfo_t *info, void *context)                              \
    {                                                                                              \
        on_bus(&entries[i], number, info, context);                                                \
    }
#define NAME(i) enter_##i,
#define EIGHT(X, a) X(a##0) X(a##1) X(a##2) X(a##3) X(a##4) X(a##5) X(a##6) X(a##7)
#define EACH(X) EIGHT(X, 0) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03) /* octal */

EACH(ENTER)
static void (*const enter[ENTRIES])(int, siginfo_t *, void *) = {EACH(NAME)};

/* NULL: not one of ours. */
static const struct entry *entry_of(sighandler_t handler)
{
    for (int i = 0; i < ENTRIES; i++)
        if ((void *)handler == (void *)enter[i])
            return atomic_load(&entries[i].state) == READY ? &entries[i] : NULL;
    return NULL;
}

/* Handlers and threads may be here at once: at worst they make two equal entries. -1: too many. */
static int make_entry(sighandler_t handler, int flags)
{
    for (int i = 0; i < ENTRIES; i++) {
        struct entry *entry = &entries[i];
        int state = atomic_load(&entry->state);
        if (state == READY && entry->handler == handler && entry->flags == flags)
            return i;
        if (state == FREE && atomic_compare_exchange_strong(&entry->state, &state, BEING_MADE)) {
            entry->handler = handler;
            entry->flags = flags;
            atomic_store(&entry->state, READY);
            return i;
        }
    }
    return -1;
}

/* Our handler in place of theirs, as the kernel gets it. SIG_IGN goes to the kernel as it is, since
 * exec passes it on; so does a handler for which no entry is left. */
static struct sigaction put_around(const struct sigaction *their)
{
    struct sigaction own = *their;
    if (their->sa_handler == SIG_IGN)
        return own;
    if (entry_of(their->sa_handler)) { /* the program read it from the kernel by a system call */
        own.sa_flags |= SA_SIGINFO;
        return own;
    }
    int i = make_entry(their->sa_handler, their->sa_flags);
    if (i < 0)
        return own;
    own.sa_sigaction = enter[i];
    own.sa_flags = (their->sa_flags & KEPT_FLAGS) | SA_SIGINFO;
    if (their->sa_handler == SIG_DFL)
        own.sa_flags |= SA_ONSTACK | SA_RESTART;
    return own;
}

/* The kernel's disposition as the program set it. The mask is the program's unchanged, and
 * siginterrupt() may have changed a flag. */
static void show(struct sigaction *seen)
{
    const struct entry *entry = entry_of(seen->sa_handler);
    if (entry == NULL)
        return;
    int kept = entry->handler == SIG_DFL ? 0 : KEPT_FLAGS;
    seen->sa_handler = entry->handler;
    seen->sa_flags = (entry->flags & ~kept) | (seen->sa_flags & kept);
    if ((entry->flags & RESTORER_FLAG) == 0)
        seen->sa_restorer = NULL;
}

/* ---- when it comes ----------------------------------------------------------------------- */

static XFS_TLS bool own_thread, left_to_others;

void xfs_bus_own_thread(void)
{
    sigset_t bus;
    if (own_thread && !left_to_others)
        return;
    if (sigpending(&bus) == 0 && sigismember(&bus, SIGBUS)) /* it is for another thread */
        return;
    own_thread = true;
    left_to_others = false;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
}

static void leave_to_others(const siginfo_t *info, ucontext_t *context)
{
    sigset_t bus;
    left_to_others = true;
    sigemptyset(&bus);
    sigaddset(&bus, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &bus, NULL);  /* with SA_NODEFER it would not be */
    sigaddset(&context->uc_sigmask, SIGBUS); /* and stays blocked on return */
    if (syscall(SYS_rt_sigqueueinfo, getpid(), SIGBUS, info) != 0) /* only with a negative code */
        kill(getpid(), SIGBUS);
}

/* As the kernel does: a faulting instruction is retried and meets the default; a signal that was
 * sent is sent again. */
static void end_by_default(const siginfo_t *info, bool again)
{
    struct sigaction none = {.sa_handler = SIG_DFL};
    set_really(SIGBUS, &none, NULL);
    if (!again)
        (void)syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, info);
}

static void reset(const struct entry *entry)
{
    struct sigaction now;
    if (set_really(SIGBUS, NULL, &now) != 0 || entry_of(now.sa_handler) != entry)
        return;
    show(&now);
    now.sa_handler = SIG_DFL;
    now = put_around(&now);
    set_really(SIGBUS, &now, NULL);
}

static void on_bus(const struct entry *entry, int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool fault = info->si_code > 0 && info->si_code != SI_KERNEL;
    bool mended = fault && xfs_bus_mend(info->si_addr);
    bool others = !mended && own_thread && info->si_code <= 0;
    if (others)
        leave_to_others(info, context);
    bool is_default = entry->handler == SIG_DFL;
    if (!mended && !others && is_default)
        end_by_default(info, fault && info->si_code != BUS_MCEERR_AO);
    if (!mended && !others && entry->flags & (int)SA_RESETHAND)
        reset(entry);
    errno = saved;
    if (mended || others || is_default)
        return;
    if (entry->flags & SA_SIGINFO)
        entry->informed(number, info, context);
    else
        entry->handler(number);
}

/* ---- the program's calls ----------------------------------------------------------------- */

static atomic_bool watching;

/* Puts an entry around the kernel's disposition. If another thread has set one meanwhile, that one
 * is set again. */
static void adopt(void)
{
    struct sigaction now, was;
    if (set_really(SIGBUS, NULL, &now) != 0 || now.sa_handler == SIG_IGN ||
        entry_of(now.sa_handler))
        return;
    for (int i = 0; i < 8; i++) {
        struct sigaction own = put_around(&now);
        if (set_really(SIGBUS, &own, &was) != 0 || was.sa_handler == now.sa_handler)
            return;
        now = was;
    }
}

void xfs_bus_watch(void)
{
    atomic_store(&watching, true);
    adopt();
}

#define EXPORTED __attribute__((visibility("default"))) EARLY

EXPORTED int sigaction(int number, const struct sigaction *restrict new,
                       struct sigaction *restrict old)
{
    struct sigaction own;
    if (number != SIGBUS || !atomic_load(&watching))
        return set_really(number, new, old);
    if (new) {
        own = *new;
        own.sa_flags |= RESTORER_FLAG;
        own = put_around(&own);
    }
    int status = set_really(number, new ? &own : NULL, old);
    if (status == 0 && old)
        show(old);
    return status;
}

/* Functions that take only a handler choose flags and mask themselves: libc sets them, and adopt()
 * puts an entry around the result. */
typedef sighandler_t signal_function(int, sighandler_t);
struct simple {
    const char *name;
    signal_function *_Atomic real;
};

EARLY static signal_function *find_simple(struct simple *simple)
{
    signal_function *found = atomic_load(&simple->real);
    if (found == NULL) {
        found = (signal_function *)xfs_real_dlsym(RTLD_NEXT, simple->name);
        atomic_store(&simple->real, found);
    }
    return found;
}

static sighandler_t as_program_knows(sighandler_t handler)
{
    const struct entry *entry = entry_of(handler);
    return entry ? entry->handler : handler;
}

EARLY static sighandler_t set_simply(struct simple *simple, int number, sighandler_t handler)
{
    signal_function *real = find_simple(simple);
    if (real == NULL) {
        errno = ENOSYS;
        return SIG_ERR;
    }
    if (number != SIGBUS || !atomic_load(&watching))
        return real(number, handler);
    sighandler_t before = real(number, as_program_knows(handler));
    if (before != SIG_ERR)
        adopt();
    return as_program_knows(before);
}

enum { SIGNAL, BSD_SIGNAL, SSIGNAL, SYSV_SIGNAL, SYSV_SIGNAL_2, SIGSET, SIMPLE };
static struct simple simple[SIMPLE] = {
    [SIGNAL] = {.name = "signal"},
    [BSD_SIGNAL] = {.name = "bsd_signal"},
    [SSIGNAL] = {.name = "ssignal"},
    [SYSV_SIGNAL] = {.name = "sysv_signal"},
    [SYSV_SIGNAL_2] = {.name = "__sysv_signal"},
    [SIGSET] = {.name = "sigset"},
};

#define SIMPLE_CALL(which, name)                                                                   \
    sighandler_t name(int, sighandler_t);                                                          \
    EXPORTED sighandler_t name(int number, sighandler_t handler)                                   \
    {                                                                                              \
        return set_simply(&simple[which], number, handler);                                        \
    }
SIMPLE_CALL(SIGNAL, signal)
SIMPLE_CALL(BSD_SIGNAL, bsd_signal)
SIMPLE_CALL(SSIGNAL, ssignal)
SIMPLE_CALL(SYSV_SIGNAL, sysv_signal)
SIMPLE_CALL(SYSV_SIGNAL_2, __sysv_signal)
SIMPLE_CALL(SIGSET, sigset)

/* Early, since a signal handler that calls these must not wait for the loader. */
__attribute__((constructor)) static void at_start(void)
{
    find_sigaction();
    for (int i = 0; i < SIMPLE; i++)
        find_simple(&simple[i]);
}
