/*
 * `xferscope analyze` by a team (base/team.h): what its members have to have in common, and what
 * only one of them does.
 */
#ifndef XFA_TOGETHER_H
#define XFA_TOGETHER_H

#include "analyzer/analyze_options.h"
#include "analyzer/pass/machine_profile.h"

/* Whether the work is divided at all. With --replay, --per-transfer, --compare and --gate rank 0
 * alone does it. */
bool xfa_is_shared(const struct xfa_analyze_options *options);

/* Has every member read the same: files, events, classes, machine profile? The analysis is
 * finished. An exchange. */
bool xfa_together_agree(const struct xfa_analysis *analysis,
                        const struct xfa_machine_profile *machine);

/* Processes can be shared out. Those that send each other messages are replayed together
 * (whatif/together.h) by one member, if they are so few that they can be; with messages that were
 * not matched each is replayed by itself. Known once the run was read, and the same to all. */
bool xfa_together_can_share(const struct xfa_analysis *analysis);

#endif
