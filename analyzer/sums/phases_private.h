/* Between phases.c, which knows names and figures, and phases_open.c, which knows what is open. */
#ifndef XFA_PHASES_PRIVATE_H
#define XFA_PHASES_PRIVATE_H

#include "analyzer/sums/phases.h"

/* Ranges of a process that are open at one time; the structs are in phases_open.c. */
struct xfa_open_ranges {
    struct xfa_table lanes;  /* those with ranges */
    struct xfa_table ranges; /* of the process, by id */
    struct xfa_table shared; /* phases that these have or had */
    size_t range_count;      /* open ones of the process */
    uint64_t dropped;        /* of these: over the limit */
    uint32_t *now;           /* indexes of `shared`: those that are open */
    size_t now_count, now_capacity;
};

struct xfa_phases_process {
    struct xfa_process *process;
    bool any;                         /* ranges were met */
    struct xfa_phase_figures outside; /* before the first one */
    uint64_t last_ns;
    struct xfa_table known; /* phases by the trace's words */
    struct xfa_open_ranges open;
};

static inline struct xfa_phase *xfa_phase_at(const struct xfa_phases *phases, size_t number)
{
    return xfa_table_at(&phases->all, number);
}

/* phases.c: the phase of a range that begins; its parent when there is no room for more. */
uint32_t xfa_phase_of(struct xfa_phases *phases, uint32_t parent, bool process,
                      const struct xft_event *event);

/* ---- phases_open.c -------------------------------------------------------------------------- */

void xfa_open_init(struct xfa_open_ranges *open);
void xfa_open_free(struct xfa_open_ranges *open);

/* A range begins or ends. */
void xfa_open_range(struct xfa_phases *phases, const struct xfa_step *step);

/* The phases that a transfer belongs to, each once: the first is its thread's. Returns how many. */
size_t xfa_open_phases(struct xfa_phases *phases, const struct xfa_transfer *transfer,
                       uint32_t numbers[XFA_PHASES_OF_ONE]);

/* What never ended lasts until then. */
void xfa_open_end(struct xfa_phases *phases, uint64_t end_ns);

#endif
