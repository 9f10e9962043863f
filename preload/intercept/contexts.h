/*
 * Contexts that calls of the driver make once the process's work has begun (XFT_EVENT_CONTEXT):
 * those made before are a part of its start, which nobody measures. The runtime makes a GPU's
 * primary context in whatever call first needs it, by cuDevicePrimaryCtxRetain().
 *
 * Around the real call, at whatever level the program made it. Both functions keep errno, and call
 * nothing but cuDevicePrimaryCtxGetState(), which makes no context.
 */
#ifndef XFS_CONTEXTS_H
#define XFS_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"

struct xfs_context_call {
    xcu_device device;
    bool makes;  /* the context was not there, and nobody else is seen to make it */
    bool claims; /* it is the primary one: others that retain it meanwhile make none */
    uint64_t start_ns;
};

/* The session begins: finds the driver's function. */
void xfs_context_calls_start(void);

void xfs_context_call_begins(struct xfs_context_call *context, xcu_device device, bool primary);
/* `call`: its number among the rows. A call that failed is no event. */
void xfs_context_call_ends(const struct xfs_context_call *context, uint16_t call, int status);

/* In a forked child: nobody else makes any. */
void xfs_context_calls_after_fork(void);

#endif
