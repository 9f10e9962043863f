/*
 * What nvcc puts into programs: registration of their kernels and variables, and launches.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/simgpu/runtime/rt.h"

/* One fat binary; its driver module is loaded when first needed. */
struct binary {
    const void *image;
    void *module;
};

/* A kernel or a variable, by its address in the program. */
struct entry {
    const void *host;
    const char *name;
    struct binary *binary;
    size_t bytes; /* variables */
    void *function;
    struct entry *next;
};

static struct entry *kernels, *variables;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

RT_EXPORT void **__cudaRegisterFatBinary(void *image);
void **__cudaRegisterFatBinary(void *image)
{
    struct binary *b = calloc(1, sizeof(*b));

    if (b)
        b->image = image;
    return (void **)b;
}

RT_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFatBinaryEnd(void **handle)
{
}

RT_EXPORT char __cudaInitModule(void **handle);
char __cudaInitModule(void **handle)
{
    return 1;
}

static void remove_of(struct entry **list, const struct binary *b)
{
    while (*list) {
        struct entry *e = *list;

        if (e->binary == b) {
            *list = e->next;
            free(e);
        } else {
            list = &e->next;
        }
    }
}

/* Runs in a destructor, when the driver may be gone: the module is left to it. */
RT_EXPORT void __cudaUnregisterFatBinary(void **handle);
void __cudaUnregisterFatBinary(void **handle)
{
    pthread_mutex_lock(&lock);
    remove_of(&kernels, (struct binary *)handle);
    remove_of(&variables, (struct binary *)handle);
    pthread_mutex_unlock(&lock);
    free(handle);
}

static void add_entry(struct entry **list, void **handle, const void *host, const char *name,
                      size_t bytes)
{
    struct entry *e = calloc(1, sizeof(*e));

    if (!e)
        return; /* a use of it says that it is not known */
    *e = (struct entry){host, name, (struct binary *)handle, bytes, NULL, NULL};
    pthread_mutex_lock(&lock);
    e->next = *list;
    *list = e;
    pthread_mutex_unlock(&lock);
}

RT_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
                                      const char *name, int limit, void *tid, void *bid,
                                      void *block, void *grid, int *warp);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp)
{
    add_entry(&kernels, handle, host, name, 0);
}

RT_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                                 int external, size_t bytes, int constant, int global);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global)
{
    add_entry(&variables, handle, host, name, bytes);
}

static struct entry *find(struct entry *list, const void *host)
{
    pthread_mutex_lock(&lock);
    while (list && list->host != host)
        list = list->next;
    pthread_mutex_unlock(&lock);
    return list;
}

static xrt_error load(struct binary *b)
{
    return b->module ? XCU_SUCCESS : rt_driver()->cuModuleLoadData(&b->module, b->image);
}

xrt_error rt_kernel(const void *host, void **function)
{
    struct entry *e = find(kernels, host);
    xrt_error error = XCU_SUCCESS;

    if (!e)
        return XRT_ERROR_INVALID_DEVICE_FUNCTION;
    if (!e->function)
        error = load(e->binary);
    if (!error && !e->function)
        error = rt_driver()->cuModuleGetFunction(&e->function, e->binary->module, e->name);
    *function = e->function;
    return error;
}

xrt_error rt_symbol(const void *host, xcu_deviceptr *address, size_t *bytes)
{
    struct entry *e = find(variables, host);
    xrt_error error;

    if (!e)
        return XRT_ERROR_INVALID_SYMBOL;
    error = load(e->binary);
    if (!error)
        error = rt_driver()->xferscope_simgpu_symbol(e->binary->module, e->name, e->bytes);
    if (!error)
        error = rt_driver()->cuModuleGetGlobal(address, bytes, e->binary->module, e->name);
    return error;
}

/* ---- launches ----------------------------------------------------------------------------- */

struct dim {
    unsigned x, y, z;
};

/* The <<<>>> of the launch that is being made. */
static _Thread_local struct {
    struct dim grid, block;
    size_t shared;
    xcu_stream stream;
} pushed;

RT_EXPORT unsigned __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared,
                                               xcu_stream stream);
unsigned __cudaPushCallConfiguration(struct dim grid, struct dim block, size_t shared,
                                     xcu_stream stream)
{
    pushed.grid = grid;
    pushed.block = block;
    pushed.shared = shared;
    pushed.stream = stream;
    return 0;
}

