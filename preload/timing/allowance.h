/*
 * What recording costs the program while it runs, compared with what it may cost
 * (XFERSCOPE_BUDGET, percent of the program's time), and which part is to give way.
 *
 * Cost. The hooks: calls of each kind times the median that some of them were timed at
 * (record/cost.h). CUPTI: it works within the driver's calls, where it cannot be timed, so each
 * record counts with what such a record was measured to add (docs/timing.md; other figures by
 * XFERSCOPE_BUDGET_COSTS). On the simulated GPU records cost nothing unless that setting says so.
 *
 * Allowance. It grows with time, PERCENT of it, up to that of one second, with which it begins;
 * what recording costs is taken off. So in any stretch of time recording may cost PERCENT of that
 * stretch and of one second more. When nothing is left, the part of CUPTI's records that has cost
 * most since the allowance was last whole gives way. Each part does so once, and for good.
 *
 * Once records have been on, calls are slower for good, whatever is switched off
 * (docs/results/budget-2026-11-23.md). So before they are switched on at all, the calls that the
 * hooks see for a moment say whether they would fit.
 *
 * One thread at a time: that which collects the records. Times are ns of the trace's clock.
 */
#ifndef XFS_ALLOWANCE_H
#define XFS_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/trace.h"

/* What can be switched off by itself. */
enum xfs_part { XFS_PART_COPIES, XFS_PART_KERNELS, XFS_PART_MANAGED, XFS_PARTS };

/* Records of which each adds the same, as far as is known. */
enum xfs_record_cost {
    XFS_COST_TO_DEVICE,
    XFS_COST_TO_HOST,
    XFS_COST_OTHER_COPY,
    XFS_COST_MEMSET,
    XFS_COST_KERNEL,
    XFS_COST_MOVE,   /* a migration or a fault of managed memory */
    XFS_COST_LAUNCH, /* no record: a launch, while records of any kind are on */
    XFS_RECORD_COSTS
};

struct xfs_allowance {
    bool bounded;
    uint64_t of_second_ns; /* the share of one second */
    uint32_t record_ns[XFS_RECORD_COSTS];
    uint64_t then_ns, hooks_then_ns; /* when it was last looked at; the hooks' cost by then */
    uint64_t launches_then;
    int64_t left_ns;
    uint64_t new_ns[XFS_PARTS];   /* cost of records since then */
    uint64_t spent_ns[XFS_PARTS]; /* since the allowance was last whole */
    uint64_t records[XFS_PARTS];  /* in all */
    bool off[XFS_PARTS];
};

/* Numbers (ns) in the order of enum xfs_record_cost, with commas between: seven, or six, of which a
 * launch is missing and costs nothing. An empty text: those that were measured, on the simulated
 * GPU 0. False: the text is something else, and these count. */
bool xfs_allowance_costs(uint32_t costs[XFS_RECORD_COSTS], const char *text, bool simulated);

/* Records cost something, so there is a cost to compare with the bound. */
bool xfs_allowance_matters(const struct xfs_allowance *allowance, unsigned percent);

/* Before records are on: would the records of these parts have fitted into the share of passed_ns,
 * in which the hooks cost hooks_ns and each part had `calls` calls? The direction of copies is not
 * known: each counts with the mean of both directions. */
bool xfs_allowance_fits(const struct xfs_allowance *allowance, unsigned percent, uint64_t passed_ns,
                        uint64_t hooks_ns, const uint64_t calls[XFS_PARTS], unsigned parts);

/* Records are on. percent 0: no bound. hooks_ns, launches: so far. */
void xfs_allowance_start(struct xfs_allowance *allowance, unsigned percent, uint64_t now_ns,
                         uint64_t hooks_ns, uint64_t launches);

/* A record of CUPTI's has come. */
void xfs_allowance_record(struct xfs_allowance *allowance, const struct xft_event *record);

/* Takes off what recording has cost meanwhile (hooks_ns: the hooks, in all; launches: in all).
 * Launches count with the kernels' records while these come, else with the copies'. The part that
 * is to give way; XFS_PARTS: none. */
enum xfs_part xfs_allowance_look(struct xfs_allowance *allowance, uint64_t now_ns,
                                 uint64_t hooks_ns, uint64_t launches);

/* That part was switched off: records of it that still come cost nothing more. */
void xfs_allowance_gave_way(struct xfs_allowance *allowance, enum xfs_part part);

/* ---- which calls are timed ------------------------------------------------------------------- */

/*
 * Which calls are timed where not all of them are: of each class (a function, called from one
 * place) the first XFS_SAMPLE_FIRST, and the more of it have been seen the fewer: about one in a
 * ninth of those so far. So a class of a million calls has some hundred times, and its mean is
 * known to a tenth of how much its times differ. The gaps vary, so that a program that repeats a
 * sequence of calls is not met always at the same one.
 *
 * Counts are approximate where threads call the same function from the same place at once, and two
 * classes may share one count. Nothing here depends on the clock.
 */

#define XFS_SAMPLE_FIRST 8

/* A call of a class begins: function, and the address to which it returns. True: time it. */
bool xfs_sample_takes(uint16_t call, uintptr_t returns_to);

#endif
