/*
 * The simulated GPU's driver with losses: what LOSSY_CUDA names moves a little less than it
 * should, and reports success. For tests of the benchmarks' checks of their data.
 *
 * LOSSY_CUDA is one of: read, write, chase (kernels), h2d, d2h, p2p, h2h, rows, layers, batch,
 * graph (copies); h2d-start, d2h-start, p2p-start: the first byte of a copy behind a short one;
 * h2d-blocking, d2h-blocking: all of a copy that has been made asynchronously before; h2d-short,
 * d2h-short: the last byte of a blocking copy.
 * LOSSY_CUDA_DRIVER is the simulated libcuda.so.1.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xferscope/cuda_abi.h"

#define EXPORT __attribute__((visibility("default")))

static void *real(const char *symbol)
{
    static void *driver;

    if (!driver)
        driver = dlopen(getenv("LOSSY_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    return driver ? dlsym(driver, symbol) : NULL;
}

static bool lossy(const char *what)
{
    const char *set = getenv("LOSSY_CUDA");

    return set && !strcmp(set, what);
}

static void *functions[4]; /* read, write, chase, copy */

static xcu_result get_function(void **function, void *module, const char *name)
{
    static const char *const names[] = {"xfp_read", "xfp_write", "xfp_chase", "xfp_copy"};
    xcu_result (*call)(void **, void *, const char *);
    xcu_result result;

    *(void **)&call = real("cuModuleGetFunction");
    result = call(function, module, name);
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i]))
            functions[i] = *function;
    return result;
}

/* All of these kernels have their length second. */
static xcu_result launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                         unsigned by, unsigned bz, unsigned shared, xcu_stream stream,
                         void **parameters, void **extra)
{
    static const char *const words[] = {"read", "write", "chase", "copy"};
    static const uint64_t less[] = {16, 16, 1, 16};
    xcu_result (*call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       xcu_stream, void **, void **);
    void *changed[3];
    uint64_t length;

    *(void **)&call = real("cuLaunchKernel");
    for (int i = 0; i < 4; i++)
        if (function == functions[i] && lossy(words[i])) {
            memcpy(changed, parameters, sizeof(changed));
            memcpy(&length, parameters[1], sizeof(length));
            length = length > less[i] ? length - less[i] : length;
            changed[1] = &length;
            parameters = changed;
        }
    return call(function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra);
}

/* What a short copy brought to the same place would hide that the next one lost its start. */
static size_t start_lost(const char *what, size_t bytes)
{
    static bool behind_short;
    bool is_short = bytes <= 4096, lost = behind_short && !is_short && lossy(what);

    behind_short = is_short;
    return lost;
}

/* The latest asynchronous copy between the host and the device. */
static uint64_t latest_dst, latest_src;

static void made(uint64_t dst, uint64_t src)
{
    latest_dst = dst;
    latest_src = src;
}

static bool nothing_copied(const char *what, uint64_t dst, uint64_t src)
{
    return lossy(what) && dst == latest_dst && src == latest_src;
}

static xcu_result h2d(xcu_deviceptr dst, const void *src, size_t bytes, xcu_stream stream)
{
    xcu_result (*call)(xcu_deviceptr, const void *, size_t, xcu_stream);
    size_t lost = start_lost("h2d-start", bytes);

    made(dst, (uintptr_t)src);
    *(void **)&call = real("cuMemcpyHtoDAsync_v2");
    return call(dst + lost, (const char *)src + lost, bytes - lost - lossy("h2d"), stream);
}

static xcu_result d2h(void *dst, xcu_deviceptr src, size_t bytes, xcu_stream stream)
{
    xcu_result (*call)(void *, xcu_deviceptr, size_t, xcu_stream);
    size_t lost = start_lost("d2h-start", bytes);

    made((uintptr_t)dst, src);
    *(void **)&call = real("cuMemcpyDtoHAsync_v2");
    return call((char *)dst + lost, src + lost, bytes - lost - lossy("d2h"), stream);
}

static xcu_result h2d_blocking(xcu_deviceptr dst, const void *src, size_t bytes)
{
    xcu_result (*call)(xcu_deviceptr, const void *, size_t);

    *(void **)&call = real("cuMemcpyHtoD_v2");
    return nothing_copied("h2d-blocking", dst, (uintptr_t)src)
               ? XCU_SUCCESS
               : call(dst, src, bytes - lossy("h2d-short"));
}

static xcu_result d2h_blocking(void *dst, xcu_deviceptr src, size_t bytes)
{
    xcu_result (*call)(void *, xcu_deviceptr, size_t);

    *(void **)&call = real("cuMemcpyDtoH_v2");
    return nothing_copied("d2h-blocking", (uintptr_t)dst, src)
               ? XCU_SUCCESS
               : call(dst, src, bytes - lossy("d2h-short"));
}

