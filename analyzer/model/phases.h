/*
 * Phases: transfers by the NVTX ranges of the program.
 *
 * A transfer belongs to the innermost range that its thread has open, and to each range of the
 * process (start and end, by any thread) open when it was called. A range is known by its path: the
 * names, with their domains, of the thread's open ranges from the outermost to itself. Ranges of
 * the process have no outer ones. Path 0 is "outside of all ranges" of the thread.
 *
 * As in NVTX, an end closes the innermost open range of its domain. An end without a begin is
 * counted and changes nothing; a range without an end lasts until the last event.
 *
 * Memory is bounded whatever a trace says: beyond the limits below a range is counted to the one
 * around it (deep nesting, many paths), or not at all (ranges of the process), and the number of
 * those is told.
 *
 * Use: xfa_phases_gather() with all events, xfa_phases_ready(), then per batch xfa_phases_lane(),
 * and with its events in their order xfa_phases_range() and xfa_phases_transfer(); at the end
 * xfa_phases_finish().
 */
#ifndef XFA_PHASES_H
#define XFA_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/model/figures.h"
#include "analyzer/read/read.h"
#include "analyzer/base/table.h"
#include "analyzer/model/transfer.h"

#define XFA_MAX_PATHS 4096
#define XFA_MAX_NESTING 64
#define XFA_MAX_PROCESS_RANGES 65536
#define XFA_MAX_OPEN 64 /* ranges of the process that one transfer is counted to */

struct xfa_phase_figures {
    uint64_t times; /* how often the range began */
    double ns;      /* in all, those not ended up to the last event */
    struct xfa_sum by_direction[XFT_DIRECTION_COUNT]; /* ns: where the time is known */
    uint64_t transfers, timed;                        /* timed: whose time is known */
    double transfer_ns;                               /* of these */
    uint64_t priced;                                  /* whose loss is known */
    double lost_ns;                                   /* of these */
};

struct xfa_phase_path {
    struct xfa_phase_key {
        uint32_t parent;       /* index of a path */
        uint32_t process;      /* 1: a range of the process */
        uint64_t domain, name; /* ids of the trace's texts */
    } key;
    struct xfa_phase_figures figures;
};

struct xfa_phases {
    struct xfa_table paths; /* struct xfa_phase_path */
    struct xfa_table lanes;
    uint32_t lane; /* index of the batch's */
    struct xfa_table of_process;
    uint64_t *latest; /* interval tree over of_process: see phases_process.c */
    size_t shared;    /* of of_process, sorted: those of known length */
    bool any;         /* there are ranges: without, nothing needs to be counted */
    uint64_t last_ns;
    uint64_t stray_ends; /* without a begin */
    uint64_t beyond;     /* ranges over a limit */
};

void xfa_phases_init(struct xfa_phases *phases);
void xfa_phases_free(struct xfa_phases *phases);

void xfa_phases_gather(struct xfa_phases *phases, const struct xft_event *event);
void xfa_phases_ready(struct xfa_phases *phases);

void xfa_phases_lane(struct xfa_phases *phases, const struct xfa_batch *batch);
void xfa_phases_range(struct xfa_phases *phases, const struct xft_event *event);
void xfa_phases_transfer(struct xfa_phases *phases, const struct xfa_transfer *transfer);
void xfa_phases_finish(struct xfa_phases *phases);

void xfa_phase_figures_merge(struct xfa_phase_figures *into, const struct xfa_phase_figures *from);

/* ---- between phases.c and phases_process.c -----------------------------------------------------
 */

/* Index of a path, made when it is new; the parent's when there is no room. */
uint32_t xfa_phases_path(struct xfa_phases *phases, struct xfa_phase_key key);
void xfa_phases_count(struct xfa_phase_figures *figures, const struct xfa_transfer *transfer);
void xfa_phases_finish_process(struct xfa_phases *phases);
/* Counts the transfer to the ranges of the process open at its start. */
void xfa_phases_count_process(struct xfa_phases *phases, const struct xfa_transfer *transfer);

#endif
