/*
 * Streams that are being captured into graphs: while there are any, a copy checks whether its
 * stream is one of them, and no copy is timed by CUDA events.
 *
 * A capture ends with cuStreamEndCapture, whatever that returns (an invalid capture ends with an
 * error), but for one that was asked of the wrong thread or stream; and with its stream, or that
 * stream's context.
 */
#ifndef XFS_CAPTURES_H
#define XFS_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/cuda_abi.h"

void xfs_capture_begun(xcu_stream stream, bool per_thread, int status);
void xfs_capture_ended(xcu_stream stream, bool per_thread, int status);
void xfs_capture_stream_gone(xcu_stream stream);

/* Before and after a call that may end a context: this one, or a device's primary one, which stays
 * while it has other users. */
#define XFS_CURRENT_DEVICE (-1)
void xfs_captures_context_ends(xcu_context context);
void xfs_captures_primary_ends(int device);
void xfs_captures_primary_released(int device, int status);
void xfs_captures_context_ended(int status);

/* Number of captures; others may begin and end at any moment. */
int xfs_captures_now(void);

void xfs_captures_after_fork(void);

#endif
