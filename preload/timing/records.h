/*
 * CUPTI's records: the buffers they come in, and the events they become.
 *
 * CUPTI requests a buffer and returns it filled, from any thread and under its lock; so
 * xfs_records_completed() only puts the buffer in a queue. One thread (collector.c) empties the
 * queue, and keeps spare buffers ready. Buffers are reused and never freed.
 */
#ifndef XFS_RECORDS_H
#define XFS_RECORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "xferscope/cupti_abi.h"

#define XFS_RECORDS_BUFFER_BYTES (1u << 20)
#define XFS_RECORDS_BUFFERS 1024 /* more are refused; CUPTI then drops records and counts them */

/* Before records come. own_clock: CUPTI does not use the trace's clock, so its times are converted.
 */
void xfs_records_setup(const struct xcp_library *library, bool own_clock);

/* CUPTI's callbacks. CUPTI's attribute for zeroed buffers must be set. */
void xfs_records_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void xfs_records_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid);

/* Called whenever a buffer was put in the queue, in CUPTI's thread: short, and no CUPTI calls. */
extern void (*xfs_records_queued)(void);

/* Buffers that CUPTI holds at this moment. */
unsigned xfs_records_outstanding(void);

/* Writes the events of all records in the queue, in order, and adds those that CUPTI dropped to the
 * losses. One thread at a time. Stops early when *stop becomes true. */
void xfs_records_drain(const atomic_bool *stop);

#endif
