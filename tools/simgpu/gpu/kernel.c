/*
 * Parameters of kernels, and their places in one block of parameters: each is aligned by its size,
 * to 8 bytes at most.
 */
#include "tools/simgpu/gpu/kernel.h"

#include <stdlib.h>
#include <string.h>

/* ---- where parameters lie ----------------------------------------------------------------- */

static size_t aligned(size_t at, size_t bytes)
{
    size_t align = bytes & -bytes;

    align = align > 8 ? 8 : align;
    return (at + align - 1) / align * align;
}

xcu_result sim_param_info(const struct sim_function *f, size_t index, size_t *offset, size_t *bytes)
{
    size_t at = 0;

    if (!f->sizes)
        return XCU_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < SIM_MOST_PARAMS && f->sizes[i]; i++) {
        at = aligned(at, f->sizes[i]);
        if (i == index) {
            *offset = at;
            if (bytes)
                *bytes = f->sizes[i];
            return XCU_SUCCESS;
        }
        at += f->sizes[i];
    }
    return XCU_ERROR_INVALID_VALUE;
}

/* ---- what a launch brings ----------------------------------------------------------------- */

/* Finds the parameters in one block (CU_LAUNCH_PARAM_BUFFER_POINTER). */
static bool unpack(const struct sim_function *f, void **extra, void **params)
{
    enum { END = 0, BUFFER = 1, SIZE = 2 };
    uint8_t *buffer = NULL;
    size_t size = 0, offset, bytes;

    for (; (uintptr_t)extra[0] != END; extra += 2) {
        if ((uintptr_t)extra[0] == BUFFER)
            buffer = extra[1];
        else if ((uintptr_t)extra[0] == SIZE)
            memcpy(&size, extra[1], sizeof(size));
        else
            return false;
    }
    for (size_t i = 0; i < SIM_MOST_PARAMS && !sim_param_info(f, i, &offset, &bytes); i++) {
        if (!buffer || offset + bytes > size)
            return false;
        params[i] = buffer + offset;
    }
    return true;
}

void sim_params_drop(struct sim_params *params)
{
    if (params && --params->holders == 0)
        free(params);
}

/* One allocation: the pointers, then the values, each aligned to 16 bytes. */
xcu_result sim_kernel_params(struct sim_kernel *kernel, void **params, void **extra)
{
    void *unpacked[SIM_MOST_PARAMS] = {0};
    const size_t *sizes = kernel->function->sizes;
    size_t count = 0, bytes = sizeof(struct sim_params);
    struct sim_params *p;
    uint8_t *at;

    if (extra && sizes) {
        if (!unpack(kernel->function, extra, unpacked))
            return XCU_ERROR_INVALID_VALUE;
        params = unpacked;
    }
    kernel->borrowed = params;
    if (!sizes)
        return XCU_SUCCESS;
    while (count < SIM_MOST_PARAMS && sizes[count])
        bytes += (sizes[count++] + 15) / 16 * 16 + 16;
    p = calloc(1, bytes);
    if (!p || (count && !params)) {
        free(p);
        return p ? XCU_ERROR_INVALID_VALUE : XCU_ERROR_OUT_OF_MEMORY;
    }
    at = (uint8_t *)(((uintptr_t)(p + 1) + 15) & ~(uintptr_t)15);
    for (size_t i = 0; i < count; i++) {
        if (!params[i]) {
            free(p);
            return XCU_ERROR_INVALID_VALUE;
        }
        p->values[i] = at;
        memcpy(at, params[i], sizes[i]);
        at += (sizes[i] + 15) / 16 * 16;
    }
    p->holders = 1;
    kernel->params = p;
    return XCU_SUCCESS;
}
