/*
 * Managed memory: what the driver moved and what faults it served, set to the call sites whose
 * allocations they belong to (by address and time), to the kernels that ran on the device then, and
 * to the lines of the host's program.
 *
 * Events come in the order of their times, so what is kept is what is there: allocations that live,
 * kernels that run (and for CLOCK_SLACK after), the last call, and host faults that wait for the
 * next one. An address that no recorded allocation holds at that time (a variable declared managed,
 * an allocation from before recording) counts to the site "no call stack".
 */
#ifndef XFA_MANAGED_H
#define XFA_MANAGED_H

#include "analyzer/pass/observer.h"
#include "analyzer/sums/managed_figures.h"

#define XFA_KERNEL_NAME 400 /* bytes of a name that are kept */

/* One call site that allocates. */
struct xfa_managed_site {
    uint32_t site; /* key: number */
    struct xfa_managed_figures figures;
};

/* Device faults of one kernel on the memory of one site. */
struct xfa_managed_kernel_key {
    uint64_t name; /* hash of the name; 0 = no kernel is known to have run */
    uint32_t site;
    uint32_t reserved;
};
struct xfa_managed_kernel {
    struct xfa_managed_kernel_key key;
    char *name; /* as people write it; NULL = not known */
    uint64_t groups, faults;
    double ns;
};

/* Host faults at one line on the memory of one site, between two calls. */
struct xfa_managed_line_key {
    uint32_t site;
    uint32_t line;          /* site of the instruction */
    uint32_t before, after; /* sites of the call begun last, of the one begun next */
    uint32_t before_function, after_function; /* numbers + 1; 0 = there was none */
    int32_t tid;                              /* 0: several threads are possible */
    uint32_t reserved;
};
struct xfa_managed_line {
    struct xfa_managed_line_key key;
    uint64_t faults;
};

struct xfa_managed {
    struct xfa_run *run;
    struct xfa_table sites, kernels, lines;
    uint64_t beyond; /* items beyond the limits above: what they belong to may be wrong */
    bool on, off;    /* processes in which it was, and was not, recorded */
    bool unseen;     /* one of the latter used some */
    bool off_here;   /* it was not recorded in the process at hand */
    bool touched;    /* the process before used or moved some */
    char *why;       /* of the first that has one */
    struct xfa_managed_process *now; /* managed.c: of the process at hand */
};

struct xfa_observer xfa_managed_observer(struct xfa_managed *managed); /* starts zeroed */
void xfa_managed_free(struct xfa_managed *managed);

/* Most bytes, most time, most faults first; the caller frees each array, as long as its table. */
const struct xfa_managed_site **xfa_managed_sites(const struct xfa_managed *managed);
const struct xfa_managed_kernel **xfa_managed_kernels(const struct xfa_managed *managed);
const struct xfa_managed_line **xfa_managed_lines(const struct xfa_managed *managed);

#endif
