/* `xferscope analyze --gate FILE` and `--gate-write FILE`: what a program may move (docs/gate.md).
 */
#ifndef XFA_GATE_COMMAND_H
#define XFA_GATE_COMMAND_H

#include "analyzer/analyze_options.h"

/* The exit status. One of gate and gate_write is set. */
int xfa_gate_command(const struct xfa_analyze_options *options);

#endif
