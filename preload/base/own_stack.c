#include "preload/base/own_stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/base/attributes.h"
#include "preload/base/pool.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/sandbox.h"

#define SMALL_BYTES (256u << 10)
#define LARGE_BYTES (1u << 20)
#define GUARD_BYTES 4096u
/* Below programs, heaps, libraries and stacks; above the ranges that CUDA and sanitizers reserve.
 */
#define WANTED_ADDRESS ((char *)0x3e0000000000)

struct scratch {
    struct xfs_pool_node node;
    uintptr_t low;
    size_t bytes; /* from low to this struct, which lies at the top */
} __attribute__((aligned(64)));

static struct xfs_pool pool; /* of small ones; forked children go on with it */

/* What this thread keeps, and what its work runs on now. One store decides: a handler in between
 * sees the one or the other. */
static XFS_TLS struct scratch *kept;
static XFS_TLS bool wanted; /* a stack to keep: what comes after must not need the kernel */
static XFS_TLS struct scratch *volatile running;

/* In own_stack_switch.S. */
void xfs_stack_switch(void (*work)(void *), void *argument, void *top);

/* ---- alternate stacks ------------------------------------------------------------------- */

/* Recorded when the program sets it: reading it would be a system call. */
static XFS_TLS struct {
    uintptr_t low;
    size_t bytes;
} alternate;

typedef int sigaltstack_function(const stack_t *, stack_t *);
static sigaltstack_function *real_sigaltstack;

__attribute__((constructor)) static void find_sigaltstack(void)
{
    real_sigaltstack = (sigaltstack_function *)xfs_real_dlsym(RTLD_NEXT, "sigaltstack");
}

/* Sanitizers call it before they can watch anything. */
__attribute__((visibility("default"), no_sanitize("thread"))) int
sigaltstack(const stack_t *restrict new, stack_t *restrict old)
{
    stack_t copy = {0};
    if (new)
        copy = *new;
    int status =
        real_sigaltstack ? real_sigaltstack(new, old) : (int)syscall(SYS_sigaltstack, new, old);
    if (status == 0 && new) {
        alternate.low = (uintptr_t)copy.ss_sp;
        alternate.bytes = copy.ss_flags & SS_DISABLE ? 0 : copy.ss_size;
    }
    return status;
}

/* ---- switching -------------------------------------------------------------------------- */

static inline bool is_within(uintptr_t at, uintptr_t low, size_t bytes)
{
    return at - low < bytes;
}

bool xfs_is_on_alternate_stack(uintptr_t address)
{
    return is_within(address, alternate.low, alternate.bytes);
}

static inline void run_on(struct scratch *scratch, void (*work)(void *), void *argument)
{
    struct scratch *outer = running;
    running = scratch;
    xfs_stack_switch(work, argument, scratch);
    running = outer;
}

bool xfs_on_own_stack(void (*work)(void *), void *argument)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct scratch *now = running;
    if (now) {
        if (is_within(here, now->low, now->bytes)) {
            work(argument);
            return true;
        }
        if (is_within(here, alternate.low, alternate.bytes))
            return false;
        running = NULL; /* left by a jump */
    }
    if (__builtin_expect(is_within(here, alternate.low, alternate.bytes), 0))
        return false;
    if (__builtin_expect(kept == NULL, 0))
        return (!wanted || xfs_may_call_kernel()) && xfs_on_large_stack(work, argument);
    run_on(kept, work, argument);
    return true;
}

/* ---- memory ----------------------------------------------------------------------------- */

static struct scratch *map_scratch(size_t bytes)
{
    int saved = errno;
    char *map = mmap(WANTED_ADDRESS, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    struct scratch *scratch = NULL;
    if (map != MAP_FAILED) {
        mprotect(map, GUARD_BYTES, PROT_NONE);
        scratch = (struct scratch *)(map + bytes) - 1;
        scratch->low = (uintptr_t)map + GUARD_BYTES;
        scratch->bytes = (uintptr_t)scratch - scratch->low;
    }
    errno = saved;
    return scratch;
}

static void unmap_scratch(struct scratch *scratch, size_t bytes)
{
    int saved = errno;
    munmap((char *)(scratch + 1) - bytes, bytes);
    errno = saved;
}

/* On an alternate stack no other handler may start meanwhile. */
bool xfs_on_large_stack(void (*work)(void *), void *argument)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct scratch *now = running;
    bool handler = is_within(here, alternate.low, alternate.bytes);
    if (now && !is_within(here, now->low, now->bytes)) {
        if (handler)
            return false;
        running = now = NULL; /* left by a jump */
    }
    if (now && now->bytes > SMALL_BYTES) {
        work(argument);
        return true;
    }
    struct scratch *scratch = map_scratch(LARGE_BYTES);
    if (scratch == NULL)
        return false;
    sigset_t all, before;
    sigfillset(&all);
    if (handler)
        pthread_sigmask(SIG_SETMASK, &all, &before);
    run_on(scratch, work, argument);
    if (handler)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    unmap_scratch(scratch, LARGE_BYTES);
    return true;
}

/* ---- what a thread keeps ---------------------------------------------------------------- */

bool xfs_own_stack_keep(void)
{
    wanted = true;
    if (kept)
        return true;
    struct xfs_pool_node *node = xfs_pool_take(&pool);
    if (node == NULL && xfs_may_call_kernel())
        kept = map_scratch(SMALL_BYTES);
    else
        kept = (struct scratch *)node;
    return kept != NULL;
}

/* Not the one that this runs on. */
void xfs_own_stack_give_back(void)
{
    struct scratch *given = kept;
    wanted = false;
    if (given == NULL || running)
        return;
    kept = NULL;
    xfs_pool_put(&pool, &given->node);
}

void xfs_own_stacks_prepare(unsigned ready)
{
    while (atomic_load(&pool.count) < (int)ready) {
        struct scratch *scratch = map_scratch(SMALL_BYTES);
        if (scratch == NULL)
            return;
        xfs_pool_put(&pool, &scratch->node);
    }
}
