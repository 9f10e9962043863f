#include "preload/lookup/resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "common/search.h"
#include "preload/base/own_stack.h"
#include "preload/base/real_dlsym.h"
#include "preload/base/unloads.h"
#include "preload/lookup/driver.h"
#include "preload/lookup/rows.h"
#include "preload/lookup/runtime.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/terms.h"

#define FROM_ASSEMBLY __attribute__((used)) /* dlsym.S, which the optimiser does not see */
/* Sanitizers look up what they intercept through our dlsym, before they can watch anything. */
#define BEFORE_SANITIZERS __attribute__((no_sanitize("thread", "address")))

/* ---- the driver ------------------------------------------------------------------------ */

static int not_found(void)
{
    return XCU_ERROR_NOT_FOUND;
}

/* Real address to wrapper, sorted by address. */
struct pair {
    uintptr_t real;
    uintptr_t wrapper;
};
static struct pair pairs[XFS_ROWS_MOST + 16];
static size_t pair_count;
xfs_function _Atomic xfs_driver_real[XFS_ROWS_MOST];
static atomic_int driver_ready;
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static int compare_pairs(const void *a, const void *b)
{
    uintptr_t x = ((const struct pair *)a)->real, y = ((const struct pair *)b)->real;
    return x < y ? -1 : x > y;
}

static void add_pair(void *real, void (*wrapper)(void))
{
    if (real && pair_count < sizeof pairs / sizeof *pairs)
        pairs[pair_count++] = (struct pair){(uintptr_t)real, (uintptr_t)wrapper};
}

/* Insertion sort: qsort may call malloc, which may be the program's own. */
static void sort_pairs(void)
{
    for (size_t i = 1; i < pair_count; i++) {
        struct pair pair = pairs[i];
        size_t j = i;
        for (; j > 0 && compare_pairs(&pair, &pairs[j - 1]) < 0; j--)
            pairs[j] = pairs[j - 1];
        pairs[j] = pair;
    }
}

static xfs_function called_for(const char *symbol, void *real)
{
    if (real == NULL)
        return (xfs_function)not_found;
    return xfs_in_place ? xfs_in_place(symbol, (xfs_function)real) : (xfs_function)real;
}

static void resolve_driver(void *unused)
{
    for (unsigned i = 0; i < xfs_row_count; i++) {
        if (xfs_rows[i].level != XFT_LEVEL_DRIVER)
            continue;
        void *real = xfs_driver_symbol(xfs_rows[i].symbol);
        atomic_store_explicit(&xfs_driver_real[i], called_for(xfs_rows[i].symbol, real),
                              memory_order_release);
        add_pair(real, xfs_rows[i].wrapper);
    }
    for (size_t i = 0; i < xfs_special_count; i++)
        if (xfs_specials[i].driver)
            add_pair(xfs_driver_symbol(xfs_specials[i].symbol), xfs_specials[i].wrapper);
    sort_pairs();
}

/* False while the driver is not loaded. */
static bool ready(void)
{
    if (atomic_load_explicit(&driver_ready, memory_order_acquire))
        return true;
    if (xfs_driver_handle() == NULL)
        return false;
    int saved = errno;
    pthread_mutex_lock(&driver_lock);
    if (!atomic_load(&driver_ready)) {
        xfs_on_any_stack(resolve_driver, NULL);
        atomic_store_explicit(&driver_ready, 1, memory_order_release);
    }
    pthread_mutex_unlock(&driver_lock);
    errno = saved;
    return true;
}

static bool lies_before(const void *pair, const void *address)
{
    return ((const struct pair *)pair)->real < *(const uintptr_t *)address;
}

void *xfs_substitute(void *address)
{
    if (address == NULL || !ready())
        return address;
    uintptr_t real = (uintptr_t)address;
    size_t at = xfc_partition(pairs, pair_count, sizeof *pairs, lies_before, &real);
    return at < pair_count && pairs[at].real == real ? (void *)pairs[at].wrapper : address;
}

/* ---- the runtime ------------------------------------------------------------------------ */

/* Return address and call to real function. One whose slot another has lies in one of the next
 * slots; where these are taken, too, it gets the other's. */
struct xfs_caller xfs_callers[XFS_CALLER_SLOTS];
#define CALLERS_NEXT 8

static struct xfs_caller *next_caller(uintptr_t key, unsigned i)
{
    size_t home = (size_t)(xfs_caller_of(key) - xfs_callers);
    return &xfs_callers[(home + i) % XFS_CALLER_SLOTS];
}