static xcu_result p2p(xcu_deviceptr dst, xcu_context to, xcu_deviceptr src, xcu_context from,
                      size_t bytes, xcu_stream stream)
{
    xcu_result (*call)(xcu_deviceptr, xcu_context, xcu_deviceptr, xcu_context, size_t, xcu_stream);
    size_t lost = start_lost("p2p-start", bytes);

    *(void **)&call = real("cuMemcpyPeerAsync");
    return call(dst + lost, to, src + lost, from, bytes - lost - lossy("p2p"), stream);
}

static xcu_result rows(const struct xcu_memcpy2d *copy, xcu_stream stream)
{
    xcu_result (*call)(const struct xcu_memcpy2d *, xcu_stream);
    struct xcu_memcpy2d less = *copy;

    *(void **)&call = real("cuMemcpy2DAsync_v2");
    less.height -= lossy("rows");
    return call(&less, stream);
}

static xcu_result layers(const struct xcu_memcpy3d *copy, xcu_stream stream)
{
    xcu_result (*call)(const struct xcu_memcpy3d *, xcu_stream);
    struct xcu_memcpy3d less = *copy;

    *(void **)&call = real("cuMemcpy3DAsync_v2");
    less.width -= lossy("layers");
    return call(&less, stream);
}

static xcu_result h2h(xcu_deviceptr dst, xcu_deviceptr src, size_t bytes)
{
    xcu_result (*call)(xcu_deviceptr, xcu_deviceptr, size_t);

    *(void **)&call = real("cuMemcpy");
    return call(dst, src, bytes - lossy("h2h"));
}

static xcu_result batch(xcu_deviceptr *dsts, xcu_deviceptr *srcs, size_t *sizes, size_t count,
                        struct xcu_copy_attributes *attributes, size_t *first, size_t kinds,
                        size_t *failed, xcu_stream stream)
{
    xcu_result (*call)(xcu_deviceptr *, xcu_deviceptr *, size_t *, size_t,
                       struct xcu_copy_attributes *, size_t *, size_t, size_t *, xcu_stream);

    *(void **)&call = real("cuMemcpyBatchAsync");
    if (lossy("batch") && count > 1)
        count--;
    return call(dsts, srcs, sizes, count, attributes, first, kinds, failed, stream);
}

static xcu_result graph(xcu_graph_exec exec, xcu_stream stream)
{
    xcu_result (*call)(xcu_graph_exec, xcu_stream);

    *(void **)&call = real("cuGraphLaunch");
    return lossy("graph") ? XCU_SUCCESS : call(exec, stream);
}

static const struct {
    const char *name;
    void *wrapper;
} wrappers[] = {
    {"cuModuleGetFunction", (void *)get_function},
    {"cuLaunchKernel", (void *)launch},
    {"cuMemcpyHtoDAsync", (void *)h2d},
    {"cuMemcpyDtoHAsync", (void *)d2h},
    {"cuMemcpyHtoD", (void *)h2d_blocking},
    {"cuMemcpyDtoH", (void *)d2h_blocking},
    {"cuMemcpyPeerAsync", (void *)p2p},
    {"cuMemcpy", (void *)h2h},
    {"cuMemcpy2DAsync", (void *)rows},
    {"cuMemcpy3DAsync", (void *)layers},
    {"cuMemcpyBatchAsync", (void *)batch},
    {"cuGraphLaunch", (void *)graph},
};

EXPORT xcu_result cuGetProcAddress_v2(const char *name, void **function, int version,
                                      uint64_t flags, int *status);
EXPORT xcu_result cuGetProcAddress_v2(const char *name, void **function, int version,
                                      uint64_t flags, int *status)
{
    xcu_result (*call)(const char *, void **, int, uint64_t, int *);

    *(void **)&call = real("cuGetProcAddress_v2");
    if (!call)
        return XCU_ERROR_NOT_FOUND;
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
        if (!strcmp(name, wrappers[i].name)) {
            *function = wrappers[i].wrapper;
            return XCU_SUCCESS;
        }
    return call(name, function, version, flags, status);
}

EXPORT uint64_t xferscope_simgpu_now_ns(void);
EXPORT uint64_t xferscope_simgpu_now_ns(void)
{
    uint64_t (*call)(void);

    *(void **)&call = real("xferscope_simgpu_now_ns");
    return call();
}

EXPORT void xferscope_simgpu_bind_numa(int node);
EXPORT void xferscope_simgpu_bind_numa(int node)
{
    void (*call)(int);

    *(void **)&call = real("xferscope_simgpu_bind_numa");
    call(node);
}

EXPORT void xferscope_simgpu_touch(const void *address, size_t bytes, int write);
EXPORT void xferscope_simgpu_touch(const void *address, size_t bytes, int write)
{
    void (*call)(const void *, size_t, int);

    *(void **)&call = real("xferscope_simgpu_touch");
    call(address, bytes, write);
}

EXPORT void xferscope_simgpu_host_copy(const char *table, size_t bytes, unsigned threads);
EXPORT void xferscope_simgpu_host_copy(const char *table, size_t bytes, unsigned threads)
{
    void (*call)(const char *, size_t, unsigned);

    *(void **)&call = real("xferscope_simgpu_host_copy");
    call(table, bytes, threads);
}
