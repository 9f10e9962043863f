/* The ways of `xferscope analyze` beside the report (analyze_command.c), and what all share. */
#ifndef XFA_ANALYZE_STEPS_H
#define XFA_ANALYZE_STEPS_H

#include "analyzer/analyze_options.h"
#include "analyzer/base/output.h"
#include "analyzer/pass/machine_profile.h"
#include "analyzer/progress.h"

/* The line on stderr, when that is a terminal. */
extern struct xfa_progress xfa_analyze_progress;

/* A line on stderr, with the command's name. */
void xfa_analyze_complain(const char *line);

/* Without a readable profile achievable figures are unknown; the rest is reported. A replay creates
 * a profile that was named and does not exist. To be freed by the caller. */
void xfa_analyze_profile(struct xfa_machine_profile *machine,
                         const struct xfa_analyze_options *options);

/* Of an analysis with that profile; all is borrowed. */
struct xfa_request xfa_analyze_request(const struct xfa_machine_profile *machine, const char *path,
                                       const struct xfa_observer *observers, size_t count);

/* False after a line on stderr. *view: the options' view with the width and colours of the output.
 * --open without a file: *page is a new one, for free(), which is the options' output from now on;
 * else NULL. */
bool xfa_analyze_output(struct xfa_analyze_options *options, struct xfa_output *output,
                        struct xfa_view *view, char **page);
/* The output was written: with --open it is shown, and the new page's name printed. */
void xfa_analyze_show(const struct xfa_analyze_options *options, const char *page);

/* With the options' limit of memory and their answers; freed by xfa_findings_free(). */
struct xfa_findings *xfa_analyze_findings(struct xfa_analyze_options *options);

/* A line for each answer that no finding asked for: a slip of the hand. */
void xfa_analyze_needless(const struct xfa_answers *answers);

/* ---- the other ways: each returns the exit status -------------------------------------------- */

/* --compare: options->before says how many of the traces are runs before the change. */
int xfa_compare_command(struct xfa_analyze_options *options);
/* --gate and --gate-write, of which one is set (docs/gate.md). */
int xfa_gate_command(const struct xfa_analyze_options *options);

#endif
