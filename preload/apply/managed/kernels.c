#include "preload/apply/managed/kernels.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/apply/state/driver.h"
#include "preload/base/settings.h"
#include "preload/lookup/layout.h"

#define KERNELS 256              /* a power of two */
#define TRIALS 8                 /* under way at one time */
#define MOST_PASSED 16           /* launches elsewhere until a trial is given up */
#define RUNS 16                  /* of words, among a kernel's parameters */
#define LINK_GBPS 500            /* faster than any link between host and GPU: bytes per ns */
#define UNIT ((uint64_t)1 << 20) /* proofs are by the MiB: a launch counts as one */

enum stage { FREE, BEGUN, LAUNCHED, FOLLOWED };

struct trial {
    xcu_event begin, end, next; /* kept from one to the next */
    xcu_stream stream;
    enum stage stage;
    enum xfs_way way;
    uint8_t passed; /* launches in other streams since */
};

struct xfs_kernel {
    const void *_Atomic function; /* NULL: free */
    atomic_bool held;             /* by the thread that uses what follows */
    uint32_t generation, lives;
    bool known; /* where its parameters lie */
    uint16_t run_count;
    struct xfs_run runs[RUNS];
    unsigned long long context; /* of the events; 0: there are none */
    struct trial trials[TRIALS];
    struct xfs_proof work, round;
    uint32_t tried;
};

static struct xfs_kernel kernels[KERNELS];
static _Atomic uint32_t generation = 1; /* of modules */
static _Atomic uint32_t lives;          /* of contexts */

/* ---- which kernel ---------------------------------------------------------------------------- */

static void ask_layout(struct xfs_kernel *kernel, const void *function)
{
    struct xfs_layout layout;
    kernel->known = xfs_layout_ask(function, &layout) && layout.runs <= RUNS &&
                    layout.words <= XFS_KERNEL_WORDS;
    kernel->run_count = kernel->known ? layout.runs : 0;
    memcpy(kernel->runs, layout.run, kernel->run_count * sizeof *kernel->runs);
}

/* The handle may be another function's now. A context takes its events with it. */
static void begin_anew(struct xfs_kernel *kernel, const void *function, unsigned long long context,
                       uint32_t now)
{
    uint32_t life = atomic_load(&lives);
    if (kernel->context != context || kernel->lives != life)
        memset(kernel->trials, 0, sizeof kernel->trials);
    for (unsigned i = 0; i < TRIALS; i++)
        kernel->trials[i].stage = FREE;
    kernel->context = context;
    kernel->lives = life;
    kernel->work = kernel->round = (struct xfs_proof){0};
    kernel->tried = 0;
    kernel->generation = now;
    ask_layout(kernel, function);
}

/* Held; NULL: another thread has it. */
static struct xfs_kernel *claim(struct xfs_kernel *kernel, const void *function)
{
    bool held = false;
    const void *none = NULL;
    if (!atomic_compare_exchange_strong(&kernel->held, &held, true))
        return NULL;
    if (atomic_load(&kernel->function) == function ||
        atomic_compare_exchange_strong(&kernel->function, &none, function))
        return kernel;
    xfs_kernel_release(kernel);
    return NULL;
}

