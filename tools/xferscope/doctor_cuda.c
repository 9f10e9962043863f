/* The driver, the GPUs, NVML and CUPTI. Nothing here creates a context. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/xferscope/doctor.h"
#include "preload/timing/cupti_load.h"
#include "xferscope/cuda_abi.h"

/* ---- the driver ------------------------------------------------------------------------- */

static void *driver(void)
{
    static void *handle;
    if (!handle)
        handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static const char *path_of(void *handle)
{
    struct link_map *map = NULL;
    if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
        return "";
    return map->l_name;
}

static bool is_simulated(void)
{
    return driver() && dlsym(driver(), "xferscope_simgpu_now_ns");
}

/* CUDA version the driver supports, as CUDA counts (13000 = 13.0); 0 when there is none. */
static int driver_version(void)
{
    int version = 0;
    int (*ask)(int *) = driver() ? (int (*)(int *))dlsym(driver(), "cuDriverGetVersion") : NULL;
    return ask && ask(&version) == XCU_SUCCESS ? version : 0;
}

static void look_at_driver(struct doctor_finding *f)
{
    char release[256] = "";
    int version = driver_version();
    doctor_read_line("/proc/driver/nvidia/version", release, sizeof release);
    if (!driver())
        doctor_say(f, DOCTOR_FAIL,
                   "no libcuda.so.1: CUDA programs do not run here; traces can be analysed");
    else if (version == 0)
        doctor_say(f, DOCTOR_FAIL, "%s does not tell its version", path_of(driver()));
    else
        doctor_say(f, DOCTOR_OK, "%s, CUDA %d.%d%s%s", path_of(driver()), version / 1000,
                   version % 1000 / 10, release[0] ? ", " : "", release);
}

/* ---- the GPUs --------------------------------------------------------------------------- */

static void name_devices(int count, char *names, size_t bytes)
{
    int (*get)(xcu_device *, int) = (int (*)(xcu_device *, int))dlsym(driver(), "cuDeviceGet");
    int (*name)(char *, int, xcu_device) =
        (int (*)(char *, int, xcu_device))dlsym(driver(), "cuDeviceGetName");
    size_t n = 0;
    for (int i = 0; get && name && i < count && n < bytes; i++) {
        char text[128] = "?";
        xcu_device device;
        if (get(&device, i) != XCU_SUCCESS || name(text, sizeof text, device) != XCU_SUCCESS)
            snprintf(text, sizeof text, "?");
        n += (size_t)snprintf(names + n, bytes - n, "%s%s", i ? ", " : "", text);
    }
}

static void explain_error(struct doctor_finding *f, const char *call, int status)
{
    const char *text = NULL;
    int (*explain)(int, const char **) =
        (int (*)(int, const char **))dlsym(driver(), "cuGetErrorString");
    if (!explain || explain(status, &text) != XCU_SUCCESS || !text)
        text = "no explanation";
    doctor_say(f, DOCTOR_FAIL, "%s: error %d, %s", call, status, text);
}

static void look_at_gpus(struct doctor_finding *f)
{
    char names[512] = "";
    int count = 0;
    int (*init)(unsigned) = driver() ? (int (*)(unsigned))dlsym(driver(), "cuInit") : NULL;
    int (*ask)(int *) = driver() ? (int (*)(int *))dlsym(driver(), "cuDeviceGetCount") : NULL;
    if (!init || !ask) {
        doctor_say(f, DOCTOR_FAIL, "not known without the driver");
        return;
    }
    int status = init(0);
    if (status != XCU_SUCCESS) {
        explain_error(f, "cuInit", status);
        return;
    }
    status = ask(&count);
    if (status != XCU_SUCCESS) {
        explain_error(f, "cuDeviceGetCount", status);
        return;
    }
    name_devices(count, names, sizeof names);
    if (count == 0)
        doctor_say(f, DOCTOR_FAIL, "the driver has no GPU; is CUDA_VISIBLE_DEVICES set?");
    else if (is_simulated())
        doctor_say(f, DOCTOR_WARN, "%d simulated (%s): figures are the model's, not this machine's",
                   count, names);
    else
        doctor_say(f, DOCTOR_OK, "%d: %s", count, names);
}

static void look_at_nvml(struct doctor_finding *f)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(void) = nvml ? (int (*)(void))dlsym(nvml, "nvmlInit_v2") : NULL;
    int (*end)(void) = nvml ? (int (*)(void))dlsym(nvml, "nvmlShutdown") : NULL;
    int status = init ? init() : -1;
    if (is_simulated())
        doctor_say(f, DOCTOR_OK, "not needed for a simulated GPU");
    else if (!init)
        doctor_say(f, DOCTOR_WARN,
                   "no libnvidia-ml.so.1: probe cannot tell whether others use the GPU");
    else if (status != 0)
        doctor_say(f, DOCTOR_WARN,
                   "nvmlInit: error %d: probe cannot tell whether others use the GPU", status);
    else
        doctor_say(f, DOCTOR_OK, "%s", path_of(nvml));
    if (status == 0 && end)
        end();
}

