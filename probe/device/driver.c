#include "probe/device/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef xcu_result (*get_proc_v2)(const char *name, void **function, int version, uint64_t flags,
                                  int *status);
typedef xcu_result (*get_proc_v1)(const char *name, void **function, int version, uint64_t flags);

static struct xfp_driver driver;

/* The five-argument form came with CUDA 12; drivers before it have the other under the old name.
 * Both say "not found" with a null pointer. */
static void *look_up(void *library, const char *name, const char *symbol, int version)
{
    void *v2 = dlsym(library, "cuGetProcAddress_v2");
    void *v1 = v2 ? NULL : dlsym(library, "cuGetProcAddress");
    void *function = NULL;
    xcu_result result = XCU_ERROR_NOT_FOUND;

    if (v2)
        result = ((get_proc_v2)v2)(name, &function, version, XCU_ENTRY_DEFAULT, NULL);
    else if (v1)
        result = ((get_proc_v1)v1)(name, &function, version, XCU_ENTRY_DEFAULT);
    return !result && function ? function : dlsym(library, symbol);
}

static const char *resolve(void *library)
{
#define X(name, symbol, version, parameters)                                                       \
    *(void **)&driver.name = look_up(library, #name, symbol, version);                             \
    if (!driver.name)                                                                              \
        return #name;
#include "probe/device/driver.def"
#undef X
#define X(name, symbol, version, parameters)                                                       \
    *(void **)&driver.name = look_up(library, #name, symbol, version);
#include "probe/device/driver_more.def"
#undef X
    *(void **)&driver.physical_uuid = dlsym(library, "cuDeviceGetUuid");
    *(void **)&driver.simulated_now_ns = dlsym(library, "xferscope_simgpu_now_ns");
    *(void **)&driver.simulated_bind_numa = dlsym(library, "xferscope_simgpu_bind_numa");
    *(void **)&driver.simulated_warm = dlsym(library, "xferscope_simgpu_warm");
    *(void **)&driver.simulated_host_copy = dlsym(library, "xferscope_simgpu_host_copy");
    *(void **)&driver.simulated_spend_ns = dlsym(library, "xferscope_simgpu_spend_ns");
    *(void **)&driver.simulated_touch = dlsym(library, "xferscope_simgpu_touch");
    return NULL;
}

static const char *explain_init(xcu_result result)
{
    switch (result) {
    case XCU_ERROR_NO_DEVICE:
        return "no GPU: the driver sees none (nvidia-smi -L lists them; is CUDA_VISIBLE_DEVICES "
               "set?)";
    case XFP_ERROR_STUB_LIBRARY:
        return "no driver: libcuda.so.1 is the toolkit's stub; install the NVIDIA driver or mend "
               "LD_LIBRARY_PATH";
    case XFP_ERROR_SYSTEM_DRIVER_MISMATCH:
        return "the kernel's NVIDIA driver and libcuda.so.1 are of different versions: reboot, or "
               "reload the kernel module";
    case XFP_ERROR_SYSTEM_NOT_READY:
        return "the GPU system is not ready: is nvidia-fabricmanager running?";
    default:
        return NULL;
    }
}

static bool initialise(char *error, size_t error_bytes)
{
    xcu_result result = driver.cuInit(0);
    const char *why = explain_init(result);
    int count = 0;

    if (!result) {
        driver.cuDriverGetVersion(&driver.version);
        result = driver.cuDeviceGetCount(&count);
        why = !result && !count ? explain_init(XCU_ERROR_NO_DEVICE) : NULL;
    }
    if (why)
        snprintf(error, error_bytes, "%s", why);
    else if (result)
        snprintf(error, error_bytes, "the CUDA driver does not start: %s",
                 xfp_driver_reason(&driver, result));
    return !why && !result;
}

const struct xfp_driver *xfp_driver_open(char *error, size_t error_bytes)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *missing;

    if (!library) {
        const char *why = dlerror();

        if (why && strstr(why, "No such file"))
            why = "libcuda.so.1 is not installed (it comes with the NVIDIA driver)";
        snprintf(error, error_bytes, "no driver: %s", why ? why : "libcuda.so.1 does not load");
        return NULL;
    }
    missing = resolve(library);
    if (missing) {
        snprintf(error, error_bytes,
                 "the CUDA driver is too old: it has no %s (CUDA 11.4 is needed)", missing);
        return NULL;
    }
    return initialise(error, error_bytes) ? &driver : NULL;
}

uint64_t xfp_driver_now_ns(const struct xfp_driver *cu)
{
    struct timespec now;

    if (cu->simulated_now_ns)
        return cu->simulated_now_ns();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const char *xfp_driver_reason(const struct xfp_driver *cu, xcu_result result)
{
    const char *name = NULL;

    switch (result) {
    case XCU_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case XFP_ERROR_DEVICE_UNAVAILABLE:
        return "busy: another process holds the GPU exclusively";
    default:
        cu->cuGetErrorName(result, &name);
        return name ? name : "unknown CUDA error";
    }
}
