/*
 * The shares of time (shares.h) while ranges (NVTX) of a name were open, in any thread of a
 * process, also within others: the first XFA_PHASES names of each process. Sums are over all
 * processes, by the name's text, and over the GPUs that they used.
 *
 * Use: xfa_phase_number() for a range that begins or ends, and a span of that number in the order
 * of the others (xfa_version_mark()). Private to timeline/, but for xfa_phase_shares_named().
 */
#ifndef XFA_TIMELINE_PHASE_SHARES_H
#define XFA_TIMELINE_PHASE_SHARES_H

#include "analyzer/run/run.h"
#include "analyzer/timeline/shares.h"

#define XFA_PHASES 32
#define XFA_NO_PHASE UINT32_MAX

struct xfa_phase_shares;

struct xfa_phase_shares *xfa_phase_shares_new(void);
void xfa_phase_shares_free(struct xfa_phase_shares *phases);

/* The number of the name in the process at hand: it gets one; XFA_NO_PHASE: there are too many. */
uint32_t xfa_phase_number(struct xfa_phase_shares *phases, uint64_t name);

/* A process ends, with what its GPUs did until then: another one may come. */
void xfa_phase_shares_end(struct xfa_phase_shares *phases, const struct xfa_shares *shares,
                          const struct xfa_process *process);

/* To another member of a team, and from one, added. */
void xfa_phase_shares_give(const struct xfa_phase_shares *phases, struct xfa_parcel *parcel);
void xfa_phase_shares_take(struct xfa_phase_shares *phases, struct xfa_unpacking *from);

/* ns; NULL: no process with a GPU had such a range. */
const double *xfa_phase_shares_named(const struct xfa_phase_shares *phases, const char *name);

/* ---- for shares.c: all GPUs in use have been followed up to now ------------------------------ */

/* One range more of the phase is open, or one less. True: the first one is, or none is any more. */
bool xfa_phase_opens(struct xfa_phase_shares *phases, uint32_t phase);
bool xfa_phase_closes(struct xfa_phase_shares *phases, uint32_t phase);

/* Takes the shares that a place (shares.h) has so far off what the phase has, or adds them. */
void xfa_phase_take(struct xfa_phase_shares *phases, uint32_t phase, size_t place,
                    const uint64_t shares[XFA_SHARES], bool adds);

/* A place that had nothing to do until now has what `from` has. */
void xfa_phase_copy(struct xfa_phase_shares *phases, size_t from, size_t to);

#endif
