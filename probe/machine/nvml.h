/*
 * Facts about GPUs from NVIDIA's management library, loaded at run time. Without it, or where it
 * has no answer, fields stay unknown. Nothing here changes a setting.
 */
#ifndef XFP_NVML_H
#define XFP_NVML_H

#include <stddef.h>

#include "xferscope/profile.h"

/* What others do with a GPU; -1 = not known. */
struct xfp_gpu_use {
    int processes; /* computing on it, without this one */
    int percent;   /* of the last sampling period in which it was busy */
};

/* Once for a run; a second opening without closing does nothing. */
void xfp_nvml_open(void);
void xfp_nvml_close(void);

/* The driver's release ("580.159.03"), or "". */
void xfp_nvml_driver(char *text, size_t bytes);

/* Fills the fields of the GPU at gpu->pci: links, ECC, MIG; and its use by others. */
void xfp_nvml_describe(struct xfp_gpu *gpu, struct xfp_gpu_use *use);

/* While the GPU is used: raises pcie_gen and pcie_width to the present state of its link. */
void xfp_nvml_see_link(struct xfp_gpu *gpu);

/* Why its clocks are throttled: "too hot", "power"; "" = they are not. */
const char *xfp_nvml_slowed(const struct xfp_gpu *gpu);

#endif
