#include "preload/lookup/layout.h"

#include <stdatomic.h>
#include <stddef.h>

#include "preload/lookup/driver.h"
#include "xferscope/cuda_abi.h"

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

bool xfs_layout_can(void)
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

/* False when there are too many words. A parameter that is not aligned to 8 bytes, or shorter,
 * holds no pointer. */
static bool add(struct xfs_layout *layout, size_t index, size_t offset, size_t bytes)
{
    size_t words = bytes / sizeof(uint64_t);
    if (offset % sizeof(uint64_t) != 0 || words == 0)
        return true;
    if (index > UINT16_MAX || offset > UINT16_MAX ||
        words > (size_t)(XFS_LAYOUT_WORDS - layout->words))
        return false;
    layout->run[layout->runs++] =
        (struct xfs_run){(uint16_t)index, (uint16_t)offset, (uint16_t)words};
    layout->words += (uint16_t)words;
    return true;
}

bool xfs_layout_ask(const void *handle, struct xfs_layout *layout)
{
    question *of_it = question_for(handle);
    size_t offset, bytes;
    layout->runs = layout->words = 0;
    for (size_t i = 0; of_it; i++) {
        xcu_result r = of_it(handle, i, &offset, &bytes);
        if (r == XCU_ERROR_INVALID_VALUE) /* there are no more */
            return true;
        if (r != XCU_SUCCESS || !add(layout, i, offset, bytes))
            return false;
    }
    return false;
}
