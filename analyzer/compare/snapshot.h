/*
 * A snapshot: what a comparison keeps of one recorded run when its analysis is freed. Figures, rows
 * of transfers, findings, phases, and what it was recorded with.
 */
#ifndef XFA_SNAPSHOT_H
#define XFA_SNAPSHOT_H

#include "analyzer/compare/statistics.h"
#include "analyzer/compare/times.h"
#include "analyzer/findings/finding.h"

/*
 * Two runs of one program on one machine: by how much one may take longer than the other where
 * noise is not known from repetitions. Times of the GPU alone repeat; times that depend on the host
 * (pageable and managed memory, page-locking, its own work) do not (docs/analyze.md has the
 * measurements).
 */
#define XFA_ONE_RUN_DEVICE 0.10
#define XFA_ONE_RUN_HOST 0.50

enum xfa_measure {
    XFA_MEASURE_SPAN, /* the run, from its first work for a GPU to its last; without what recording
                         cost, if that is known of all runs */
    XFA_MEASURE_WALL, /* the processes, from the first one's start to the last one's end */
    XFA_MEASURE_TRANSFERS, /* known times of transfers, added up */
    XFA_MEASURE_KERNELS,   /* times of kernels, added up */
    XFA_MEASURE_WAITS,     /* time of the host in calls that wait */
    XFA_MEASURES
};

/* A call site in the program. */
struct xfa_call_place {
    char *text;     /* as reports show it */
    char *function; /* NULL: not known */
    char *file;
    uint64_t line; /* of the source file; of a module the offset; 0: not known */
};

struct xfa_snapshot_row {
    struct xfa_call_place place;
    char *called;           /* the CUDA function, as the source has it */
    struct xfa_row_key key; /* its numbers of site and functions are not used */
    uint64_t transfers, bytes, timed;
    struct xfa_sample time; /* of all, ns */
    double gbps, lost_ns;   /* NAN */
};

struct xfa_snapshot_finding {
    enum xfa_finding_id id;
    char *remedy; /* its word */
    struct xfa_call_place *sites;
    int64_t *rows; /* by site: place in rows; -1: calls that are no transfers */
    size_t site_count;
    struct xfw_saving saving; /* NAN: not known */
    double added_ns;          /* in the best set, beyond the members before it; NAN: not in it */
    unsigned order;           /* in the best set, from 1 on; 0: not in it */
    bool idle;                /* it was not advice */
};

struct xfa_snapshot_phase {
    char *name;
    struct xfw_times times;
};

struct xfa_snapshot {
    char *path, *program, *hosts, *machine, *gpus, *timing, *arguments; /* NULL: not recorded */
    int driver;                                                         /* 0: not recorded */
    size_t processes;
    bool simulated, lossy;
    char *mixed;    /* one line: its files are of several runs; NULL: of one */
    char *mismatch; /* one line: the profile is of another machine; NULL: it is not */
    uint64_t transfers, bytes;
    struct xfa_sample measures[XFA_MEASURES]; /* ns */
    bool recording_known;                     /* recording_ns is known */
    double recording_ns;                      /* what recording cost, which is part of SPAN here */
    struct xfa_snapshot_row *rows;
    size_t row_count;
    struct xfa_snapshot_finding *findings;
    size_t finding_count;
    struct xfa_applied *applied; /* of all its processes */
    size_t applied_count;
    struct xfa_snapshot_phase *phases;
    size_t phase_count;
    bool savings_known;
    char *why_not;         /* one line, where they are not; NULL */
    struct xfw_saving set; /* of the best set; NAN: there is none */
    struct xfw_times span; /* by the model */
    double alone_ns;       /* the run without what recording cost, by the model */
};

/* Of a finished analysis with weighed findings. */
struct xfa_snapshot *xfa_snapshot_of(const struct xfa_analysis *analysis,
                                     const struct xfa_findings *findings,
                                     const struct xfa_times *times);
void xfa_snapshot_free(struct xfa_snapshot *taken);

/* One row, with these figures; its time is not known. To be freed alone. */
struct xfa_snapshot_row xfa_snapshot_row_of(const struct xfa_row *row,
                                            const struct xfa_figures *figures);
void xfa_snapshot_row_free(struct xfa_snapshot_row *row);

/* A figure with bounds that are wider by `off`, relative: those of two equal figures meet when the
 * figures differ by no more. */
struct xfa_sample xfa_sample_between(double value, double low, double high, double off);
static inline struct xfa_sample xfa_sample_of(double value, double off)
{
    return xfa_sample_between(value, value, value, off);
}

#endif