/* NULL: not known. */
static xfs_function known_further_on(uintptr_t key)
{
    for (unsigned i = 1; i < CALLERS_NEXT; i++) {
        struct xfs_caller *slot = next_caller(key, i);
        if (atomic_load_explicit(&slot->key, memory_order_acquire) != key)
            continue;
        uintptr_t function = atomic_load_explicit(&slot->function, memory_order_acquire);
        if (atomic_load_explicit(&slot->key, memory_order_acquire) == key)
            return (xfs_function)function;
    }
    return NULL;
}

static struct xfs_caller *place_for(uintptr_t key)
{
    for (unsigned i = 0; i < CALLERS_NEXT; i++)
        if (atomic_load_explicit(&next_caller(key, i)->key, memory_order_relaxed) == 0)
            return next_caller(key, i);
    return next_caller(key, 0);
}

xfs_function _Atomic xfs_next_real[XFS_ROWS_MOST];

static struct xfs_wanted wanted_of(unsigned call, const void *caller)
{
    const struct xfs_row *row = xfs_row_of(call);
    return (struct xfs_wanted){.symbol = row->symbol,
                               .version = row->version,
                               .wrapper = (const void *)row->wrapper,
                               .caller = caller,
                               .next = row->level == XFT_LEVEL_MPI};
}

static xfs_function real_runtime(unsigned call, const void *caller)
{
    static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;
    uintptr_t key = xfs_caller_key(call, caller);
    xfs_function known = known_further_on(key);
    if (known)
        return known;
    struct xfs_wanted wanted = wanted_of(call, caller);
    xfs_find_wanted(&wanted);
    xfs_function function = wanted.found ? (xfs_function)wanted.found : (xfs_function)not_found;
    if (wanted.found_next)
        atomic_store_explicit(&xfs_next_real[call - XFS_ROWS_MOST], function, memory_order_release);
    if (wanted.found_next || (wanted.found == NULL && call >= XFS_ROWS_MOST))
        return function; /* not found: its library may be loaded yet */
    /* Two writers could mix their entries; a lock that was held during fork must not block. */
    if (pthread_mutex_trylock(&write_lock) == 0) {
        struct xfs_caller *slot = place_for(key);
        atomic_store_explicit(&slot->key, 0, memory_order_release);
        atomic_store_explicit(&slot->function, (uintptr_t)function, memory_order_release);
        atomic_store_explicit(&slot->key, key, memory_order_release);
        pthread_mutex_unlock(&write_lock);
    }
    return function;
}

xfs_function xfs_real(unsigned call, const void *caller)
{
    if (call >= XFS_ROWS_MOST || xfs_rows[call].level == XFT_LEVEL_RUNTIME)
        return real_runtime(call, caller);
    return ready() ? xfs_driver_real[call] : (xfs_function)not_found;
}

/* ---- dlsym as the program sees it --------------------------------------------------------- */

static const struct xfs_special *special_of(const char *name)
{
    for (size_t i = 0; i < xfs_special_count; i++)
        if (strcmp(xfs_specials[i].symbol, name) == 0)
            return &xfs_specials[i];
    return NULL;
}

/*
 * Driver functions are answered through any handle. Runtime functions only in the global scope,
 * where a program without cudart would otherwise find our wrappers; look-ups through a handle are
 * passed on, and their driver calls are caught instead.
 */
static bool is_our_name(const char *name, bool global)
{
    for (unsigned i = 0; i < xfs_row_count; i++)
        if ((global || xfs_rows[i].level == XFT_LEVEL_DRIVER) &&
            strcmp(xfs_rows[i].symbol, name) == 0)
            return true;
    return special_of(name) != NULL;
}

BEFORE_SANITIZERS static bool begins(const char *name, const char *with)
{
    while (*with && *name == *with)
        name++, with++;
    return *with == '\0';
}

static bool is_message_name(const char *name)
{
    for (unsigned i = 0; i < xfs_message_row_count; i++)
        if (strcmp(xfs_message_rows[i].symbol, name) == 0)
            return true;
    return false;
}

/*
 * Called by dlsym.S for every look-up: whether this library answers it. RTLD_NEXT never: it means
 * "after the caller", and only a jump that keeps the caller can answer that.
 */
