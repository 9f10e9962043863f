/* Between phases.c, which knows names and figures, and phases_open.c, which knows what is open. */
#ifndef XFA_PHASES_PRIVATE_H
#define XFA_PHASES_PRIVATE_H

#include "analyzer/sums/phases.h"

/* What lies beside the open ranges of a process; the structs are in phases_open.c. */
struct xfa_open_phases {
    struct xfa_open_phase *by_slot;
    size_t slot_count, slot_capacity;
    struct xfa_table shared; /* phases that ranges of the process have or had */
    uint32_t *now;           /* indexes of `shared`: those that are open */
    size_t now_count, now_capacity;
};

struct xfa_phases_process {
    struct xfa_process *process;
    bool any;                         /* ranges were met */
    struct xfa_phase_figures outside; /* before the first one */
    struct xfa_table known;           /* phases by the trace's words */
    struct xfa_open_phases open;
};

static inline struct xfa_phase *xfa_phase_at(const struct xfa_phases *phases, size_t number)
{
    return xfa_table_at(&phases->all, number);
}

/* phases.c: the phase of a range that begins; its parent when there is no room for more. */
uint32_t xfa_phase_of(struct xfa_phases *phases, uint32_t parent, const struct xfa_range *range);

/* ---- phases_open.c -------------------------------------------------------------------------- */

void xfa_open_init(struct xfa_open_phases *open);
void xfa_open_free(struct xfa_open_phases *open);

void xfa_open_begin(struct xfa_phases *phases, const struct xfa_range *range);
void xfa_open_end(struct xfa_phases *phases, const struct xfa_range *range, uint64_t end_ns);

/* The phases that a transfer belongs to, each once: the first is that of the innermost range of its
 * thread, NULL = none. Returns how many. */
size_t xfa_open_phases(const struct xfa_phases *phases, const struct xfa_range *innermost,
                       uint32_t numbers[XFA_PHASES_OF_ONE]);

#endif
