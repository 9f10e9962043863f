/*
 * Figures of managed memory, and how many rows of them are kept: of a process (managed_process.h)
 * and of the run (managed.h).
 */
#ifndef XFA_MANAGED_FIGURES_H
#define XFA_MANAGED_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/trace.h"

#define XFA_MAX_MANAGED_ITEMS (1u << 20) /* allocations, kernels, waiting faults: of each */
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

static inline bool xfa_is_managed_event(unsigned kind)
{
    return kind == XFT_EVENT_MIGRATION || kind == XFT_EVENT_FAULT;
}

#endif
