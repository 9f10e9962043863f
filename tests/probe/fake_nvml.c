/*
 * A management library with one GPU, "0000:18:00.0": its link is narrower than it could be, two of
 * three NVLinks are up, another process uses it, it is hot. Built as libnvidia-ml.so.1 into a
 * folder of its own.
 */
#include <string.h>
#include <unistd.h>

#define CALL(name, ...)                                                                            \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                  \
    __attribute__((visibility("default"))) int name(__VA_ARGS__)

enum { OK = 0, NOT_FOUND = 6, INVALID = 2, GEN_AT_REST = 1, GEN_IN_USE = 4 };

static int asked_for_gen;

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

CALL(nvmlInit_v2, void)
{
    return OK;
}
CALL(nvmlShutdown, void)
{
    return OK;
}
CALL(nvmlSystemGetDriverVersion, char *text, unsigned bytes)
{
    strncpy(text, "999.12.3", bytes);
    return OK;
}
CALL(nvmlDeviceGetHandleByPciBusId_v2, const char *pci, void **device)
{
    *device = &asked_for_gen;
    return strcmp(pci, "0000:18:00.0") ? NOT_FOUND : OK;
}
CALL(nvmlDeviceGetUtilizationRates, void *device, unsigned *use)
{
    use[0] = 37;
    use[1] = 0;
    return OK;
}
CALL(nvmlDeviceGetComputeRunningProcesses_v3, void *device, unsigned *count, struct process *list)
{
    list[0] = (struct process){.pid = (unsigned)getpid()};
    list[1] = (struct process){.pid = 1};
    *count = 2;
    return OK;
}
/* The first look finds the link asleep. */
CALL(nvmlDeviceGetCurrPcieLinkGeneration, void *device, unsigned *value)
{
    *value = asked_for_gen++ == 1 ? GEN_IN_USE : GEN_AT_REST;
    return OK;
}
CALL(nvmlDeviceGetCurrPcieLinkWidth, void *device, unsigned *value)
{
    *value = 8;
    return OK;
}
CALL(nvmlDeviceGetMaxPcieLinkGeneration, void *device, unsigned *value)
{
    *value = 5;
    return OK;
}
CALL(nvmlDeviceGetMaxPcieLinkWidth, void *device, unsigned *value)
{
    *value = 16;
    return OK;
}
CALL(nvmlDeviceGetNvLinkState, void *device, unsigned link, unsigned *value)
{
    *value = link != 1;
    return link < 3 ? OK : INVALID;
}
CALL(nvmlDeviceGetNvLinkVersion, void *device, unsigned link, unsigned *value)
{
    *value = 4;
    return OK;
}
CALL(nvmlDeviceGetEccMode, void *device, unsigned *value, unsigned *pending)
{
    *value = *pending = 1;
    return OK;
}
CALL(nvmlDeviceGetMigMode, void *device, unsigned *value, unsigned *pending)
{
    *value = *pending = 0;
    return OK;
}
CALL(nvmlDeviceGetCurrentClocksThrottleReasons, void *device, unsigned long long *reasons)
{
    *reasons = 0x40;
    return OK;
}
