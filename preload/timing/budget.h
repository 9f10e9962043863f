/*
 * The budget: when the device's records are to come, so that recording takes no more of the
 * program's time than it may.
 *
 * What the hooks do is always done. A record of CUPTI's costs the call that it belongs to a few
 * hundred ns besides (of 0.3 to 0.5 us on an H200: docs/results). So where calls are dense,
 * records are taken in windows. Everything here is arithmetic over what was seen; it switches
 * nothing (windows.h does), reads no clock, and tests can play any run through it.
 *
 * Money. The program's time brings in `percent` of itself, from the process's start; what was not
 * spent is kept up to CARRY of the program's time, so that a program that idles for an hour does
 * not pay for it all at once. The hooks spend HOOK_NS each. Copies and kernels spend what a record
 * costs for each call made while theirs came. A kind is switched off when its account is empty, and
 * on again when a window of WINDOW_NS at the rate of late can be paid; that wait varies by chance,
 * so that windows do not fall in step with the program. Of what the hooks leave, at least a tenth
 * of the budget, kernels leave a quarter to copies: copies are what this tool is about.
 *
 * What a record costs is measured in the run: calls with records against those without, by the
 * lower quartile of how long they took (of asynchronous copies up to SMALL bytes, and of launches);
 * until there are enough of both it is taken to be GUESS_NS.
 */
#ifndef XFS_BUDGET_H
#define XFS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/trace.h"

#define XFS_BUDGET_WINDOW_NS 10000000u /* the shortest window that is worth opening */
#define XFS_BUDGET_CARRY_NS 2000000000u
#define XFS_BUDGET_HOOK_NS 80
#define XFS_BUDGET_GUESS_NS 450
#define XFS_BUDGET_LEAST_NS 100 /* a record costs no less and no more, whatever was measured */
#define XFS_BUDGET_MOST_NS 4000
#define XFS_BUDGET_SMALL 65536
#define XFS_BUDGET_SAMPLES 256

enum xfs_budget_kind { XFS_BUDGET_COPIES, XFS_BUDGET_KERNELS, XFS_BUDGET_KINDS };

/* How long calls took lately, in a ring. */
struct xfs_budget_sample {
    uint32_t ns[XFS_BUDGET_SAMPLES];
    uint64_t count; /* in all */
};

struct xfs_budget_account {
    struct xfs_budget_sample with, without; /* records */
    uint64_t calls, calls_with;             /* made; made while records came */
    uint64_t records;                       /* that came */
    double spent_ns;                        /* on records */
    double rate;                            /* calls per ns, of late */
    uint64_t calls_before;                  /* at the last decision */
    double patience;                        /* of the next window: 0.5 to 1.5 */
    bool on;
};

struct xfs_budget {
    double percent;   /* 0: no bound */
    double earned_ns; /* for records: what the hooks have left */
    uint64_t decided_ns;
    uint64_t events, events_before; /* of the program's threads; at the last decision */
    uint32_t chance;
    struct xfs_budget_account kinds[XFS_BUDGET_KINDS];
};

/* lived_ns: how long the process has run already. */
void xfs_budget_start(struct xfs_budget *budget, double percent, uint64_t now_ns,
                      uint64_t lived_ns);

/* Takes notice of events, in any order: the program's calls, and the device's records. */
void xfs_budget_see(struct xfs_budget *budget, const struct xft_event *events, size_t count);

/* What is to be recorded from now on: a sum of enum xft_records. To be asked every few
 * milliseconds; the answer is taken to be carried out. */
unsigned xfs_budget_decide(struct xfs_budget *budget, uint64_t now_ns);

/* Records are off, or calls so dense that they may have to be soon: it should be asked often. */
bool xfs_budget_is_dense(const struct xfs_budget *budget);

/* What a record adds to its call, ns. False when it is only guessed. */
bool xfs_budget_record_ns(const struct xfs_budget *budget, enum xfs_budget_kind kind, double *ns);

#endif
