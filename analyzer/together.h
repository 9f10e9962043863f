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

/* Has every member opened the same files, and the same machine profile? Of a survey
 * (analysis/survey.h). An exchange. */
bool xfa_together_same_files(const struct xfa_analysis *analysis,
                             const struct xfa_machine_profile *machine);

/* Has every member read the same: files, events, classes, machine profile? The analysis is
 * finished. An exchange. */
bool xfa_together_agree(const struct xfa_analysis *analysis,
                        const struct xfa_machine_profile *machine);

/* Decides what is shared out, once the run was read, the same for all. Where processes send each
 * other messages that were matched, and are so few that they can be replayed together
 * (whatif/together/together.h), each member plays all of them, but only some ways of the run; else
 * processes are shared out, and each is replayed by itself. True: the ops that were found in the
 * first walk are of no use, since they have calls that are part of such messages. An exchange. */
bool xfa_together_share(struct xfa_analysis *analysis, const struct xfw_gather *gather);

#endif
