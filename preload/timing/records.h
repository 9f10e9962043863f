/*
 * CUPTI's records: the buffers they come in, and the events they become.
 *
 * CUPTI asks for a buffer and hands it back filled, from threads of its own choice and under its
 * lock; so handing back only puts the buffer in a queue. One thread (timing.c) empties it, and
 * keeps a stock of buffers ahead of what is asked for. They live as long as the process and are
 * used again.
 */
#ifndef XFS_RECORDS_H
#define XFS_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "xferscope/cupti_abi.h"

#define XFS_RECORDS_BUFFER_BYTES (1u << 20)
#define XFS_RECORDS_BUFFERS 1024 /* more are refused; CUPTI then drops records and counts them */

/* Before records come. own_clock: CUPTI could not be given the trace's clock, so that times are
 * to be converted from its own. */
void xfs_records_setup(const struct xcp_library *library, bool own_clock);

/* What CUPTI calls. The library must have been told that buffers come zeroed. */
void xfs_records_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void xfs_records_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid);

/* Called whenever a buffer was put in the queue, in CUPTI's thread: short, and no CUPTI calls. */
extern void (*xfs_records_queued)(void);

/* Buffers that CUPTI holds at this moment. */
unsigned xfs_records_outstanding(void);

/* Records everything in the queue, in the order in which it came, and adds what CUPTI dropped to
 * the losses. One thread at a time. Stops early when *stop becomes true. */
void xfs_records_drain(const volatile bool *stop);

#endif