/* ---- CUPTI ------------------------------------------------------------------------------ */

struct cupti_found {
    char path[512];
    unsigned version;
    bool tried;      /* to subscribe, which takes a driver */
    char taken[128]; /* why it failed; empty: it did not */
};

static void ignore(void *user, int domain, uint32_t call, const void *data)
{
    (void)user, (void)domain, (void)call, (void)data;
}

/* Subscribes as the recorder will, and unsubscribes at once. */
static void try_to_subscribe(const struct xcp_library *library, struct cupti_found *found)
{
    xcp_subscriber subscriber;
    const char *text = NULL;
    int (*init)(unsigned) = driver() ? (int (*)(unsigned))dlsym(driver(), "cuInit") : NULL;
    if (!init || init(0) != XCU_SUCCESS || !library->Unsubscribe)
        return;
    int status = library->Subscribe(&subscriber, ignore, NULL);
    found->tried = true;
    if (status == 0)
        library->Unsubscribe(subscriber);
    else if (library->GetResultString && library->GetResultString(status, &text) == 0 && text)
        snprintf(found->taken, sizeof found->taken, "%s", text);
    else
        snprintf(found->taken, sizeof found->taken, "error %d", status);
}

static bool accept_cupti(const struct xcp_library *library, const char *path, void *user)
{
    struct cupti_found *found = user;
    Dl_info info;
    bool named = dladdr((void *)(uintptr_t)library->GetVersion, &info) && info.dli_fname;
    snprintf(found->path, sizeof found->path, "%s", named ? info.dli_fname : path);
    if (!library->GetVersion || library->GetVersion(&found->version) != 0)
        return false;
    try_to_subscribe(library, found);
    return true;
}

/* The number in the soname is CUDA's major version. */
static int cuda_of(const char *path)
{
    const char *number = strstr(path, "libcupti.so.");
    return number ? atoi(number + strlen("libcupti.so.")) : 0;
}

static void look_at_cupti(struct doctor_finding *f)
{
    struct cupti_found found = {.version = 0};
    struct xfs_cupti_search search = {.symbol = dlsym, .accept = accept_cupti, .user = &found};
    static const char without[] = "device times are then the host's";
    if (!xfs_cupti_find(&search)) {
        doctor_say(f, DOCTOR_WARN,
                   "no libcupti.so.12 or .13 on the loader's path or in a toolkit: %s, unless the "
                   "program brings one (PyTorch does)",
                   without);
        return;
    }
    int cuda = cuda_of(found.path), most = driver_version() / 1000;
    if (most > 0 && cuda > most)
        doctor_say(f, DOCTOR_WARN, "%s (API %u) is newer than the driver, which knows CUDA %d: %s",
                   found.path, found.version, most, without);
    else if (found.taken[0])
        doctor_say(f, DOCTOR_WARN, "%s (API %u) does not let us in (%s): %s", found.path,
                   found.version, found.taken, without);
    else
        doctor_say(f, DOCTOR_OK, "%s (API %u)%s", found.path, found.version,
                   found.tried ? ", free" : "");
}

/* -1 when not known. */
static int admin_only(void)
{
    char line[256];
    int value = -1;
    FILE *file = fopen("/proc/driver/nvidia/params", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RmProfilingAdminOnly: %d", &value) == 1)
            break;
    if (file)
        fclose(file);
    return value;
}

static void look_at_permission(struct doctor_finding *f)
{
    int only = admin_only();
    if (is_simulated())
        doctor_say(f, DOCTOR_OK, "not needed for a simulated GPU");
    else if (only < 0)
        doctor_say(f, DOCTOR_OK, "the driver does not say that profiling is restricted");
    else if (only == 0)
        doctor_say(f, DOCTOR_OK, "every user may profile (RmProfilingAdminOnly: 0)");
    else if (geteuid() == 0)
        doctor_say(f, DOCTOR_OK,
                   "profiling is for administrators (RmProfilingAdminOnly: 1); this "
                   "is one");
    else
        doctor_say(
            f, DOCTOR_WARN,
            "profiling is for administrators (RmProfilingAdminOnly: 1): CUPTI may refuse, and "
            "times are then the host's; the module option "
            "NVreg_RestrictProfilingToAdminUsers=0 lifts it");
}

const struct doctor_check doctor_cuda_checks[] = {
    {"driver", look_at_driver},
    {"GPUs", look_at_gpus},
    {"NVML", look_at_nvml},
    {"CUPTI", look_at_cupti},
    {"permission", look_at_permission},
};
const size_t doctor_cuda_count = sizeof doctor_cuda_checks / sizeof doctor_cuda_checks[0];