int xfs_dlsym_is_ours(void *handle, const char *name) FROM_ASSEMBLY BEFORE_SANITIZERS;
int xfs_dlsym_is_ours(void *handle, const char *name)
{
    if (atomic_load_explicit(&xfs_dlsym_address, memory_order_relaxed) == NULL)
        xfs_find_real_dlsym();
    if (handle == RTLD_NEXT || name == NULL)
        return false;
    if (begins(name, "cu"))
        return is_our_name(name, handle == RTLD_DEFAULT);
    return (begins(name, "MPI") || begins(name, "PMPI") || begins(name, "nccl")) &&
           is_message_name(name);
}

/*
 * The global scope holds our wrappers whether or not the program has CUDA. The answer is the
 * wrapper when there is a real function behind it, and none otherwise.
 */
static void answer_global(void *arguments)
{
    struct xfs_wanted *wanted = arguments;
    const char *name = wanted->symbol;
    void *found = xfs_real_dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        Dl_info info;
        void *handle = dladdr(wanted->caller, &info) && info.dli_fname
                           ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY)
                           : NULL;
        found = handle ? xfs_real_dlsym(handle, name) : NULL;
        if (handle)
            xfs_unload(handle, NULL);
    }
    Dl_info own, of_found;
    bool leads_back = found && dladdr((void *)xfs_dlsym_is_ours, &own) &&
                      dladdr(found, &of_found) && own.dli_fbase == of_found.dli_fbase;
    wanted->found =
        leads_back ? NULL
                   : found; /* the scope leads back to this library: there is no other function */
}

static void *find_global(const char *name, const void *caller)
{
    struct xfs_wanted wanted = {.symbol = name, .caller = caller};
    xfs_on_any_stack(answer_global, &wanted);
    return wanted.found;
}

static void *wrapper_of_runtime(const char *name)
{
    for (unsigned i = 0; i < xfs_row_count; i++)
        if (xfs_rows[i].level == XFT_LEVEL_RUNTIME && xfs_rows[i].version == 0 &&
            strcmp(xfs_rows[i].symbol, name) == 0)
            return (void *)xfs_rows[i].wrapper;
    return NULL;
}

/* Of MPI and NCCL there is nothing below their functions that could be caught instead, so they are
 * answered through any handle: by the wrapper, if that would call what was found. Of several of
 * these libraries it could be another's. */
static void *answer_message(const char *name, const void *caller, void *found)
{
    unsigned i = 0;
    while (strcmp(xfs_message_rows[i].symbol, name) != 0)
        i++;
    const void *real = (const void *)real_runtime(XFS_ROWS_MOST + i, caller);
    const void *wrapper = (const void *)xfs_message_rows[i].wrapper;
    if (real == (const void *)not_found)
        return found == wrapper ? NULL : found; /* the program's own handle leads here */
    return found == real || found == wrapper ? (void *)(uintptr_t)wrapper : found;
}

void *xfs_dlsym_answer(void *handle, const char *name, const void *caller) FROM_ASSEMBLY;
void *xfs_dlsym_answer(void *handle, const char *name, const void *caller)
{
    int saved = errno;
    bool global = handle == RTLD_DEFAULT;
    void *found = global ? find_global(name, caller) : xfs_real_dlsym(handle, name);
    if (found && name[0] != 'c') {
        found = answer_message(name, caller, found);
    } else if (found && !xfs_is_driver_code(caller)) {
        const struct xfs_special *special = special_of(name);
        void *wrapper = special && special->learn ? (void *)special->wrapper : NULL;
        if (wrapper && found != wrapper) /* else the loader's global scope led to this library */
            special->learn(found);
        if (wrapper == NULL && global)
            wrapper = wrapper_of_runtime(name);
        found = wrapper ? wrapper : xfs_substitute(found);
    }
    errno = saved;
    return found;
}

/* ---- dlclose, as the program sees it -------------------------------------------------------- */

/* A caller or a function may be gone, and other code may lie at its address: it is looked up again.
 */
static void forget_callers(void)
{
    for (size_t i = 0; i < XFS_CALLER_SLOTS; i++)
        atomic_store_explicit(&xfs_callers[i].key, 0, memory_order_release);
    for (size_t i = 0; i < XFS_ROWS_MOST; i++)
        atomic_store_explicit(&xfs_next_real[i], NULL, memory_order_release);
}

/* What libc's does, and this library knows that code has gone. It is not caller-dependent as dlopen
 * is: a call from here is as good as a jump. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    bool gone;
    int result = xfs_unload(handle, &gone);
    if (gone)
        forget_callers();
    return result;
}