static struct xfs_kernel *find(const void *function)
{
    uint64_t hash = ((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 40;
    for (unsigned i = 0; i < KERNELS; i++) {
        struct xfs_kernel *kernel = &kernels[(hash + i) % KERNELS];
        const void *of = atomic_load(&kernel->function);
        if (of == NULL || of == function)
            return claim(kernel, function);
    }
    return NULL;
}

struct xfs_kernel *xfs_kernel_hold(const void *function)
{
    unsigned long long context = 0;
    xcu_context current = NULL;
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    if (function == NULL || driver->current(&current) != XCU_SUCCESS || current == NULL ||
        driver->context_id(current, &context) != XCU_SUCCESS)
        return NULL;
    uint32_t now = atomic_load(&generation);
    struct xfs_kernel *kernel = find(function);
    if (kernel && kernel->generation != now)
        begin_anew(kernel, function, context, now);
    if (kernel && kernel->known && kernel->context == context)
        return kernel;
    if (kernel)
        xfs_kernel_release(kernel);
    return NULL;
}

void xfs_kernel_release(struct xfs_kernel *kernel)
{
    atomic_store(&kernel->held, false);
}

unsigned xfs_kernel_words(const struct xfs_kernel *kernel, void **values,
                          uint64_t words[XFS_KERNEL_WORDS])
{
    unsigned n = 0;
    for (unsigned i = 0; i < kernel->run_count; i++) {
        const struct xfs_run *run = &kernel->runs[i];
        if (values[run->index] == NULL)
            return 0;
        memcpy(words + n, values[run->index], run->words * sizeof *words);
        n += run->words;
    }
    return n;
}

/* ---- trials ---------------------------------------------------------------------------------- */

static bool ns_between(xcu_event begin, xcu_event end, uint64_t *ns)
{
    float ms = 0;
    if (xfs_apply_driver()->event_elapsed(&ms, begin, end) != XCU_SUCCESS || !(ms >= 0))
        return false;
    *ns = (uint64_t)((double)ms * 1e6);
    return true;
}

static bool round_is_longer(const struct xfs_kernel *kernel)
{
    return xfs_proof_expects(&kernel->round, XFS_WAY_OURS, UNIT) >
           xfs_proof_expects(&kernel->round, XFS_WAY_AS_ASKED, UNIT);
}

static void take(struct xfs_kernel *kernel, struct trial *trial)
{
    uint64_t work = 0, round = 0;
    trial->stage = FREE;
    if (!ns_between(trial->begin, trial->end, &work) ||
        !ns_between(trial->begin, trial->next, &round))
        return;
    xfs_proof_took(&kernel->round, trial->way, UNIT, round);
    xfs_proof_took(&kernel->work, trial->way, UNIT, work);
    if (kernel->work.verdict == XFS_GAINS && round_is_longer(kernel))
        xfs_proof_give_up(&kernel->work);
}

/* A round ends with the next launch in the same stream: a program that takes streams by turns has
 * others in between. */
static void follow(struct trial *trial, xcu_stream stream)
{
    if (trial->stream == stream)
        trial->stage =
            xfs_apply_driver()->event_record(trial->next, stream) == XCU_SUCCESS ? FOLLOWED : FREE;
    else if (++trial->passed > MOST_PASSED)
        trial->stage = FREE;
}

/* What this launch says about the trials under way. */
static void go_on(struct xfs_kernel *kernel, xcu_stream stream)
{
    const struct xfs_apply_driver *driver = xfs_apply_driver();
    for (unsigned i = 0; i < TRIALS; i++) {
        struct trial *trial = &kernel->trials[i];
        if (trial->stage == FOLLOWED && driver->event_query(trial->next) == XCU_SUCCESS)
            take(kernel, trial);
        if (trial->stage == LAUNCHED)
            follow(trial, stream);
    }
}

static struct trial *find_in(struct xfs_kernel *kernel, enum stage stage)
{
    for (unsigned i = 0; i < TRIALS; i++)
        if (kernel->trials[i].stage == stage)
            return &kernel->trials[i];
    return NULL;
}

static bool has_events(struct trial *trial)
{
    xcu_event *const events[] = {&trial->begin, &trial->end, &trial->next};
    for (unsigned i = 0; i < 3; i++)
        if (*events[i] == NULL && xfs_apply_driver()->event_create(events[i], 0) != XCU_SUCCESS)
            return false;
    return true;
}

/* By turns that do not fall in with what the program does every second time. */
static enum xfs_way next_tried(struct xfs_kernel *kernel)
{
    return kernel->tried++ / 2 % 2 == 0 ? XFS_WAY_OURS : XFS_WAY_AS_ASKED;
}

static enum xfs_way usual(const struct xfs_kernel *kernel)
{
    return kernel->work.verdict == XFS_GAINS ? XFS_WAY_OURS : XFS_WAY_AS_ASKED;
}

/* It is known that the kernel takes as long as it takes to move these bytes. */
static bool may_gain(const struct xfs_kernel *kernel, uint64_t bytes)
{
    return kernel->work.samples[XFS_WAY_AS_ASKED] >= 2 &&
           xfs_proof_expects(&kernel->work, XFS_WAY_AS_ASKED, UNIT) >= bytes / LINK_GBPS;
}

static enum xfs_way choose(struct xfs_kernel *kernel, uint64_t bytes, bool *timed)
{
    struct xfs_proof *work = &kernel->work;
    bool may = may_gain(kernel, bytes);
    *timed = true;
    if (work->verdict == XFS_TRYING && !may && work->samples[XFS_WAY_AS_ASKED] >= XFS_TRIALS)
        xfs_proof_give_up(work);
    if (work->verdict == XFS_TRYING)
        return may ? next_tried(kernel) : XFS_WAY_AS_ASKED;
    enum xfs_way way = xfs_proof_choose(work, timed);
    return may ? way : XFS_WAY_AS_ASKED;
}

enum xfs_way xfs_kernel_begins(struct xfs_kernel *kernel, xcu_stream stream, uint64_t bytes)
{
    bool timed;
    if (!xfs_settings()->apply_trials)
        return XFS_WAY_OURS;
    go_on(kernel, stream);
    struct trial *trial = find_in(kernel, FREE);
    if (trial == NULL || !has_events(trial))
        return usual(kernel);
    enum xfs_way way = choose(kernel, bytes, &timed);
    if (timed && xfs_apply_driver()->event_record(trial->begin, stream) == XCU_SUCCESS) {
        trial->stage = BEGUN;
        trial->passed = 0;
        trial->way = way;
        trial->stream = stream;
    }
    return way;
}

void xfs_kernel_ends(struct xfs_kernel *kernel, xcu_stream stream, enum xfs_way way, bool made)
{
    struct trial *trial = find_in(kernel, BEGUN);
    kernel->known &= made;
    if (trial)
        trial->stage = made && trial->way == way &&
                               xfs_apply_driver()->event_record(trial->end, stream) == XCU_SUCCESS
                           ? LAUNCHED
                           : FREE;
}

/* ---- what came of them ----------------------------------------------------------------------- */

static double gain_of(const struct xfs_proof *proof)
{
    return (double)xfs_proof_expects(proof, XFS_WAY_AS_ASKED, UNIT) -
           (double)xfs_proof_expects(proof, XFS_WAY_OURS, UNIT);
}

/* The smaller one of what the work and the round gain. */
bool xfs_kernel_times(const struct xfs_kernel *kernel, uint64_t *done_ns, uint64_t *instead_ns)
{
    double work = gain_of(&kernel->work), round = gain_of(&kernel->round);
    double gain = round < work ? round : work;
    uint64_t done = xfs_proof_expects(&kernel->work, XFS_WAY_OURS, UNIT);
    if (done == 0 || kernel->work.samples[XFS_WAY_AS_ASKED] == 0)
        return false;
    *done_ns = done;
    *instead_ns = (double)done + gain > 1 ? (uint64_t)((double)done + gain) : 1;
    return true;
}

enum xfs_verdict xfs_kernel_verdict(const struct xfs_kernel *kernel)
{
    return (enum xfs_verdict)kernel->work.verdict;
}

void xfs_kernels_forget(bool contexts)
{
    atomic_fetch_add(&lives, contexts);
    atomic_fetch_add(&generation, 1);
}

void xfs_kernels_after_fork(void)
{
    memset(kernels, 0, sizeof kernels);
}
