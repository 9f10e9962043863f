#include "preload/intercept/parameters.h"

#include <stddef.h>
#include <string.h>

#include "preload/intercept/arguments.h"
#include "preload/lookup/resolve.h"
#include "xferscope/cuda_abi.h"

/* Memory for all layouts; functions beyond it are not known. Pages are zeros until used. */
#define ARENA_BYTES (4u << 20)
static unsigned char arena[ARENA_BYTES] __attribute__((aligned(8)));
static _Atomic uint32_t arena_used;

static const struct xfs_parameters nothing_known;

/* ---- the driver ------------------------------------------------------------------------------ */

typedef xcu_result question(const void *handle, size_t index, size_t *offset, size_t *bytes);

struct questions {
    question *_Atomic of_function, *_Atomic of_kernel;
};

static const struct questions *questions(void)
{
    static struct questions both;
    static atomic_bool looked_up;
    if (!atomic_load_explicit(&looked_up, memory_order_acquire)) {
        atomic_store(&both.of_function, (question *)xfs_driver_symbol("cuFuncGetParamInfo"));
        atomic_store(&both.of_kernel, (question *)xfs_driver_symbol("cuKernelGetParamInfo"));
        atomic_store_explicit(&looked_up, true, memory_order_release);
    }
    return &both;
}

bool xfs_parameters_can(void)
{
    const struct questions *both = questions();
    return atomic_load(&both->of_function) || atomic_load(&both->of_kernel);
}

/* The query function for this handle: the one that knows a parameter of it, else the one that
 * answers that there is none. A launch takes both CUfunction and CUkernel. */
static question *question_for(const void *handle)
{
    const struct questions *both = questions();
    question *const all[] = {atomic_load(&both->of_function), atomic_load(&both->of_kernel)};
    question *without = NULL;
    size_t offset, bytes;
    for (size_t i = 0; i < 2; i++) {
        xcu_result r = all[i] ? all[i](handle, 0, &offset, &bytes) : XCU_ERROR_NOT_FOUND;
        if (r == XCU_SUCCESS)
            return all[i];
        if (r == XCU_ERROR_INVALID_VALUE && without == NULL)
            without = all[i];
    }
    return without;
}

/* ---- layouts --------------------------------------------------------------------------------- */

union layout {
    struct xfs_parameters head;
    unsigned char room[sizeof(struct xfs_parameters) + XFS_ARGUMENT_WORDS * sizeof(struct xfs_run)];
};

/* False when there are too many words. A parameter that is not aligned to 8 bytes, or shorter,
 * holds no pointer. */
static bool add(union layout *layout, size_t index, size_t offset, size_t bytes)
{
    size_t words = bytes / sizeof(uint64_t);
    if (offset % sizeof(uint64_t) != 0 || words == 0)
        return true;
    if (index > UINT16_MAX || offset > UINT16_MAX ||
        words > (size_t)(XFS_ARGUMENT_WORDS - layout->head.words))
        return false;
    layout->head.run[layout->head.runs++] =
        (struct xfs_run){(uint16_t)index, (uint16_t)offset, (uint16_t)words};
    layout->head.words += (uint16_t)words;
    return true;
}

static bool ask(union layout *layout, const void *handle)
{
    question *of_it = question_for(handle);
    size_t offset, bytes;
    layout->head = (struct xfs_parameters){.known = 1};
    for (size_t i = 0; of_it; i++) {
        xcu_result r = of_it(handle, i, &offset, &bytes);
        if (r == XCU_ERROR_INVALID_VALUE) /* there are no more */
            return true;
        if (r != XCU_SUCCESS || !add(layout, i, offset, bytes))
            return false;
    }
    return false;
}

static size_t bytes_of(const struct xfs_parameters *head)
{
    return sizeof *head + head->runs * sizeof *head->run;
}

static const struct xfs_parameters *keep(const union layout *layout)
{
    size_t bytes = bytes_of(&layout->head), room = (bytes + 7) & ~(size_t)7;
    uint32_t at = atomic_load(&arena_used);
    do {
        if (room > ARENA_BYTES - at)
            return &nothing_known;
    } while (!atomic_compare_exchange_weak(&arena_used, &at, at + (uint32_t)room));
    memcpy(arena + at, &layout->head, sizeof layout->head);
    memcpy(arena + at + sizeof layout->head, layout->head.run, bytes - sizeof layout->head);
    return (const struct xfs_parameters *)(arena + at);
}

/* A module that is loaded again has the same functions. */
static const struct xfs_parameters *keep_once(struct xfs_function *function,
                                              const union layout *layout)
{
    const struct xfs_parameters *before = atomic_load(&function->parameters_before);
    if (before && memcmp(before, &layout->head, sizeof *before) == 0 &&
        memcmp(before->run, layout->head.run, before->runs * sizeof *before->run) == 0)
        return before;
    const struct xfs_parameters *kept = keep(layout);
    atomic_store(&function->parameters_before, kept);
    return kept;
}

const struct xfs_parameters *xfs_parameters_ask(struct xfs_function *function)
{
    union layout layout;
    const void *handle = (const void *)(uintptr_t)atomic_load(&function->handle);
    const struct xfs_parameters *found =
        ask(&layout, handle) ? keep_once(function, &layout) : &nothing_known;
    atomic_store_explicit(&function->parameters, found, memory_order_release);
    return found;
}
