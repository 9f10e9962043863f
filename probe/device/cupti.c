#include "probe/device/cupti.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xferscope/cupti_abi.h"

#define BUFFER_BYTES (1u << 20) /* as the recorder's */
enum { BUFFERS = 64 };

static struct xcp_library cupti;
static xcp_subscriber subscriber;
static const struct xfp_driver *driver; /* whose clock the records get */

static int refused(struct xfp_system *sys, const char *what, xcp_result result)
{
    const char *name = NULL;

    if (result == XCP_ERROR_MULTIPLE_SUBSCRIBERS)
        return xfp_fail(sys, "another profiler is using CUPTI");
    if (cupti.GetResultString && cupti.GetResultString(result, &name) == XCP_SUCCESS && name)
        return xfp_fail(sys, "cupti%s: %s", what, name);
    return xfp_fail(sys, "cupti%s: %d", what, result);
}

/* ---- finding it ------------------------------------------------------------------------------ */

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
enum { SONAMES = sizeof(sonames) / sizeof(sonames[0]) };

static bool fill(void *handle)
{
    if (!handle)
        return false;
    cupti = (struct xcp_library){0};
#define FIND(name, params) *(void **)&cupti.name = dlsym(handle, "cupti" #name);
#define MISSING(name, params) || !cupti.name
    XCP_FUNCTIONS(FIND)
    XCP_OPTIONAL_FUNCTIONS(FIND)
    return cupti.ActivityDisable && !(false XCP_FUNCTIONS(MISSING));
#undef FIND
#undef MISSING
}

/* As the recorder does: the number of the call is kept. */
static void on_call(void *user, int domain, uint32_t call, const void *data)
{
    static _Thread_local uint32_t seen;
    const struct xcp_callback_data *d = data;

    (void)user, (void)domain, (void)call;
    if (d->site == XCP_SITE_ENTER && seen != d->correlation)
        seen = d->correlation;
}

