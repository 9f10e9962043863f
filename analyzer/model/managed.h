/*
 * Managed memory of a process: what the driver moved and what faults it served, set to the
 * allocations they belong to (by address and time), to the kernels that ran on the device then, and
 * to the lines of the host's program.
 *
 * Kernels, allocations and calls are kept, up to the limits; migrations and faults are streamed. An
 * address that no recorded allocation holds at that time (a variable declared managed, an
 * allocation from before recording) counts to stack 0.
 */
#ifndef XFA_MANAGED_H
#define XFA_MANAGED_H

#include "analyzer/read/read.h"

#define XFA_MAX_MANAGED_ITEMS (1u << 22) /* allocations, kernels, calls: of each */
#define XFA_MAX_MANAGED_ROWS 16384       /* sites, kernels, lines: of each */
#define XFA_MIGRATION_CAUSES 6

struct xfa_managed_figures {
    uint64_t allocations, allocated; /* calls, bytes */
    uint64_t migrations;
    uint64_t bytes[XFT_DIRECTION_COUNT]; /* migrated, by direction */
    uint64_t by_cause[XFA_MIGRATION_CAUSES];
    double migration_ns; /* of the device's time; may overlap */
    uint64_t host_faults;
    uint64_t fault_groups, faults; /* of devices */
    double fault_ns;               /* of the groups, until served; may overlap */
};

/* One place that allocates. */
struct xfa_managed_site {
    uint32_t stack; /* key; 0 = not known */
    struct xfa_managed_figures figures;
};

/* Device faults of one kernel on the memory of one site. */
struct xfa_managed_kernel_key {
    uint32_t site;
    uint32_t name; /* in NAMES; 0 = no kernel is known to have run */
};
struct xfa_managed_kernel {
    struct xfa_managed_kernel_key key;
    uint64_t groups, faults;
    double ns;
};

/* Host faults at one line on the memory of one site, between two calls. */
struct xfa_managed_line_key {
    uint32_t site;
    uint32_t line;                    /* stack of the instruction; 0 = not known */
    uint32_t before, after;           /* stacks of the call begun last and of the one begun next */
    uint16_t before_call, after_call; /* UINT16_MAX = there was none */
    int32_t tid;                      /* 0: several threads are possible */
};
struct xfa_managed_line {
    struct xfa_managed_line_key key;
    uint64_t faults;
};

struct xfa_managed {
    struct xfa_table sites, kernels, lines;
    uint64_t beyond; /* items beyond the limits above: what they belong to may be wrong */
};

/* Reads the trace twice: only for processes that have migrations or faults. */
void xfa_managed_read(struct xfa_managed *managed, struct xfa_trace *trace);
void xfa_managed_free(struct xfa_managed *managed);

static inline bool xfa_is_managed_event(unsigned kind)
{
    return kind == XFT_EVENT_MIGRATION || kind == XFT_EVENT_FAULT;
}

#endif
