/*
 * A user of the driver API alone. How it comes by its entry points is the argument:
 *
 *   link       the linker bound them (only when built with DRIVER_LINKED)
 *   dlsym      one dlsym per function
 *   address    cuGetProcAddress, the four-argument form
 *   address2   cuGetProcAddress_v2; as the runtime does: asked for itself first
 *   address2-ptds  the same, per-thread default stream variants
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver_api.h"

enum { BYTES = 65536, WIDTH = 100, HEIGHT = 32, PITCH = 512 };

typedef xcu_result get_address_fn(const char *name, void **entry, int version, uint64_t flags);
typedef xcu_result get_address2_fn(const char *name, void **entry, int version, uint64_t flags,
                                   int *status);

static struct driver_calls cu;

static void fail(const char *what, int code)
{
    fprintf(stderr, "driver_copy: %s: %d\n", what, code);
    exit(1);
}

static void check(xcu_result result, const char *what)
{
    if (result != 0)
        fail(what, result);
}

struct wanted {
    void **slot;
    const char *exported, *name;
    int version;
};

#define DRIVER_WANTED(field, exported, name, version, parameters)                                  \
    {(void **)&cu.field, #exported, name, version},
static const struct wanted wanted[] = {DRIVER_CALLS(DRIVER_WANTED)};
#define WANTED_COUNT (sizeof wanted / sizeof wanted[0])

static void *driver_symbol(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = driver ? dlsym(driver, name) : NULL;

    if (!symbol)
        fail(name, -1);
    return symbol;
}

static void resolve_dlsym(void)
{
    for (size_t i = 0; i < WANTED_COUNT; i++)
        *wanted[i].slot = driver_symbol(wanted[i].exported);
}

static void resolve_address(void)
{
    get_address_fn *get = (get_address_fn *)driver_symbol("cuGetProcAddress");

    for (size_t i = 0; i < WANTED_COUNT; i++)
        check(get(wanted[i].name, wanted[i].slot, wanted[i].version, XCU_ENTRY_LEGACY_STREAM),
              wanted[i].name);
}

static void resolve_address2(uint64_t flags)
{
    get_address2_fn *get = (get_address2_fn *)driver_symbol("cuGetProcAddress_v2");
    void *again = NULL;
    int status = -1;

    check(get("cuGetProcAddress", &again, 12000, flags, &status), "cuGetProcAddress");
    if (status != 0)
        fail("cuGetProcAddress through itself", status);
    get = (get_address2_fn *)again;
    /* Per-thread default streams came with CUDA 7: older versions have no such variant. */
    for (size_t i = 0; i < WANTED_COUNT; i++) {
        int version = wanted[i].version < 7000 ? 7000 : wanted[i].version;
        check(get(wanted[i].name, wanted[i].slot, version, flags, NULL), wanted[i].name);
        if (*wanted[i].slot == NULL)
            fail(wanted[i].name, -1);
    }
}

#ifdef DRIVER_LINKED
#define DRIVER_PROTOTYPE(field, exported, name, version, parameters) xcu_result exported parameters;
DRIVER_CALLS(DRIVER_PROTOTYPE)

static void resolve_link(void)
{
#define DRIVER_BIND(field, exported, name, version, parameters) cu.field = exported;
    DRIVER_CALLS(DRIVER_BIND)
}
#endif

static void resolve(const char *how)
{
    if (strcmp(how, "dlsym") == 0)
        resolve_dlsym();
    else if (strcmp(how, "address") == 0)
        resolve_address();
    else if (strcmp(how, "address2") == 0)
        resolve_address2(XCU_ENTRY_DEFAULT);
    else if (strcmp(how, "address2-ptds") == 0)
        resolve_address2(XCU_ENTRY_PER_THREAD_STREAM);
#ifdef DRIVER_LINKED
    else if (strcmp(how, "link") == 0)
        resolve_link();
#endif
    else {
        fputs("usage: driver_copy link|dlsym|address|address2|address2-ptds\n", stderr);
        exit(2);
    }
}