/* 1: subscribed; 0: not this one, try the next; -1: another profiler has it, try no further. */
static int try_name(struct xfp_system *sys, const char *directory, const char *soname)
{
    char path[PATH_MAX];
    xcp_result result;

    if (snprintf(path, sizeof(path), "%s%s%s", directory, *directory ? "/" : "", soname) >=
            (int)sizeof(path) ||
        !fill(dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        return 0;
    result = cupti.Subscribe(&subscriber, on_call, NULL);
    if (result == XCP_SUCCESS)
        return 1;
    refused(sys, "Subscribe", result);
    return result == XCP_ERROR_MULTIPLE_SUBSCRIBERS ? -1 : 0;
}

static int try_directory(struct xfp_system *sys, const char *directory)
{
    int found = 0;

    for (int i = 0; i < SONAMES && !found; i++)
        found = try_name(sys, directory, sonames[i]);
    return found;
}

static int try_toolkit(struct xfp_system *sys, const char *root)
{
    static const char *const below[] = {"extras/CUPTI/lib64", "lib64", "lib",
                                        "targets/x86_64-linux/lib"};
    char directory[PATH_MAX];
    int found = 0;

    for (size_t i = 0; root && *root && i < sizeof(below) / sizeof(below[0]) && !found; i++)
        if (snprintf(directory, sizeof(directory), "%s/%s", root, below[i]) <
            (int)sizeof(directory))
            found = try_directory(sys, directory);
    return found;
}

/* The simulated GPU's lies beside its driver; NVIDIA's knows nothing of that driver. */
static int try_simulated(struct xfp_system *sys)
{
    char directory[PATH_MAX];
    Dl_info info;
    char *slash;

    if (!dladdr(*(void **)&sys->cu->simulated_now_ns, &info) || !info.dli_fname)
        return 0;
    snprintf(directory, sizeof(directory), "%s", info.dli_fname);
    slash = strrchr(directory, '/');
    if (!slash)
        return 0;
    *slash = '\0';
    return try_directory(sys, directory);
}

/* The loader's search path, then where toolkits have it: as the recorder looks. */
static int find(struct xfp_system *sys)
{
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    int found;

    if (sys->cu->simulated_now_ns)
        return try_simulated(sys);
    found = try_directory(sys, "");
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !found; i++)
        found = try_toolkit(sys, roots[i]);
    return found;
}

int xfp_cupti_subscribe(struct xfp_system *sys)
{
    xfp_fail(sys, "no libcupti.so.13 or .12 found (LD_LIBRARY_PATH may say where it is)");
    driver = sys->cu;
    return find(sys) > 0 ? 0 : -1;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Buffers are requested and returned in any thread. They are cleared and reused as the recorder's
 * are, so that their pages are resident. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *spare[BUFFERS], *full[BUFFERS];
static size_t full_bytes[BUFFERS];
static int spares, fulls;

static void requested(uint8_t **buffer, size_t *size, size_t *most_records)
{
    pthread_mutex_lock(&lock);
    *buffer = spares ? spare[--spares] : NULL;
    pthread_mutex_unlock(&lock);
    *size = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    if (!buffer)
        return;
    pthread_mutex_lock(&lock);
    full[fulls] = buffer;
    full_bytes[fulls++] = valid;
    pthread_mutex_unlock(&lock);
}

static bool moves_on;
static struct xfp_moves moves;

static void count_moves(uint8_t *buffer, size_t bytes)
{
    struct xcp_activity *record = NULL;

    while (cupti.ActivityGetNextRecord(buffer, bytes, &record) == XCP_SUCCESS) {
        const struct xcp_counter_record *counter = (const void *)record;

        if (record->kind != XCP_ACTIVITY_COUNTER)
            continue;
        moves.to_device += counter->counter == XCP_COUNTER_HTOD;
        moves.to_host += counter->counter == XCP_COUNTER_DTOH;
    }
}

struct xfp_moves xfp_cupti_moves(void)
{
    struct xfp_moves counted = moves;

    moves = (struct xfp_moves){0};
    return counted;
}

/* Where times of kernels go. */
struct taken {
    double *ns;
    size_t count, room;
};

static void take_kernels(uint8_t *buffer, size_t bytes, struct taken *taken)
{
    struct xcp_activity *record = NULL;

    while (taken->count < taken->room &&
           cupti.ActivityGetNextRecord(buffer, bytes, &record) == XCP_SUCCESS) {
        const struct xcp_kernel *kernel = (const void *)record;

        if (record->kind == XCP_ACTIVITY_KERNEL && kernel->end >= kernel->start)
            taken->ns[taken->count++] = (double)(kernel->end - kernel->start);
    }
}

static size_t collect(bool all, struct taken *taken)
{
    size_t bytes = 0;

    cupti.ActivityFlushAll(all ? XCP_FLUSH_FORCED : 0);
    pthread_mutex_lock(&lock);
    while (fulls) {
        bytes += full_bytes[--fulls];
        if (moves_on)
            count_moves(full[fulls], full_bytes[fulls]);
        take_kernels(full[fulls], full_bytes[fulls], taken);
        memset(full[fulls], 0, full_bytes[fulls]);
        spare[spares++] = full[fulls];
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* Records of managed memory may arrive late: buffers that are not full are flushed too. */
size_t xfp_cupti_collect(void)
{
    return collect(moves_on, &(struct taken){0});
}

size_t xfp_cupti_kernels(double *ns, size_t room)
{
    struct taken taken = {.ns = ns, .room = room};

    collect(true, &taken);
    return taken.count;
}

static int make_buffers(struct xfp_system *sys)
{
    for (spares = 0; spares < BUFFERS; spares++) {
        spare[spares] =
            mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (spare[spares] == MAP_FAILED)
            return xfp_fail(sys, "out of memory");
    }
    return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t clock_ns(void)
{
    return xfp_driver_now_ns(driver);
}

int xfp_cupti_prepare(struct xfp_system *sys)
{
    uint8_t yes = 1;
    size_t bytes = sizeof(yes);
    xcp_result result;

    if (make_buffers(sys))
        return -1;
    if (cupti.ActivitySetAttribute)
        cupti.ActivitySetAttribute(XCP_ATTRIBUTE_ZEROED_BUFFERS, &bytes, &yes);
    if (cupti.ActivityRegisterTimestampCallback)
        cupti.ActivityRegisterTimestampCallback(clock_ns);
    result = cupti.ActivityRegisterCallbacks(requested, completed);
    return result ? refused(sys, "ActivityRegisterCallbacks", result) : 0;
}

static void watch(bool on)
{
#define X(number, name) number,
    static const uint16_t calls[] = {
#include "xferscope/cupti_calls.def"
#include "xferscope/cupti_launches.def"
    };
#undef X

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        cupti.EnableCallback(on, subscriber, XCP_DOMAIN_DRIVER, calls[i]);
}

int xfp_cupti_switch(struct xfp_system *sys, bool on)
{
    static const int kinds[] = {XCP_ACTIVITY_MEMCPY, XCP_ACTIVITY_MEMCPY2, XCP_ACTIVITY_MEMSET,
                                XCP_ACTIVITY_KERNEL};

    if (!on)
        watch(false);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        xcp_result result = on ? cupti.ActivityEnable(kinds[i]) : cupti.ActivityDisable(kinds[i]);

        if (result && kinds[i] != XCP_ACTIVITY_MEMCPY2)
            return refused(sys, on ? "ActivityEnable" : "ActivityDisable", result);
    }
    if (on)
        watch(true);
    return 0;
}

int xfp_cupti_switch_moves(struct xfp_system *sys, bool on)
{
    struct xcp_counter_config config[] = {{XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_HTOD, 0, 1},
                                          {XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_DTOH, 0, 1},
                                          {XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_CPU_FAULT, 0, 1},
                                          {XCP_COUNTER_SCOPE_ALL, XCP_COUNTER_GPU_FAULT, 0, 1}};
    xcp_result result;

    if (!cupti.ActivityConfigureUnifiedMemoryCounter)
        return xfp_fail(sys, "CUPTI has no counters of managed memory");
    if (on) {
        result =
            cupti.ActivityConfigureUnifiedMemoryCounter(config, sizeof(config) / sizeof(config[0]));
        if (result)
            return refused(sys, "ActivityConfigureUnifiedMemoryCounter", result);
    }
    result = on ? cupti.ActivityEnable(XCP_ACTIVITY_COUNTER)
                : cupti.ActivityDisable(XCP_ACTIVITY_COUNTER);
    if (result)
        return refused(sys, on ? "ActivityEnable" : "ActivityDisable", result);
    moves_on = on;
    return 0;
}
