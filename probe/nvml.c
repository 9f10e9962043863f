#define _GNU_SOURCE /* dlfcn.h */

#include "machine.h"

#include <dlfcn.h>
#include <unistd.h>

struct nvml_utilization {
    unsigned int gpu, memory; /* percent of the last sampling period */
};
struct nvml_process { /* nvmlProcessInfo_v2_t, unchanged since driver 510 */
    unsigned int pid;
    unsigned long long memory;
    unsigned int gpu_instance, compute_instance;
};

enum { MOST_PROCESSES = 256 };

struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_pci)(const char *pci, void **device);
    int (*utilization)(void *device, struct nvml_utilization *utilization);
    int (*processes)(void *device, unsigned int *count, struct nvml_process *processes);
};

static bool load(struct nvml *nvml)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return false;
    *(void **)&nvml->init = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml->shutdown = dlsym(library, "nvmlShutdown");
    *(void **)&nvml->by_pci = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&nvml->utilization = dlsym(library, "nvmlDeviceGetUtilizationRates");
    *(void **)&nvml->processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
    return nvml->init && nvml->shutdown && nvml->by_pci && !nvml->init();
}

static int count_others(const struct nvml *nvml, void *device)
{
    struct nvml_process list[MOST_PROCESSES];
    unsigned int count = MOST_PROCESSES;
    int others = 0;

    if (!nvml->processes || nvml->processes(device, &count, list))
        return -1;
    for (unsigned int i = 0; i < count && i < MOST_PROCESSES; i++)
        others += list[i].pid != (unsigned int)getpid();
    return others;
}

void xfp_nvml_busy(const char *pci, int *processes, int *percent)
{
    struct nvml_utilization utilization;
    struct nvml nvml;
    void *device;

    *processes = *percent = -1;
    if (!load(&nvml))
        return;
    if (!nvml.by_pci(pci, &device)) {
        *processes = count_others(&nvml, device);
        if (nvml.utilization && !nvml.utilization(device, &utilization))
            *percent = (int)utilization.gpu;
    }
    nvml.shutdown();
}
