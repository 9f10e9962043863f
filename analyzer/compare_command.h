/* `xferscope analyze --compare`: runs before a change with runs after it (docs/analyze.md). */
#ifndef XFA_COMPARE_COMMAND_H
#define XFA_COMPARE_COMMAND_H

#include "analyzer/analyze_options.h"

/* The exit status. options->before says which traces are of the runs before. */
int xfa_compare_command(struct xfa_analyze_options *options);

#endif
