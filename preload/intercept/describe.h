/*
 * The functions of the table's `after` and `before` columns ("verbs"): they fill the frame's event
 * from the call's arguments; those of memory calls also update the set of ranges.
 *
 * They run after the real call returned, outside of any lock, and only when it succeeded or when
 * the event is a transfer (a failed transfer is recorded as such, and nothing its arguments point
 * to is read).
 */
#ifndef XFS_DESCRIBE_H
#define XFS_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/content/access.h"
#include "preload/intercept/faults.h"
#include "preload/intercept/ranges.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/trace.h"

/* How a call was entered. */
enum xfs_early {
    XFS_NOT_EARLY,
    XFS_FIRST,   /* before the process had a session */
    XFS_OUTSIDE, /* outside of the periods that are recorded (record/periods.h) */
    XFS_INNER,   /* within another recorded call: it is no event (XFS_GRAPH) */
    XFS_AHEAD,   /* the call is not made yet: xfs_ahead_begins() */
    XFS_SIZED,   /* nor is more asked of it than how much it moves */
};

/* The arguments of a batch of prefetches: ranges from where_idxs[i] on go to where[i]. */
struct xfs_prefetches {
    const xcu_deviceptr *addresses;
    const size_t *sizes;
    size_t count;
    const struct xcu_location *where;
    const size_t *where_idxs;
    size_t num_where;
};

/* One intercepted call, from entry to record. */
struct xfs_frame {
    struct xft_event event;
    uint8_t early;           /* enum xfs_early */
    struct xfs_range freed;  /* removed by xfs_free_begin; put back if the call fails */
    xcu_graph_exec launched; /* what xfs_graph_launch saw: its copies are published with it */
    struct xfs_prefetches prefetches; /* of a batch: its further ranges are published with it */
};

#define XFS_ADDR(pointer) ((uint64_t)(uintptr_t)(pointer))
/* The address a call stored at *pointer; 0 when it failed. */
#define XFS_AT(pointer) (status ? 0 : (uint64_t)(uintptr_t)(*(pointer)))
#define XFS_NO_ARRAY ((xcu_array)0)

/*
 * Describe a copy before it is made, for the watching of its memory (content/access.h), or only how
 * much it moves, for page faults (faults.h): between xfs_ahead_begins() and xfs_ahead_ends() the
 * verbs of its row fill the event; then the frame is reset to its state at entry.
 */
static inline bool xfs_ahead_wanted(const struct xfs_frame *f)
{
    return (xfs_access_on() || xfs_faults_wanted()) && !f->early;
}
void xfs_ahead_begins(struct xfs_frame *f);
void xfs_ahead_ends(struct xfs_frame *f);

/* The Async form was called on this stream. First, before the other verbs. */
__attribute__((hot)) void xfs_async(struct xfs_frame *f, xcu_stream stream);

/* The same for work on a stream that is not a copy. */
void xfs_on_stream(struct xfs_frame *f, xcu_stream stream);

/* kind: enum xrt_copy_kind; XRT_COPY_DEFAULT lets the pointers decide. A copy of 0 bytes is an
 * event too; the analyzer does not count it as a transfer. */
__attribute__((hot)) void xfs_copy(struct xfs_frame *f, uint64_t dst, uint64_t src, uint64_t bytes,
                                   int kind);
__attribute__((hot)) void xfs_copy_rows(struct xfs_frame *f, uint64_t dst, uint64_t dst_pitch,
                                        uint64_t src, uint64_t src_pitch, uint64_t width,
                                        uint64_t rows, int kind);
/* An end that is a CUDA array is passed as array, the other as address. */
void xfs_copy_array(struct xfs_frame *f, xcu_array dst_array, xcu_array src_array, uint64_t dst,
                    uint64_t src, uint64_t width, uint64_t rows, int kind);
