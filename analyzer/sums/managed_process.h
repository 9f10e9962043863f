/*
 * Managed memory of one process, in the process's own words: its events one by one, in the order of
 * their times. A migration or fault is joined, when a later event comes, with the allocation
 * that existed in its ns; a fault of the device with a kernel, CLOCK_SLACK later; a fault of the
 * host with the call that comes next.
 *
 * Between the files of sums/.
 */
#ifndef XFA_MANAGED_PROCESS_H
#define XFA_MANAGED_PROCESS_H

#include "analyzer/base/table.h"
#include "analyzer/pass/event.h"
#include "analyzer/sums/managed_figures.h"

struct xfa_stack_figures {
    uint32_t stack; /* key */
    struct xfa_managed_figures figures;
};

struct xfa_stack_kernel_key {
    uint32_t stack;
    uint32_t name; /* in NAMES; 0 = not known */
};
struct xfa_stack_kernel {
    struct xfa_stack_kernel_key key;
    uint64_t groups, faults;
    double ns;
};

struct xfa_stack_call {
    uint32_t stack;
    uint32_t call; /* id + 1; 0 = there was none */
};

struct xfa_stack_line_key {
    uint32_t stack, line; /* the instruction's stack */
    struct xfa_stack_call before, after;
};
struct xfa_stack_line {
    struct xfa_stack_line_key key;
    uint64_t faults;
};

struct xfa_managed_process {
    /* What it comes to, whole after xfa_managed_process_end(): XFA_MAX_MANAGED_ROWS of each, and
     * those that stand for the rest. */
    struct xfa_table sites, kernels, lines;
    uint64_t beyond;
    bool moves;       /* there are migrations or faults */
    bool used;        /* some was allocated, prefetched or advised on */
    int32_t only_tid; /* the thread that made all calls; 0 = there were none, -1 = several */
    struct xfa_managed_walk *walk; /* managed_process.c */
};

struct xfa_managed_process *xfa_managed_process_new(void);
void xfa_managed_process_event(struct xfa_managed_process *process, const struct xfa_event *event);
void xfa_managed_process_end(struct xfa_managed_process *process);
void xfa_managed_process_free(struct xfa_managed_process *process);

/* Allocations, kernels and faults that are kept now; for tests. */
size_t xfa_managed_process_items(const struct xfa_managed_process *process);

/* The row with this key or, when there are too many, the one that `all` names. */
void *xfa_managed_row(struct xfa_table *table, const void *key, const void *all, uint64_t *beyond);

#endif
