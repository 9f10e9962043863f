/*
 * Phases: transfers by the NVTX ranges of the program.
 *
 * A transfer belongs to the innermost range that its thread has open, and to each range of the
 * process (start and end, by any thread) open when it was called. A range is known by its path: the
 * names, with their domains, of the thread's open ranges from the outermost to itself. Ranges of
 * the process have no outer ones. Phase 0 is "outside of all ranges" of the thread; processes
 * without any range are in no phase.
 *
 * Which ranges are open, and what ends them, is found by the walk (pass/ranges.h).
 *
 * Memory is bounded whatever a trace says: beyond the limits below a range is counted to the one
 * around it (deep nesting, many paths), or not at all (ranges of the process), and the number of
 * those is kept.
 */
#ifndef XFA_PHASES_H
#define XFA_PHASES_H

#include "analyzer/pass/observer.h"
#include "analyzer/sums/figures.h"

#define XFA_PHASE_NAME 200 /* bytes of a name that are kept */
#define XFA_MAX_PHASES 16384
#define XFA_MAX_NESTING 64
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

struct xfa_phase {
    uint64_t identity; /* key: the names on its path */
    uint32_t parent;   /* number; the outermost's is 0 */
    bool process;      /* a range of the process, not of a thread */
    char *domain;      /* NULL = the default domain, as is the next for a range without a name */
    char *name;        /* both NULL in phase 0 */
    struct xfa_phase_figures figures;
};

struct xfa_phases {
    struct xfa_table all; /* struct xfa_phase; empty when no process had ranges */
    uint64_t beyond;      /* ranges over a limit of these; those that are not followed come to it */
    bool touched;         /* by the process before */
    struct xfa_phases_process *now; /* phases.c: of the process at hand */
};

struct xfa_observer xfa_phases_observer(struct xfa_phases *phases); /* starts zeroed */
void xfa_phases_free(struct xfa_phases *phases);

/* While the run is read, behind the observer: the phases that a transfer belongs to, each once; the
 * first is its thread's. Returns how many: 0 where the process had no range yet. */
#define XFA_PHASES_OF_ONE (1 + XFA_MAX_OPEN)
size_t xfa_phases_of(const struct xfa_phases *phases, const struct xfa_event *event,
                     uint32_t numbers[XFA_PHASES_OF_ONE]);

size_t xfa_phases_known(const struct xfa_phases *phases); /* ranges' words, by now; for tests */

/* In order: most lost first, then most time in transfers, most bytes. The caller frees the array of
 * all.count pointers. */
const struct xfa_phase **xfa_phases_order(const struct xfa_phases *phases);

/* Its path, the outermost first; returns how many. */
size_t xfa_phase_path(const struct xfa_phases *phases, const struct xfa_phase *phase,
                      const struct xfa_phase *path[XFA_MAX_NESTING]);

#endif
