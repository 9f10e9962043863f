/*
 * The CUDA driver, loaded at run time: one binary for CUDA 12 and 13, built without either.
 *
 * xfp_driver_open() fills the table of functions (driver.def) once; it stays loaded for the life
 * of the process, as CUDA asks. A failure gives one line of text, and never aborts.
 */
#ifndef XFP_DRIVER_H
#define XFP_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "xferscope/cuda_abi.h"

enum xfp_device_attributes { /* CUdevice_attribute */
                             XFP_ATTR_MULTIPROCESSORS = 16,
                             XFP_ATTR_MAPS_HOST_MEMORY = 19,
                             XFP_ATTR_COPY_ENGINES = 40,
                             XFP_ATTR_CONCURRENT_MANAGED = 89, /* migrates on access */
                             XFP_ATTR_HOST_NUMA_ID =
                                 134, /* the node nearest to the GPU; from CUDA 12.2 on */
};

enum xfp_driver_errors { /* results with a message of their own, in addition to those of cuda_abi.h
                          */
                         XFP_ERROR_STUB_LIBRARY = 34,
                         XFP_ERROR_DEVICE_UNAVAILABLE = 46,
                         XFP_ERROR_SYSTEM_NOT_READY = 802,
                         XFP_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
};

struct xfp_driver {
#define X(name, symbol, version, parameters) xcu_result(*name) parameters;
#include "probe/device/driver.def"
#include "probe/device/driver_more.def" /* these may be NULL */
#undef X
    /* cuDeviceGetUuid as it was before MIG: of the whole GPU. NULL where there is none. */
    xcu_result (*physical_uuid)(struct xcu_uuid *uuid, xcu_device device);
    /* The simulated GPU's clock and choice of NUMA node; NULL on a real one. */
    uint64_t (*simulated_now_ns)(void);
    void (*simulated_bind_numa)(int node);
    /* Reports the host's access to managed memory, which it cannot see. */
    void (*simulated_touch)(const void *address, size_t bytes, int write);
    /* Reports that the calling thread writes its memory just before it copies. */
    void (*simulated_warm)(int warm);
    /* Reports a copy within the host, whose cost is that of the table at this number of threads. */
    void (*simulated_host_copy)(const char *table, size_t bytes, unsigned threads);
    /* Advances the clock by ns of host work. */
    void (*simulated_spend_ns)(uint64_t ns);
    int version; /* 13000 = CUDA 13.0 */
};

/* Loads and initialises the driver. NULL with one line in error when there is none, or no GPU. */
const struct xfp_driver *xfp_driver_open(char *error, size_t error_bytes);

/* Host time in ns: the monotonic clock, or the simulated GPU's own. */
uint64_t xfp_driver_now_ns(const struct xfp_driver *cu);

/* The reason of a failed call in words: "out of memory", or the error's name. */
const char *xfp_driver_reason(const struct xfp_driver *cu, xcu_result result);

#endif
