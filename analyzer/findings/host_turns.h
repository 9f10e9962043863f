/* Which copies the host works on, or makes, while the GPU waits: what host_turns.c has seen.
 * Private to findings/. */
#ifndef XFA_HOST_TURNS_H
#define XFA_HOST_TURNS_H

#include "analyzer/findings/finding.h"

/* sums: of xfa_kind_host_turns. The row's copies are as large, and come as often, as is asked
 * about.
 */
bool xfa_is_turn(const void *sums, const struct xfa_row *row, const struct xfa_figures *figures);

/* Between the copies of such a row the process has sent (nearly) nothing to its GPUs: no copy, and
 * no memory of the host that kernels were given. So what follows can need the host's work on what
 * was brought by a kernel's parameters alone, or by what the host decides.
 */
bool xfa_turn_sends_nothing(const void *sums, const struct xfa_row *row);

/* Of the bytes of all such copies, the part that is brought to the host; 1: there are none. */
double xfa_brought_part(const struct xfa_analysis *analysis, const void *sums);

#endif
