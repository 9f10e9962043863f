/*
 * What NVIDIA's management library knows about GPUs; loaded at run time. Without it, or where it
 * does not answer, things stay unknown. Nothing here changes a setting.
 */
#ifndef XFP_NVML_H
#define XFP_NVML_H

#include <stddef.h>

#include "xferscope/profile.h"

/* What others do with a GPU; -1 = not known. */
struct xfp_gpu_use {
    int processes; /* computing on it, besides this one */
    int percent;   /* of the last sampling period in which it was busy */
};

/* Once for a run; a second opening without closing does nothing. */
void xfp_nvml_open(void);
void xfp_nvml_close(void);

/* The driver's release ("580.159.03"), or "". */
void xfp_nvml_driver(char *text, size_t bytes);

/* Fills what it knows about the GPU of gpu->pci: links, ECC, MIG; and the use of it. */
void xfp_nvml_describe(struct xfp_gpu *gpu, struct xfp_gpu_use *use);

/* While the GPU is used: its PCIe link as it is now raises pcie_gen and pcie_width. */
void xfp_nvml_see_link(struct xfp_gpu *gpu);

/* Why its clocks are held down, "" = they are not: "too hot", "power". */
const char *xfp_nvml_slowed(const struct xfp_gpu *gpu);

#endif
