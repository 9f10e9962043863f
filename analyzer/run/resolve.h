/*
 * Names for a trace that was left without them (a killed process), where its modules are on this
 * machine: same path, same build id. The trace on disk is not changed.
 */
#ifndef XFA_RESOLVE_H
#define XFA_RESOLVE_H

#include "analyzer/read/read.h"

/* Adds symbols to a trace that has stacks and none; does nothing else. */
void xfa_trace_resolve(struct xfa_trace *trace);

#endif
