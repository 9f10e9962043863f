#include "preload/intercept/arguments.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "preload/base/own_stack.h"
#include "preload/base/settings.h"
#include "preload/content/verify.h"
#include "preload/intercept/parameters.h"
#include "preload/intercept/ranges.h"
#include "preload/record/hot.h"

#define MEMOS 4096   /* sets that are remembered */
#define MOST_TRIES 3 /* attempts, while other threads allocate or free memory */

atomic_uchar xfs_arguments_state;

/* ---- words that look like pointers ----------------------------------------------------------- */

struct launch {
    const struct xfs_parameters *parameters;
    void **values;                       /* each parameter by itself, or NULL: */
    const unsigned char *buffer;         /* all of them */
    const struct xfs_recorder *recorder; /* a forked child's has other ids */
};

struct found {
    uint64_t *words; /* the first `room` of them */
    uint32_t room, count;
    uint64_t hash; /* of all of them */
};

static inline uint64_t word_at(const unsigned char *at, size_t i)
{
    uint64_t word;
    memcpy(&word, at + i * sizeof word, sizeof word);
    return word;
}

/* The hash depends on the words and their order. */
static inline void find_words(const struct launch *launch, struct found *found)
{
    const struct xfs_parameters *parameters = launch->parameters;
    uint64_t low = atomic_load_explicit(&xfs_ranges_low, memory_order_relaxed);
    uint64_t span = atomic_load_explicit(&xfs_ranges_high, memory_order_relaxed) - low;
    uint64_t hash = 0x9e3779b97f4a7c15u ^ (uintptr_t)launch->recorder;
    uint32_t count = 0;
    for (const struct xfs_run *run = parameters->run, *end = run + parameters->runs; run < end;
         run++) {
        const unsigned char *at =
            launch->values ? launch->values[run->index] : launch->buffer + run->offset;
        for (uint32_t i = 0; i < run->words; i++) {
            uint64_t word = word_at(at, i);
            if (__builtin_expect(word - low >= span, 0))
                continue;
            if (count < found->room)
                found->words[count] = word;
            count++;
            hash = (hash ^ word) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
    }
    found->count = count;
    found->hash = hash;
}

/* Moves the words that point into a known range to the front, each once; returns their number. */
static uint32_t keep_pointers(uint64_t *words, uint32_t count)
{
    uint32_t kept = 0;
    struct xfs_range range;
    for (uint32_t i = 0; i < count && kept < XFT_ARGUMENTS_MOST; i++) {
        uint32_t k = 0;
        while (k < kept && words[k] != words[i])
            k++;
        if (k == kept && xfs_ranges_find(words[i], &range))
            words[kept++] = words[i];
    }
    return kept;
}

/* ---- what was found before ------------------------------------------------------------------- */

/* Written and read without a lock: the key of an entry that was read half written does not match.
 */
struct memo {
    _Atomic uint64_t check;  /* the hash of the words ^ answer */
    _Atomic uint64_t answer; /* the ranges' epoch << 32 | id */
};
static struct memo memos[MEMOS];

static inline struct memo *memo_of(uint64_t hash)
{
    return &memos[hash % MEMOS];
}

/* 0: not remembered. */
static inline uint32_t recall(uint64_t hash, uint32_t epoch)
{
    const struct memo *memo = memo_of(hash);
    uint64_t answer = atomic_load_explicit(&memo->answer, memory_order_relaxed);
    uint64_t check = atomic_load_explicit(&memo->check, memory_order_relaxed);
    return (check ^ answer) == hash && answer >> 32 == epoch ? (uint32_t)answer : 0;
}

static void remember(uint64_t hash, uint32_t epoch, uint32_t id)
{
    struct memo *memo = memo_of(hash);
    uint64_t answer = (uint64_t)epoch << 32 | id;
    atomic_store_explicit(&memo->answer, answer, memory_order_relaxed);
    atomic_store_explicit(&memo->check, hash ^ answer, memory_order_relaxed);
}

/* ---- the slow ways --------------------------------------------------------------------------- */

struct work {
    struct xfs_function *function;
    const struct launch *launch;
    uint32_t id;
};

static void decide(void)
{
    bool wanted = xfs_settings()->arguments, can = wanted && xfs_layout_can();
    xfs_meta_set("arguments", can ? "on" : "off");
    if (wanted && !can)
        xfs_meta_set("arguments.why",
                     "the driver does not say where a kernel's parameters lie: it is older than "
                     "CUDA 12.4");
    atomic_store(&xfs_arguments_state, can ? XFS_ARGUMENTS_ON : XFS_ARGUMENTS_OFF);
}

static void ask(void *arguments)
{
    struct work *work = arguments;
    if (atomic_load(&xfs_arguments_state) == XFS_ARGUMENTS_UNDECIDED)
        decide();
    if (atomic_load(&xfs_arguments_state) == XFS_ARGUMENTS_ON)
        xfs_parameters_ask(work->function);
}

/* NULL: the arguments of this function are not known. */
static XFS_COLD const struct xfs_parameters *find_parameters(struct xfs_function *function)
{
    struct work work = {.function = function};
    int saved = errno;
    xfs_on_any_stack(ask, &work);
    errno = saved;
    return atomic_load(&function->parameters);
}

/* On a stack of our own: too many words for the caller's. */
static void look_at_many(void *arguments)
{
    struct work *work = arguments;
    uint64_t words[XFS_LAYOUT_WORDS];
    struct found found = {.words = words, .room = XFS_LAYOUT_WORDS};
    find_words(work->launch, &found);
    work->id = xfs_arguments_id(words, keep_pointers(words, found.count));
}

static XFS_COLD uint32_t id_of_many(const struct launch *launch)
{
    struct work work = {.launch = launch};
    int saved = errno;
    xfs_on_any_stack(look_at_many, &work);
    errno = saved;
    return work.id;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The parameter buffer in `extra`, as the driver reads it; NULL when it is shorter than the
 * parameters. */
static const unsigned char *buffer_of(void **extra, const struct xfs_parameters *parameters)
{
    enum { END = 0, BUFFER = 1, SIZE = 2 };
    const unsigned char *buffer = NULL;
    size_t size = 0, needed = 0;
    for (; (uintptr_t)extra[0] != END; extra += 2) {
        if ((uintptr_t)extra[0] == BUFFER)
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == SIZE)
            memcpy(&size, extra[1], sizeof size);
        else
            return NULL;
    }
    if (parameters->runs > 0) {
        const struct xfs_run *last = &parameters->run[parameters->runs - 1];
        needed = last->offset + last->words * sizeof(uint64_t);
    }
    return size >= needed ? buffer : NULL;
}

static uint32_t id_of(const struct launch *launch)
{
    uint64_t words[XFT_ARGUMENTS_MOST];
    struct found found = {.words = words, .room = XFT_ARGUMENTS_MOST};
    uint32_t epoch, id;
    for (int tries = 0;; tries++) {
        epoch = xfs_ranges_epoch();
        find_words(launch, &found);
        id = recall(found.hash, epoch);
        if (__builtin_expect(id != 0, 1))
            return id;
        id = found.count <= XFT_ARGUMENTS_MOST
                 ? xfs_arguments_id(words, keep_pointers(words, found.count))
                 : id_of_many(launch);
        if ((epoch & 1) == 0 && xfs_ranges_epoch() == epoch)
            break;
        if (tries == MOST_TRIES)
            return id;
    }
    if (id)
        remember(found.hash, epoch, id);
    return id;
}

uint32_t xfs_arguments_take(struct xfs_function *function, void **values, void **extra)
{
    struct launch launch = {atomic_load_explicit(&function->parameters, memory_order_acquire),
                            values, NULL, NULL};
    const struct xfs_lane *lane = xfs_self;
    if (__builtin_expect(launch.parameters == NULL, 0))
        launch.parameters = find_parameters(function);
    if (launch.parameters == NULL || !launch.parameters->known || lane == NULL)
        return 0;
    if (__builtin_expect(values == NULL && launch.parameters->runs > 0, 0)) {
        launch.buffer = extra ? buffer_of(extra, launch.parameters) : NULL;
        if (launch.buffer == NULL)
            return 0;
    }
    launch.recorder = lane->recorder;
    return id_of(&launch);
}

/* How many; -1: it is not known which they are. */
static XFS_COLD int pointers_of(const struct xfs_function *function, void **values, void **extra,
                                struct xfs_verify_pointer pointers[XFS_VERIFY_POINTERS])
{
    uint64_t words[XFS_VERIFY_POINTERS];
    struct found found = {.words = words, .room = XFS_VERIFY_POINTERS};
    struct launch launch = {.parameters = atomic_load(&function->parameters), .values = values};
    if (launch.parameters->runs == 0)
        return -1;
    if (!values)
        launch.buffer = extra ? buffer_of(extra, launch.parameters) : NULL;
    if (!values && !launch.buffer)
        return -1;
    find_words(&launch, &found);
    if (found.count > XFS_VERIFY_POINTERS)
        return -1;
    uint32_t count = keep_pointers(words, found.count);
    for (uint32_t k = 0; k < count; k++) {
        struct xfs_range range;
        if (!xfs_ranges_find(words[k], &range))
            return -1;
        pointers[k] = (struct xfs_verify_pointer){words[k], range.end};
    }
    return (int)count;
}

XFS_COLD uint64_t xfs_arguments_verify(const struct xfs_function *function, void **values,
                                       void **extra, xcu_stream stream, bool per_thread)
{
    struct xfs_verify_pointer pointers[XFS_VERIFY_POINTERS];
    int count = pointers_of(function, values, extra, pointers);
    if (count >= 0)
        return xfs_verify_launched(pointers, (unsigned)count, stream, per_thread);
    xfs_verify_unknown();
    return 0;
}

void xfs_arguments_after_fork(void)
{
    atomic_store(&xfs_arguments_state, XFS_ARGUMENTS_UNDECIDED);
}
