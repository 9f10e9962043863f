/*
 * The system under measurement: the driver, its GPUs, the host's NUMA nodes, and the memory with
 * the pattern. Everything in this directory works on it; the session (probe/session.h) creates it
 * and sets the options.
 */
#ifndef XFP_DEVICE_H
#define XFP_DEVICE_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/device/driver.h"
#include "probe/device/kernels.h"

#define XFP_MOST_IN_BATCH 16 /* copies queued behind one gate */

/* A GPU that is in use: its primary context, one stream, events, the gate. */
struct xfp_device {
    int ordinal;
    xcu_device handle;
    xcu_context context; /* NULL: not opened yet */
    xcu_stream stream;
    xcu_event events[2 * XFP_MOST_IN_BATCH];
    void *module, *kernels[XFP_KERNEL_COUNT];
    volatile uint32_t *gate; /* XFP_GATE_WORDS, mapped; NULL: no gate on this GPU */
    xcu_deviceptr gate_address;
    int gave_up; /* gates that had to give up */
};

struct xfp_system {
    const struct xfp_driver *cu;
    size_t device_count;
    struct xfp_device *devices;
    int numa_count, *numa_nodes; /* nodes with memory and a processor this process may use */
    cpu_set_t affinity;          /* as the process was started */
    unsigned char *pattern;      /* the content of sources: most_bytes of it */
    unsigned char *check;        /* where results are checked */
    size_t most_bytes;           /* largest size asked for */
    bool verify;                 /* compare data after it moved */
    bool flush;                  /* host memory leaves the caches before it is copied */
    bool warm; /* instead, the processor writes it just before each copy; not for write-combined
                  memory */
    char error[240];  /* why the last function failed */
    char notice[240]; /* what could not be measured, although nothing failed; "" = none */
    /* Receives a warning about figures; the same one may come twice. */
    void (*warn)(void *warned, const char *line);
    void *warned;
};

/* Sets the system's error line; returns -1. */
int xfp_fail(struct xfp_system *sys, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* xfp_fail() of a driver call that returned result, 0 when it succeeded. */
int xfp_check(struct xfp_system *sys, xcu_result result, const char *what);

/* Passes a line to the collector of warnings. */
void xfp_warn(struct xfp_system *sys, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Devices. Opening makes the primary context current and is repeated at no cost; a device without
 * usable kernels opens too, with gate NULL and a warning.
 */
int xfp_device_open(struct xfp_system *sys, struct xfp_device *d);
void xfp_device_close(struct xfp_system *sys, struct xfp_device *d);

/*
 * The gate: close it, queue work on d->stream, open it, synchronise, then check whether it held
 * until it was opened. If it did not, the host blocked while submitting, and the times are invalid.
 * A gate that was closed must be opened on every path.
 */
int xfp_gate_close(struct xfp_system *sys, struct xfp_device *d);
void xfp_gate_open(struct xfp_device *d);
bool xfp_gate_held(struct xfp_device *d);

#endif