void xfs_copy_2d(struct xfs_frame *f, const struct xcu_memcpy2d *p);
void xfs_copy_3d(struct xfs_frame *f, const struct xcu_memcpy3d *p);
/* Sets the ends of the transfer that lie in this device memory, which the driver did not know. */
void xfs_copy_in_memory(struct xft_event *transfer, const struct xfs_range *range);
void xfs_copy_runtime_3d(struct xfs_frame *f, const struct xrt_memcpy3d *p);
void xfs_copy_runtime_3d_peer(struct xfs_frame *f, const struct xrt_memcpy3d_peer *p);
void xfs_copy_peer(struct xfs_frame *f, uint64_t dst, int dst_device, uint64_t src, int src_device,
                   uint64_t bytes);
void xfs_copy_to_symbol(struct xfs_frame *f, const void *symbol, uint64_t src, uint64_t bytes);
void xfs_copy_from_symbol(struct xfs_frame *f, uint64_t dst, const void *symbol, uint64_t bytes);
void xfs_copy_batch(struct xfs_frame *f, const xcu_deviceptr *dsts, const xcu_deviceptr *srcs,
                    const size_t *sizes, size_t count);
void xfs_copy_3d_batch(struct xfs_frame *f, const struct xcu_memcpy3d_op *ops, size_t count);

void xfs_alloc(struct xfs_frame *f, uint64_t address, uint64_t bytes, enum xft_memory memory);
void xfs_alloc_3d(struct xfs_frame *f, const struct xrt_pitched_ptr *p, struct xcu_extent extent);
void xfs_alloc_host(struct xfs_frame *f, uint64_t address, uint64_t bytes, unsigned flags);
/* From a pool, which may be on another device or on the host: the driver knows once it is used. */
void xfs_alloc_pool(struct xfs_frame *f, uint64_t address, uint64_t bytes);
void xfs_alloc_array(struct xfs_frame *f, uint64_t handle);
void xfs_free_array(struct xfs_frame *f, uint64_t handle);
/* Before the call: afterwards another thread may already have the address again. */
void xfs_free_begin(struct xfs_frame *f, uint64_t address);
void xfs_free_end(struct xfs_frame *f, int status);
void xfs_register(struct xfs_frame *f, uint64_t address, uint64_t bytes);
void xfs_unregister_end(struct xfs_frame *f, int status);
void xfs_all_freed(struct xfs_frame *f);

void xfs_prefetch(struct xfs_frame *f, uint64_t address, uint64_t bytes, int place);
/* The event of the first range. xfs_prefetch_ranges() writes one for each further range, with count
 * 0, once the first has its stack. */
void xfs_prefetch_batch(struct xfs_frame *f, const struct xfs_prefetches *batch);
void xfs_prefetch_ranges(const struct xfs_frame *f, void (*publish)(const struct xft_event *));
void xfs_advise(struct xfs_frame *f, uint64_t address, uint64_t bytes, int advice, int place);
int xfs_location_place(struct xcu_location where);

void xfs_peer_device(struct xfs_frame *f, int peer, int enabled);
void xfs_peer_context(struct xfs_frame *f, xcu_context peer, int enabled);

/* Memsets and host functions on a stream: from the first call that can move data on. pitch: bytes
 * from a row to the next one; of one row any. */
void xfs_set(struct xfs_frame *f, uint64_t dst, uint64_t pitch, uint64_t width, uint64_t rows);
void xfs_host_function(struct xfs_frame *f, xcu_stream stream, uint64_t function);

/* Streams, from the first call of CUDA on; stream: an address, 0 when the call failed. */
void xfs_stream_made(struct xfs_frame *f, uint64_t stream, unsigned flags, int priority);
void xfs_stream_ended(struct xfs_frame *f, xcu_stream stream);

/* Waits of the host; one that failed is no event. */
void xfs_sync_stream(struct xfs_frame *f, xcu_stream stream);
void xfs_sync_event(struct xfs_frame *f, xcu_event event);
void xfs_sync_context(struct xfs_frame *f, xcu_context context); /* NULL: the current one */

/* Which work a CUDA event covers, for later waits for it (content.h). */
void xfs_cuda_event_recorded(xcu_event event, xcu_stream stream, bool per_thread);
void xfs_cuda_event_gone(xcu_event event); /* its handle may be reused */

#endif
