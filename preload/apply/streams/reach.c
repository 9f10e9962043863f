#include "preload/apply/streams/reach.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/apply/calls/ends.h"
#include "preload/apply/state/driver.h"
#include "preload/apply/site/plan.h"
#include "preload/base/brief_lock.h"
#include "preload/base/sandbox.h"
#include "preload/lookup/layout.h"

#define KERNELS 256 /* a power of two; one takes the place of another */
#define RUNS 16     /* of words, among a kernel's parameters */
#define WORDS 64    /* that may be pointers */
#define SPINS 20000
#define LEAST_ADDRESS 65536 /* below it there is no memory (vm.mmap_min_addr) */
#define PAGE UINT64_C(4096)
#define PAGEABLE_MEMORY_ACCESS 88 /* CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS */

struct kernel {
    const void *function; /* NULL: free */
    uint32_t generation, times;
    bool known;     /* where its parameters lie */
    uint64_t reads; /* bit k: what the parameter of that index points to is only read */
    uint16_t runs;
    struct xfs_run run[RUNS];
};

static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct kernel kernels[KERNELS];
static _Atomic uint32_t generation = 1; /* of modules */

/* ---- its parameters -------------------------------------------------------------------------- */

static struct kernel *slot_of(const void *function)
{
    return &kernels[((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 40 & (KERNELS - 1)];
}

static bool find(const void *function, struct kernel *found)
{
    struct kernel *at = slot_of(function);
    if (!xfs_brief_take(&taken, SPINS))
        return false;
    bool has = at->function == function && at->generation == atomic_load(&generation);
    *found = *at;
    at->times += has;
    xfs_brief_give_back(&taken);
    return has;
}

const char *xfs_reach_name(const void *function)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    const char *name = NULL;
    if (driver->function_name && driver->function_name(&name, function) == XCU_SUCCESS && name)
        return name;
    if (driver->kernel_name && driver->kernel_name(&name, function) == XCU_SUCCESS && name)
        return name;
    return NULL;
}

static uint64_t reads_of(const void *function)
{
    const char *name = xfs_reach_name(function);
    return name ? xfs_plan_reads(name) : 0;
}

static struct kernel ask(const void *function, uint32_t now)
{
    struct xfs_layout layout;
    struct kernel kernel = {.function = function, .generation = now, .times = 0};
    kernel.known =
        xfs_layout_ask(function, &layout) && layout.runs <= RUNS && layout.words <= WORDS;
    kernel.runs = kernel.known ? layout.runs : 0;
    memcpy(kernel.run, layout.run, kernel.runs * sizeof *kernel.run);
    kernel.reads = kernel.known ? reads_of(function) : 0;
    return kernel;
}

static struct kernel kernel_of(const void *function)
{
    struct kernel kernel;
    uint32_t now = atomic_load(&generation);
    if (find(function, &kernel))
        return kernel;
    kernel = ask(function, now);
    if (xfs_brief_take(&taken, SPINS)) {
        *slot_of(function) = kernel;
        slot_of(function)->times = 1;
        xfs_brief_give_back(&taken);
    }
    return kernel;
}

struct word {
    uint64_t value;
    uint64_t argument; /* bit of the parameter; 0: it has none */
    bool reads;
};

static uint64_t bit_of(unsigned parameter)
{
    return parameter < XFT_PLAN_ARGUMENTS_MOST ? UINT64_C(1) << parameter : 0;
}

static bool words_of(const struct kernel *kernel, void **values, struct word words[WORDS],
                     unsigned *count)
{
    *count = 0;
    for (unsigned i = 0; i < kernel->runs; i++) {
        const struct xfs_run *run = &kernel->run[i];
        if (values[run->index] == NULL)
            return false;
        for (unsigned k = 0; k < run->words; k++) {
            struct word *word = &words[(*count)++];
            memcpy(&word->value, (const char *)values[run->index] + k * sizeof word->value,
                   sizeof word->value);
            word->argument = bit_of(run->index);
            word->reads = kernel->reads & word->argument;
        }
    }
    return kernel->known;
}

/* ---- its memory ------------------------------------------------------------------------------ */

/* Can kernels read host memory that nobody page-locked? */
static bool reads_the_host(void)
{
    static atomic_int known; /* 1: it cannot; 2: it can, or that is not known */
    int can = 1, now = atomic_load(&known);
    xcu_device device;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (now == 0) {
        bool asked = driver->device_attribute && driver->device(&device) == XCU_SUCCESS &&
                     driver->device_attribute(&can, PAGEABLE_MEMORY_ACCESS, device) == XCU_SUCCESS;
        now = asked && !can ? 1 : 2;
        atomic_store(&known, now);
    }
    return now == 2;
}

static bool is_mapped(uint64_t address)
{
    unsigned char there;
    return !xfs_may_call_kernel() ||
           mincore((void *)(uintptr_t)(address & ~(PAGE - 1)), 1, &there) == 0;
}

static bool is_device_memory(const struct xfs_end *end, xcu_context current)
{
    return end->type == XCU_MEMORY_DEVICE && end->plain && end->context == current && end->buffer;
}

static struct xfs_use use_of(const struct xfs_end *end)
{
    return (struct xfs_use){end->buffer, end->start, end->bytes, true};
}

bool xfs_reach_memory(uint64_t address, uint64_t bytes, xcu_context current, struct xfs_use *use)
{
    struct xfs_end end;
    if (!xfs_end_ask(address, bytes, &end) || !is_device_memory(&end, current))
        return false;
    *use = use_of(&end);
    return true;
}

/* What a kernel reaches, as far as it was looked at. */
struct reach {
    struct xfs_use *uses;
    xfs_reach_arguments *arguments; /* NULL: not asked for */
    unsigned *count;
};

/* False: there are too many. */
static bool add(const struct reach *reach, const struct xfs_use *use, uint64_t argument)
{
    unsigned at = 0;
    while (at < *reach->count && reach->uses[at].buffer != use->buffer)
        at++;
    if (at == XFS_REACH_MOST)
        return false;
    bool first = at == *reach->count;
    *reach->count += first;
    bool writes = use->writes || (!first && reach->uses[at].writes);
    reach->uses[at] = *use;
    reach->uses[at].writes = writes;
    if (reach->arguments)
        reach->arguments[at] = argument | (first ? 0 : reach->arguments[at]);
    return true;
}

/* False: others may reach what it points to. */
static bool look(const struct word *word, xcu_context current, const struct reach *reach)
{
    struct xfs_end end;
    if (word->value < LEAST_ADDRESS)
        return true;
    if (!xfs_end_ask(word->value, 1, &end))
        return end.type == 0 && !end.managed && !(reads_the_host() && is_mapped(word->value));
    struct xfs_use use = use_of(&end);
    use.writes = !word->reads;
    return is_device_memory(&end, current) && add(reach, &use, word->argument);
}

bool xfs_reach_of(const void *function, void **values, xcu_context current,
                  struct xfs_use uses[XFS_REACH_MOST],
                  xfs_reach_arguments arguments[XFS_REACH_MOST], unsigned *count, uint32_t *times)
{
    const struct reach reach = {uses, arguments, count};
    struct word words[WORDS];
    unsigned n = 0;
    struct kernel kernel = kernel_of(function);
    *times = kernel.times;
    *count = 0;
    if (!words_of(&kernel, values, words, &n))
        return false;
    for (unsigned i = 0; i < n; i++)
        if (!look(&words[i], current, &reach))
            return false;
    return true;
}

void xfs_reach_forget(void)
{
    atomic_fetch_add(&generation, 1);
}

void xfs_reach_after_fork(void)
{
    memset(kernels, 0, sizeof kernels);
    atomic_flag_clear(&taken);
}