RT_EXPORT xrt_error __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared,
                                               xcu_stream *stream);
xrt_error __cudaPopCallConfiguration(struct dim *grid, struct dim *block, size_t *shared,
                                     xcu_stream *stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared = pushed.shared;
    *stream = pushed.stream;
    return XCU_SUCCESS;
}

static xrt_error start(void *function, struct dim g, struct dim b, void **params, size_t shared,
                       xcu_stream stream)
{
    xrt_error error = rt_driver()->cuLaunchKernel(function, g.x, g.y, g.z, b.x, b.y, b.z,
                                                  (unsigned)shared, stream, params, NULL);

    return error == XCU_ERROR_INVALID_VALUE ? XRT_ERROR_INVALID_CONFIGURATION : error;
}

static xrt_error launch(const void *host, struct dim grid, struct dim block, void **params,
                        size_t shared, xcu_stream stream)
{
    void *function;
    xrt_error error = rt_kernel(host, &function);

    return error ? error : start(function, grid, block, params, shared, stream);
}

RT_API_PT(cudaLaunchKernel, cudaLaunchKernel_ptsz,
          (const void *host, struct dim grid, struct dim block, void **params, size_t shared,
           xcu_stream stream),
          (host, grid, block, params, shared, stream))
{
    return launch(host, grid, block, params, shared, stream);
}

RT_API_PT(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz,
          (const void *host, struct dim grid, struct dim block, void **params, size_t shared,
           xcu_stream stream),
          (host, grid, block, params, shared, stream))
{
    return launch(host, grid, block, params, shared, stream);
}

RT_API_PT(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz,
          (const struct xrt_launch_config *config, const void *host, void **params),
          (config, host, params))
{
    const struct xrt_launch_config *c = config;

    if (!c)
        return XCU_ERROR_INVALID_VALUE;
    return launch(host, (struct dim){c->grid[0], c->grid[1], c->grid[2]},
                  (struct dim){c->block[0], c->block[1], c->block[2]}, params, c->shared_bytes,
                  c->stream);
}

/* nvcc of CUDA 13 resolves the kernel first and launches it by that handle. */
RT_API(__cudaGetKernel, RT_CONTEXT, (void **out, const void *host), (out, host))
{
    return rt_kernel(host, out);
}

RT_API_PT(__cudaLaunchKernel, __cudaLaunchKernel_ptsz,
          (void *kernel, struct dim grid, struct dim block, void **params, size_t shared,
           xcu_stream stream),
          (kernel, grid, block, params, shared, stream))
{
    return start(kernel, grid, block, params, shared, stream);
}

RT_API(cudaGetKernel, RT_CONTEXT, (void **out, const void *host), (out, host))
{
    return out ? rt_kernel(host, out) : XCU_ERROR_INVALID_VALUE;
}

RT_API(cudaGetFuncBySymbol, RT_CONTEXT, (void **out, const void *host), (out, host))
{
    return out ? rt_kernel(host, out) : XCU_ERROR_INVALID_VALUE;
}

RT_API(cudaFuncGetName, RT_CONTEXT, (const char **out, const void *host), (out, host))
{
    void *function;
    xrt_error error = rt_kernel(host, &function);

    return error ? error : rt_driver()->cuFuncGetName(out, function);
}

struct function_attributes { /* cudaFuncAttributes */
    size_t shared, constant, local;
    int max_threads, registers, ptx, binary;
    int rest[25];
};

RT_API(cudaFuncGetAttributes, RT_CONTEXT, (struct function_attributes * out, const void *host),
       (out, host))
{
    void *function;
    xrt_error error = rt_kernel(host, &function);

    if (error || !out)
        return error ? error : XCU_ERROR_INVALID_VALUE;
    memset(out, 0, sizeof(*out));
    rt_driver()->cuFuncGetAttribute(&out->max_threads, 0, function);
    rt_driver()->cuFuncGetAttribute(&out->ptx, 5, function);
    rt_driver()->cuFuncGetAttribute(&out->binary, 6, function);
    return XCU_SUCCESS;
}

RT_API(cudaFuncSetAttribute, RT_CONTEXT, (const void *host, int attribute, int value),
       (host, attribute, value))
{
    void *function;

    return rt_kernel(host, &function);
}

RT_API(cudaFuncSetCacheConfig, RT_CONTEXT, (const void *host, int config), (host, config))
{
    void *function;

    return rt_kernel(host, &function);
}
