/*
 * Modules, libraries, functions and launches.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "tools/simgpu/driver/call.h"
#include "tools/simgpu/gpu/known_kernels.h"
#include "tools/simgpu/gpu/memory.h"
#include "tools/simgpu/gpu/queue.h"
#include "tools/simgpu/gpu/streams.h"

struct sim_symbol {
    char *name;
    xcu_deviceptr address;
    size_t bytes;
    struct sim_symbol *next;
};

/* ---- modules ------------------------------------------------------------------------------ */

static bool is_ptx(const void *image)
{
    const char *text = image;

    for (int i = 0; i < 4096 && text[i]; i++)
        if (!strncmp(text + i, ".version", 8))
            return true;
    return false;
}

static xcu_result module_new(const void *image, struct sim_module **out)
{
    struct sim_module *m;

    if (!out || !image)
        return XCU_ERROR_INVALID_VALUE;
    m = calloc(1, sizeof(*m));
    if (!m || !sim_handle_add(m, SIM_MODULE)) {
        free(m);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    if (is_ptx(image))
        m->text = strdup(image);
    *out = m;
    return XCU_SUCCESS;
}

/* Functions are kept: queued launches and activity records point to them. */
static struct sim_module *unloaded;

static void module_free(struct sim_module *m)
{
    sim_do_all_owed();
    for (size_t i = 0; i < m->count; i++)
        sim_handle_remove(m->functions[i]);
    m->next = unloaded;
    unloaded = m;
    for (struct sim_symbol *s = m->symbols, *next; s; s = next) {
        struct sim_range *r = sim_range_at((void *)s->address);

        next = s->next;
        if (r && (xcu_deviceptr)r->start == s->address)
            sim_range_free(r);
        free(s->name);
        free(s);
    }
    m->symbols = NULL;
    sim_handle_remove(m);
}

/* Twins are the program's: found through the global scope, however the kernel is launched. */
static void find_twin(struct sim_function *f)
{
    char name[512];

    snprintf(name, sizeof(name), "xferscope_simgpu_kernel_%s", f->name);
    f->twin = (xferscope_simgpu_twin *)dlsym(RTLD_DEFAULT, name);
    snprintf(name, sizeof(name), "xferscope_simgpu_params_%s", f->name);
    f->sizes = f->known >= 0 ? sim_known_sizes(f->known) : dlsym(RTLD_DEFAULT, name);
}

static xcu_result function_new(struct sim_module *m, const char *name, struct sim_function **out)
{
    struct sim_function *f = calloc(1, sizeof(*f));

    if (!f || !xfc_grow(&m->functions, &m->room, m->count, sizeof(struct sim_function *)) ||
        !(f->name = strdup(name)) || !sim_handle_add(f, SIM_FUNCTION)) {
        if (f)
            free(f->name);
        free(f);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    f->module = m;
    f->known = sim_known_kernel(name);
    find_twin(f);
    m->functions[m->count++] = f;
    *out = f;
    return XCU_SUCCESS;
}

/* PTX has readable names. Any other image is assumed to have every function that is asked for. */
static xcu_result function_of(struct sim_module *m, const char *name, void **out)
{
    struct sim_function *f = NULL;
    xcu_result r = XCU_SUCCESS;

    if (!sim_handle_is(m, SIM_MODULE))
        return XCU_ERROR_INVALID_HANDLE;
    if (!out || !name || !*name)
        return XCU_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < m->count && !f; i++)
        if (!strcmp(m->functions[i]->name, name))
            f = m->functions[i];
    if (!f && m->text && !strstr(m->text, name))
        return XCU_ERROR_NOT_FOUND;
    if (!f)
        r = function_new(m, name, &f);
    if (!r)
        *out = f;
    return r;
}

static xcu_result load_data(void **out, const void *image)
{
    struct sim_module *m;
    xcu_result r = out ? module_new(image, &m) : XCU_ERROR_INVALID_VALUE;

    if (!r)
        *out = m;
    return r;
}

SIM_API(cuModuleLoadData, SIM_CTX, (void **out, const void *image), (out, image))
{
    return load_data(out, image);
}

SIM_API(cuModuleLoadDataEx, SIM_CTX,
        (void **out, const void *image, unsigned count, int *options, void **values),
        (out, image, count, options, values))
{
    return load_data(out, image);
}

SIM_API(cuModuleLoadFatBinary, SIM_CTX, (void **out, const void *image), (out, image))
{
    return load_data(out, image);
}

static xcu_result load_file(void **out, const char *name)
{
    FILE *file = name ? fopen(name, "rb") : NULL;
    char *text;
    long bytes;
    xcu_result r = XCU_ERROR_INVALID_IMAGE;

    if (!file)
        return name ? XCU_ERROR_FILE_NOT_FOUND : XCU_ERROR_INVALID_VALUE;
    fseek(file, 0, SEEK_END);
    bytes = ftell(file);
    rewind(file);
    text = bytes > 0 ? calloc(1, (size_t)bytes + 1) : NULL;
    if (text && fread(text, 1, (size_t)bytes, file) == (size_t)bytes)
        r = load_data(out, text);
    free(text);
    fclose(file);
    return r;
}

SIM_API(cuModuleLoad, SIM_CTX, (void **out, const char *name), (out, name))
{
    return load_file(out, name);
}

static xcu_result unload(struct sim_module *m)
{
    if (!sim_handle_is(m, SIM_MODULE))
        return XCU_ERROR_INVALID_HANDLE;
    module_free(m);
    return XCU_SUCCESS;
}

SIM_API(cuModuleUnload, SIM_CTX, (void *module), (module))
{
    return unload(module);
}

SIM_API(cuModuleGetFunction, SIM_CTX, (void **out, void *module, const char *name),
        (out, module, name))
{
    return function_of(module, name, out);
}

SIM_API(cuModuleGetLoadingMode, SIM_INIT, (int *mode), (mode))
{
    if (!mode)
        return XCU_ERROR_INVALID_VALUE;
    *mode = 2; /* lazy */
    return XCU_SUCCESS;
}

/* A library is a module here, a kernel a function. */
SIM_API(cuLibraryLoadData, SIM_INIT,
        (void **out, const void *code, int *jit, void **jit_values, unsigned jit_count,
         int *options, void **values, unsigned count),
        (out, code, jit, jit_values, jit_count, options, values, count))
{
    return load_data(out, code);
}

SIM_API(cuLibraryLoadFromFile, SIM_INIT,
        (void **out, const char *name, int *jit, void **jit_values, unsigned jit_count,
         int *options, void **values, unsigned count),
        (out, name, jit, jit_values, jit_count, options, values, count))
{
    return load_file(out, name);
}

SIM_API(cuLibraryUnload, SIM_INIT, (void *library), (library))
{
    return unload(library);
}

SIM_API(cuLibraryGetKernel, SIM_INIT, (void **out, void *library, const char *name),
        (out, library, name))
{
    return function_of(library, name, out);
}

SIM_API(cuLibraryGetModule, SIM_CTX, (void **out, void *library), (out, library))
{
    if (!out || !sim_handle_is(library, SIM_MODULE))
        return XCU_ERROR_INVALID_HANDLE;
    *out = library;
    return XCU_SUCCESS;
}

SIM_API(cuKernelGetFunction, SIM_CTX, (void **out, void *kernel), (out, kernel))
{
    if (!out || !sim_handle_is(kernel, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    *out = kernel;
    return XCU_SUCCESS;
}

static xcu_result name_of(const char **name, struct sim_function *f)
{
    if (!name || !sim_handle_is(f, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    *name = f->name;
    return XCU_SUCCESS;
}

SIM_API(cuFuncGetName, SIM_INIT, (const char **name, void *function), (name, function))
{
    return name_of(name, function);
}

SIM_API(cuKernelGetName, SIM_INIT, (const char **name, void *kernel), (name, kernel))
{
    return name_of(name, kernel);
}

SIM_API(cuFuncGetModule, SIM_INIT, (void **out, void *function), (out, function))
{
    if (!out || !sim_handle_is(function, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    *out = ((struct sim_function *)function)->module;
    return XCU_SUCCESS;
}

enum { MAX_THREADS = 0, PTX_VERSION = 5, BINARY_VERSION = 6, LAST_FUNCTION_ATTRIBUTE = 15 };

SIM_API(cuFuncGetAttribute, SIM_INIT, (int *value, int attribute, void *function),
        (value, attribute, function))
{
    if (!value || attribute < 0 || attribute > LAST_FUNCTION_ATTRIBUTE)
        return XCU_ERROR_INVALID_VALUE;
    if (!sim_handle_is(function, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    *value = attribute == MAX_THREADS                                  ? 1024
             : attribute == PTX_VERSION || attribute == BINARY_VERSION ? 90
                                                                       : 0;
    return XCU_SUCCESS;
}

SIM_API(cuFuncSetAttribute, SIM_INIT, (void *function, int attribute, int value),
        (function, attribute, value))
{
    return sim_handle_is(function, SIM_FUNCTION) ? XCU_SUCCESS : XCU_ERROR_INVALID_HANDLE;
}

SIM_API(cuFuncSetCacheConfig, SIM_INIT, (void *function, int config), (function, config))
{
    return sim_handle_is(function, SIM_FUNCTION) ? XCU_SUCCESS : XCU_ERROR_INVALID_HANDLE;
}

/* ---- variables ---------------------------------------------------------------------------- */

static struct sim_symbol *symbol_of(struct sim_module *m, const char *name)
{
    for (struct sim_symbol *s = m->symbols; s; s = s->next)
        if (!strcmp(s->name, name))
            return s;
    return NULL;
}

static xcu_result global(xcu_deviceptr *address, size_t *bytes, struct sim_module *m,
                         const char *name)
{
    const struct sim_symbol *s;

    if (!sim_handle_is(m, SIM_MODULE))
        return XCU_ERROR_INVALID_HANDLE;
    s = name ? symbol_of(m, name) : NULL;
    if (!s)
        return name ? XCU_ERROR_NOT_FOUND : XCU_ERROR_INVALID_VALUE;
    if (address)
        *address = s->address;
    if (bytes)
        *bytes = s->bytes;
    return XCU_SUCCESS;
}

SIM_API(cuModuleGetGlobal_v2, SIM_CTX,
        (xcu_deviceptr * address, size_t *bytes, void *module, const char *name),
        (address, bytes, module, name))
{
    return global(address, bytes, module, name);
}

SIM_API(cuLibraryGetGlobal, SIM_CTX,
        (xcu_deviceptr * address, size_t *bytes, void *library, const char *name),
        (address, bytes, library, name))
{
    return global(address, bytes, library, name);
}

/* Only nvcc's registration calls give the size of a variable: cudart passes it on. */
SIM_API(xferscope_simgpu_symbol, SIM_CTX, (void *module, const char *name, size_t bytes),
        (module, name, bytes))
{
    struct sim_module *m = module;
    struct sim_symbol *s;
    xcu_result r;

    if (!sim_handle_is(m, SIM_MODULE) || !name || !bytes)
        return XCU_ERROR_INVALID_VALUE;
    if (symbol_of(m, name))
        return XCU_SUCCESS;
    s = calloc(1, sizeof(*s));
    if (!s || !(s->name = strdup(name))) {
        free(s);
        return XCU_ERROR_OUT_OF_MEMORY;
    }
    r = sim_device_alloc(sim_current()->device, bytes, SIM_RANGE_SYMBOL, NULL, &s->address);
    if (r) {
        free(s->name);
        free(s);
        return r;
    }
    s->bytes = bytes;
    s->next = m->symbols;
    m->symbols = s;
    return XCU_SUCCESS;
}

/* ---- parameters --------------------------------------------------------------------------- */

static xcu_result param_info(void *function, size_t index, size_t *offset, size_t *bytes)
{
    if (!offset)
        return XCU_ERROR_INVALID_VALUE;
    if (!sim_handle_is(function, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    return sim_param_info(function, index, offset, bytes);
}

SIM_API(cuFuncGetParamInfo, SIM_INIT, (void *function, size_t index, size_t *offset, size_t *bytes),
        (function, index, offset, bytes))
{
    return param_info(function, index, offset, bytes);
}

SIM_API(cuKernelGetParamInfo, SIM_INIT, (void *kernel, size_t index, size_t *offset, size_t *bytes),
        (kernel, index, offset, bytes))
{
    return param_info(kernel, index, offset, bytes);
}

/* ---- launches ----------------------------------------------------------------------------- */

SIM_EXPORT void xferscope_simgpu_kernel_ns(uint64_t ns)
{
    if (sim_thread.kernel_set)
        *sim_thread.kernel_set = ns;
}

SIM_EXPORT uint64_t xferscope_simgpu_kernel_start_ns(void)
{
    return sim_thread.kernel_set ? sim_thread.kernel_start : 0;
}

static xcu_result launch(struct sim_function *f, const unsigned grid[3], const unsigned block[3],
                         xcu_stream stream, void **params, void **extra)
{
    struct sim_op op = {.kind = SIM_OP_KERNEL, .asynchronous = true};
    struct sim_stream *s;
    xcu_result r = sim_stream_of(stream, &s);

    sim_advance(sim_settings.submit_ns);
    if (r)
        return r;
    if (!sim_handle_is(f, SIM_FUNCTION))
        return XCU_ERROR_INVALID_HANDLE;
    if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
        (uint64_t)block[0] * block[1] * block[2] > 1024 || (params && extra))
        return XCU_ERROR_INVALID_VALUE;
    op.u.kernel.function = f;
    memcpy(op.u.kernel.grid, grid, sizeof(op.u.kernel.grid));
    memcpy(op.u.kernel.block, block, sizeof(op.u.kernel.block));
    r = sim_kernel_params(&op.u.kernel, params, extra);
    if (!r && f->known == SIM_KERNEL_GATE && !sim_gate_of(&op.u.kernel))
        r = XCU_ERROR_ILLEGAL_ADDRESS;
    if (!r)
        r = sim_submit(s, &op);
    sim_params_drop(op.u.kernel.params);
    return r;
}

SIM_API_PT(cuLaunchKernel, cuLaunchKernel_ptsz, SIM_CTX | SIM_TIMED,
           (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
            unsigned bz, unsigned shared, xcu_stream stream, void **params, void **extra),
           (function, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
{
    return launch(function, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, stream, params,
                  extra);
}

SIM_API_PT(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, SIM_CTX | SIM_TIMED,
           (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
            unsigned bz, unsigned shared, xcu_stream stream, void **params),
           (function, gx, gy, gz, bx, by, bz, shared, stream, params))
{
    return launch(function, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, stream, params,
                  NULL);
}

SIM_API_PT(cuLaunchKernelEx, cuLaunchKernelEx_ptsz, SIM_CTX | SIM_TIMED,
           (const struct xcu_launch_config *config, void *function, void **params, void **extra),
           (config, function, params, extra))
{
    return config ? launch(function, config->grid, config->block, config->stream, params, extra)
                  : XCU_ERROR_INVALID_VALUE;
}

/* One kernel for each device, each on a stream of its own that was made for it. */
SIM_API(cuLaunchCooperativeKernelMultiDevice, SIM_CTX | SIM_TIMED,
        (struct xcu_launch * launches, unsigned count, unsigned flags), (launches, count, flags))
{
    xcu_result r = XCU_SUCCESS;

    if (!launches || count == 0 || count > (unsigned)sim_device_count || flags > 3)
        return XCU_ERROR_INVALID_VALUE;
    for (unsigned i = 0; !r && i < count; i++)
        r = launches[i].stream <= XCU_STREAM_PER_THREAD
                ? XCU_ERROR_INVALID_HANDLE
                : launch(launches[i].function, launches[i].grid, launches[i].block,
                         launches[i].stream, launches[i].values, NULL);
    return r;
}
