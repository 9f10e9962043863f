/*
 * The report: everything that is printed, in memory. Built from the files of a run
 * (xfa_report_add), finished once (sorting, findings), then handed to one of the formats.
 *
 * Ownership: the report owns all it points to but the profile. Text in it is clean (alloc.h).
 */
#ifndef XFA_REPORT_H
#define XFA_REPORT_H

#include <stdio.h>

#include "analyzer/model/aggregate.h"
#include "analyzer/model/figures.h"
#include "analyzer/report/report_managed.h"
#include "analyzer/report/report_phases.h"
#include "analyzer/model/site.h"

#define XFA_REPORT_SCHEMA "xferscope-report"
#define XFA_REPORT_VERSION 1

enum xfa_sort { XFA_SORT_LOST, XFA_SORT_BYTES, XFA_SORT_COUNT };

/* Transfers of one call site and class, over all processes. */
struct xfa_row_key {
    uint64_t site; /* identity */
    uint64_t call; /* hash of the names */
    uint8_t direction, src_mem, dst_mem, async;
    int16_t src_device, dst_device;
};

struct xfa_row {
    struct xfa_row_key key;
    const struct xfa_site *site;
    char *call;
    const char *level;            /* runtime | driver | unknown */
    const char *runtime_function; /* that called the driver's; NULL: none that is known */
    struct xfa_figures figures;
    const struct xfa_site *earlier[XFA_SAMES]; /* where such bytes had moved before; NULL = none */
};

/* One process of the run. */
struct xfa_process {
    char *file; /* base name */
    int pid, ppid;
    char *exe, *exit;
    bool closed;  /* recording ended properly */
    char *timing; /* META timing, timing.why; NULL = not recorded */
    char *timing_why;
    uint64_t start_real_ns, end_real_ns; /* end: of recording, or the last event */
    uint64_t transfers;
    struct xfa_loss loss;
    uint64_t events_lost, stacks_lost, device_lost; /* by the recorder */
    char *losses;                                   /* one line, NULL = none */
};

struct xfa_gpu {
    char *name, *uuid;
};

/* What was hashed; all 0 when nothing was to be. */
struct xfa_run_content {
    bool whole, sampled;        /* asked for in some process */
    uint64_t hashes, by_sample; /* transfers with a hash; of these, of samples only */
    double ns;                  /* what it took, threads added up */
    uint64_t not_compared;      /* over the analyzer's limit */
    uint64_t skipped;           /* transfers left without a hash, as far as that is known: */
    bool skipped_unknown;       /* a killed process has not told how many */
    char *why;                  /* one line, when it was asked for and could not be had */
};

struct xfa_run {
    char *path;
    char *program; /* of the process that started first, as are the next ones */
    char **arguments;
    size_t argument_count;
    char *hostname;
    int driver_version; /* 0 = not known */
    bool simulated;     /* in any process */
    struct xfa_gpu *gpus;
    size_t gpu_count;
    struct xfa_process *processes;
    size_t process_count, process_capacity;
    uint64_t kinds[XFA_EVENT_KINDS];
    int oldest_minor; /* of the formats of its files, which are 1.N; -1: no file was read */
    struct xfa_run_content content;
    uint64_t failed, captured, empty, device_only, device_only_bytes;
    char **unreadable; /* files that could not be opened, one line each */
    size_t unreadable_count, unreadable_capacity;
};

/* One finding: sites with the same problem and the same remedy. */
struct xfa_finding_site {
    const struct xfa_row *row;
    uint64_t transfers, bytes;
    double lost_ns;                 /* NAN = not known */
    const struct xfa_site *earlier; /* where the bytes had moved before; NULL: of no interest */
};

struct xfa_finding {
    const char *kind;
    const char *title;
    struct xfa_finding_site *sites; /* worst first */
    size_t site_count, site_capacity;
    uint64_t transfers, bytes;
    double took_ns, best_ns; /* of these transfers: as they were, as they could be; NAN */
    double lost_ns;          /* NAN = not known */
    double error;            /* relative, of best_ns; NAN */
    char *fix;
    const char *achieved_basis;   /* device | host | mixed | modelled, NULL */
    const char *achievable_basis; /* measured | interpolated | modelled, NULL */
    const char *note;             /* how lost was reckoned */
};

struct xfa_report {
    struct xfa_run run;
    const struct xfp_profile *profile; /* not owned; NULL = none */
    char *profile_path;
    char *profile_problem; /* one line: it was asked for and could not be read */
    enum xfa_match match;
    char *mismatch;         /* one line */
    struct xfa_shelf shelf; /* texts of the sites */
    struct xfa_table sites; /* by identity */
    struct xfa_table rows;  /* struct xfa_row */
    struct xfa_row **order; /* rows, sorted */
    struct xfa_report_phases phases;
    struct xfa_report_managed managed;
    struct xfa_finding *findings;
    size_t finding_count, finding_capacity;
};

struct xfa_report *xfa_report_new(const char *path, const struct xfp_profile *profile);
void xfa_report_add(struct xfa_report *report, struct xfa_trace *trace);
void xfa_report_unreadable(struct xfa_report *report, const char *line);
void xfa_report_finish(struct xfa_report *report, enum xfa_sort sort);
void xfa_report_free(struct xfa_report *report);

/* What the oldest format of the run's files could not record; NULL at the end. */
#define XFA_LACKS 2
const char *const *xfa_run_lacks(const struct xfa_run *run);

/* The report's site for a stack of a trace: one object for all stacks and processes with the same
 * site. known: those met in this trace, which the caller keeps. */
const struct xfa_site *xfa_report_site(struct xfa_report *report, struct xfa_table *known,
                                       const struct xfa_trace *trace, uint32_t stack);

/* The CUDA function as the source has it, where that is known. */
const char *xfa_row_function(const struct xfa_row *row);

/* Transfers and bytes that were seen at one level, "runtime" or "driver". */
struct xfa_sum xfa_report_level(const struct xfa_report *report, const char *level);

/* Wall time of the run, ns: from the first process's start to the last one's end; 0 = unknown. */
double xfa_report_wall_ns(const struct xfa_report *report);
bool xfa_report_simulated(const struct xfa_report *report); /* the run or the profile */
bool xfa_report_lossy(const struct xfa_report *report);

/* Finds the findings of a finished report; finding.c. */
void xfa_findings(struct xfa_report *report);
void xfa_finding_free(struct xfa_finding *finding);

/* Output formats. */
struct xfa_view {
    size_t top; /* rows shown, 0 = all */
    int width;  /* columns of the terminal */
};
struct xfa_format {
    const char *name;
    void (*write)(const struct xfa_report *report, const struct xfa_view *view, FILE *out);
};
extern const struct xfa_format xfa_format_text, xfa_format_json;
const struct xfa_format *xfa_format_find(const char *name);

#endif
