/*
 * The report's managed memory: that of all processes, merged by allocation site, with the kernels
 * and the lines of the host that faulted.
 */
#ifndef XFA_REPORT_MANAGED_H
#define XFA_REPORT_MANAGED_H

#include "analyzer/model/managed.h"

struct xfa_site;
struct xfa_trace;

/* Device faults of a kernel on one site's memory. */
struct xfa_managed_fault_kernel {
    struct {
        uint64_t site, name; /* identities; name 0: no kernel is known to have run */
    } key;
    char *name; /* as people write it; NULL = not known */
    uint64_t groups, faults;
    double ns;
};

/* A call of the host before or after a fault; both NULL when there was none. */
struct xfa_managed_call {
    const struct xfa_site *site;
    char *function;
};

/* Host faults at one line on one site's memory. */
struct xfa_managed_fault_line {
    struct {
        uint64_t site, line, before, after, before_call, after_call, tid;
    } key;
    const struct xfa_site *line; /* its chosen frame -1: not known */
    struct xfa_managed_call before, after;
    uint64_t faults;
};

struct xfa_managed_row {
    uint64_t identity; /* key: the site's */
    const struct xfa_site *site;
    struct xfa_managed_figures figures;
};

struct xfa_report_managed {
    struct xfa_table rows, kernels, lines;
    struct xfa_managed_row **order;
    struct xfa_managed_fault_kernel **kernel_order; /* worst first, of all sites */
    struct xfa_managed_fault_line **line_order;
    uint64_t beyond;
    bool on, off; /* processes in which it was, and was not, recorded */
    bool unseen;  /* one of the latter used some */
    char *why;    /* of the first that has one */
};

struct xfa_report;
struct xfa_table;
struct xfa_totals;
void xfa_report_managed_init(struct xfa_report_managed *managed);
void xfa_report_managed_free(struct xfa_report_managed *managed);
/* known: the sites of this trace's stacks (xfa_report_site()). totals: of this trace. */
void xfa_report_managed_add(struct xfa_report *report, struct xfa_table *known,
                            struct xfa_trace *trace, const struct xfa_totals *totals);
void xfa_report_managed_finish(struct xfa_report_managed *managed);

#endif