static void copy_linear(xcu_deviceptr a, xcu_deviceptr b, const char *out, char *in)
{
    check(cu.htod(a, out, BYTES), "cuMemcpyHtoD");
    check(cu.dtod(b, a, BYTES), "cuMemcpyDtoD");
    check(cu.dtoh(in, b, BYTES), "cuMemcpyDtoH");
    if (memcmp(in, out, BYTES) != 0)
        fail("other bytes came back", 0);
    check(cu.copy(a, b, BYTES / 2), "cuMemcpy");
    puts("H2D 1 65536\nD2D 1 65536\nD2H 1 65536\nD2D 1 32768");
}

static void copy_async(xcu_deviceptr a, const char *out, char *in)
{
    xcu_stream stream = NULL;

    check(cu.stream_create(&stream, 0), "cuStreamCreate");
    check(cu.htod_async(a, out, BYTES / 4, stream), "cuMemcpyHtoDAsync");
    check(cu.dtoh_async(in, a, BYTES / 4, stream), "cuMemcpyDtoHAsync");
    check(cu.stream_sync(stream), "cuStreamSynchronize");
    check(cu.htod_async(a, out, 64, NULL), "cuMemcpyHtoDAsync");
    check(cu.stream_sync(NULL), "cuStreamSynchronize");
    check(cu.stream_destroy(stream), "cuStreamDestroy");
    puts("H2D 1 16384\nD2H 1 16384\nH2D 1 64");
}

/* Allowed, and nothing is moved. */
static void copy_nothing(xcu_deviceptr a, xcu_deviceptr b, const char *out, char *in)
{
    struct xcu_memcpy2d what = {.src_type = XCU_MEMORY_HOST,
                                .src_host = out,
                                .src_pitch = WIDTH,
                                .dst_type = XCU_MEMORY_DEVICE,
                                .dst_device = a,
                                .dst_pitch = PITCH,
                                .height = HEIGHT};

    check(cu.htod(a, out, 0), "cuMemcpyHtoD");
    check(cu.dtod(b, a, 0), "cuMemcpyDtoD");
    check(cu.dtoh_async(in, a, 0, NULL), "cuMemcpyDtoHAsync");
    check(cu.copy_2d(&what), "cuMemcpy2D");
    puts("empty 4");
}

static void copy_2d(xcu_deviceptr a, const char *out)
{
    struct xcu_memcpy2d what = {.src_type = XCU_MEMORY_HOST,
                                .src_host = out,
                                .src_pitch = WIDTH,
                                .dst_type = XCU_MEMORY_DEVICE,
                                .dst_device = a,
                                .dst_pitch = PITCH,
                                .width = WIDTH,
                                .height = HEIGHT};

    check(cu.copy_2d(&what), "cuMemcpy2D");
    puts("H2D 1 3200");
}

int main(int argc, char **argv)
{
    static char out[BYTES], in[BYTES];
    xcu_context context = NULL;
    xcu_deviceptr a = 0, b = 0;
    xcu_device device = 0;

    resolve(argc == 2 ? argv[1] : "");
    for (int i = 0; i < BYTES; i++)
        out[i] = (char)(i * 5 + i / 251);
    check(cu.init(0), "cuInit");
    check(cu.device_get(&device, 0), "cuDeviceGet");
    check(cu.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cu.context_set(context), "cuCtxSetCurrent");
    check(cu.mem_alloc(&a, BYTES), "cuMemAlloc");
    check(cu.mem_alloc(&b, BYTES), "cuMemAlloc");
    copy_linear(a, b, out, in);
    copy_async(a, out, in);
    copy_2d(a, out);
    copy_nothing(a, b, out, in);
    check(cu.mem_free(a), "cuMemFree");
    check(cu.mem_free(b), "cuMemFree");
    check(cu.context_release(device), "cuDevicePrimaryCtxRelease");
    return 0;
}
