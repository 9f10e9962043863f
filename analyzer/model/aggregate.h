/*
 * One pass over the events of a process: transfers summed up by call stack and class, without
 * keeping the events.
 */
#ifndef XFA_AGGREGATE_H
#define XFA_AGGREGATE_H

#include "analyzer/model/content.h"
#include "analyzer/model/figures.h"
#include "analyzer/model/join.h"
#include "analyzer/model/phases.h"
#include "analyzer/read/read.h"
#include "analyzer/model/yardstick.h"

#define XFA_MAX_CLASSES 32768 /* further ones are summed up without stack and function */
#define XFA_EVENT_KINDS 32

/* Key of a class; numbers of the trace, those this version does not know are 0. */
struct xfa_class_key {
    uint32_t stack;
    uint16_t call;
    uint8_t direction, src_mem, dst_mem;
    uint8_t async;
    int16_t src_device, dst_device; /* -1: not known, or not device memory */
    uint16_t reserved;
};

struct xfa_class {
    struct xfa_class_key key;
    struct xfa_figures figures;
    struct xfa_reach reach;
    uint32_t earlier[XFA_SAMES]; /* index + 1 of the class that moved such bytes before */
};

struct xfa_totals {
    struct xfa_table classes;
    uint64_t kinds[XFA_EVENT_KINDS];         /* events by enum xft_event_kind; 0: kinds not known */
    uint64_t failed, captured, empty;        /* transfers that are in no class; empty: of 0 bytes */
    uint64_t device_only, device_only_bytes; /* device copies without a recorded call */
    struct xfa_phases phases;
    struct xfa_contents contents;
    bool managed_moves;         /* there are migrations or faults */
    bool managed_used;          /* some was allocated, prefetched or advised on */
    uint64_t first_ns, last_ns; /* host clock of calls, 0 = no events */
};

void xfa_aggregate(struct xfa_totals *totals, struct xfa_trace *trace,
                   const struct xfa_yardstick *yardstick);
void xfa_totals_free(struct xfa_totals *totals);

#endif
