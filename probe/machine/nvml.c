#include "probe/machine/nvml.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

struct nvml_utilization {
    unsigned int gpu, memory; /* percent of the last sampling period */
};
struct nvml_process { /* nvmlProcessInfo_v2_t, unchanged since driver 510 */
    unsigned int pid;
    unsigned long long memory;
    unsigned int gpu_instance, compute_instance;
};

enum { MOST_PROCESSES = 256, MOST_LINKS = 36 };

/* nvmlClocksThrottleReasons */
enum { SLOWED_BY_HARDWARE = 0x8, HOT = 0x20 | 0x40, POWER_BRAKE = 0x80 };

/* Any of them may be missing. X(name, symbol, parameters); all return 0 on success. */
#define NVML_LIST(X)                                                                               \
    X(init, "nvmlInit_v2", (void))                                                                 \
    X(shutdown, "nvmlShutdown", (void))                                                            \
    X(driver, "nvmlSystemGetDriverVersion", (char *text, unsigned bytes))                          \
    X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", (const char *pci, void **device))                \
    X(utilization, "nvmlDeviceGetUtilizationRates", (void *device, struct nvml_utilization *use))  \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
      (void *device, unsigned *count, struct nvml_process *list))                                  \
    X(gen, "nvmlDeviceGetCurrPcieLinkGeneration", (void *device, unsigned *value))                 \
    X(width, "nvmlDeviceGetCurrPcieLinkWidth", (void *device, unsigned *value))                    \
    X(max_gen, "nvmlDeviceGetMaxPcieLinkGeneration", (void *device, unsigned *value))              \
    X(max_width, "nvmlDeviceGetMaxPcieLinkWidth", (void *device, unsigned *value))                 \
    X(link_state, "nvmlDeviceGetNvLinkState", (void *device, unsigned link, unsigned *value))      \
    X(link_version, "nvmlDeviceGetNvLinkVersion", (void *device, unsigned link, unsigned *value))  \
    X(ecc, "nvmlDeviceGetEccMode", (void *device, unsigned *value, unsigned *pending))             \
    X(mig, "nvmlDeviceGetMigMode", (void *device, unsigned *value, unsigned *pending))             \
    X(slowed, "nvmlDeviceGetCurrentClocksThrottleReasons",                                         \
      (void *device, unsigned long long *reasons))

static struct nvml {
    bool open;
#define X(name, symbol, parameters) int(*name) parameters;
    NVML_LIST(X)
#undef X
} nvml;

void xfp_nvml_open(void)
{
    void *library = nvml.open ? NULL : dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
#define X(name, symbol, parameters) *(void **)&nvml.name = dlsym(library, symbol);
    NVML_LIST(X)
#undef X
    nvml.open = nvml.init && nvml.shutdown && nvml.by_pci && !nvml.init();
}

void xfp_nvml_close(void)
{
    if (nvml.open)
        nvml.shutdown();
    nvml.open = false;
}

void xfp_nvml_driver(char *text, size_t bytes)
{
    if (!nvml.open || !nvml.driver || nvml.driver(text, (unsigned)bytes))
        text[0] = '\0';
}

static void *device_of(const struct xfp_gpu *gpu)
{
    void *device;

    return nvml.open && gpu->pci && !nvml.by_pci(gpu->pci, &device) ? device : NULL;
}

static int count_others(void *device)
{
    struct nvml_process list[MOST_PROCESSES];
    unsigned int count = MOST_PROCESSES;
    int others = 0;

    if (!nvml.processes || nvml.processes(device, &count, list))
        return -1;
    for (unsigned int i = 0; i < count && i < MOST_PROCESSES; i++)
        others += list[i].pid != (unsigned int)getpid();
    return others;
}

/* `absent` when the function is missing or fails. */
static int ask(int (*function)(void *, unsigned *), void *device, int absent)
{
    unsigned value;

    return function && !function(device, &value) ? (int)value : absent;
}

static int ask_mode(int (*function)(void *, unsigned *, unsigned *), void *device)
{
    unsigned value, pending;

    return function && !function(device, &value, &pending) ? value != 0 : -1;
}

static void count_links(struct xfp_gpu *gpu, void *device)
{
    unsigned up, version;

    for (unsigned link = 0; nvml.link_state && link < MOST_LINKS; link++) {
        if (nvml.link_state(device, link, &up))
            break; /* no more links, or none at all */
        gpu->nvlinks = gpu->nvlinks < 0 ? 0 : gpu->nvlinks;
        gpu->nvlinks += up != 0;
        if (up && nvml.link_version && !nvml.link_version(device, link, &version))
            gpu->nvlink_version = (int)version;
    }
}

void xfp_nvml_describe(struct xfp_gpu *gpu, struct xfp_gpu_use *use)
{
    void *device = device_of(gpu);
    struct nvml_utilization busy;

    *use = (struct xfp_gpu_use){-1, -1};
    if (!device)
        return;
    use->processes = count_others(device);
    if (nvml.utilization && !nvml.utilization(device, &busy))
        use->percent = (int)busy.gpu;
    gpu->pcie_max_gen = ask(nvml.max_gen, device, 0);
    gpu->pcie_max_width = ask(nvml.max_width, device, 0);
    gpu->ecc = ask_mode(nvml.ecc, device);
    gpu->mig = ask_mode(nvml.mig, device);
    count_links(gpu, device);
}

void xfp_nvml_see_link(struct xfp_gpu *gpu)
{
    void *device = device_of(gpu);
    int gen = device ? ask(nvml.gen, device, 0) : 0;
    int width = device ? ask(nvml.width, device, 0) : 0;

    gpu->pcie_gen = gen > gpu->pcie_gen ? gen : gpu->pcie_gen;
    gpu->pcie_width = width > gpu->pcie_width ? width : gpu->pcie_width;
}

const char *xfp_nvml_slowed(const struct xfp_gpu *gpu)
{
    void *device = device_of(gpu);
    unsigned long long reasons = 0;

    if (!device || !nvml.slowed || nvml.slowed(device, &reasons))
        return "";
    if (reasons & HOT)
        return "too hot";
    return reasons & (POWER_BRAKE | SLOWED_BY_HARDWARE) ? "power" : "";
}
