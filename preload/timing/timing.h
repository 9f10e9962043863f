/*
 * Device timing: when each copy ran on the GPU, from CUPTI's activity records.
 *
 * Life cycle. xfs_timing_start() once, while the first cuInit of the process has succeeded and not
 * yet returned to the program: it subscribes to CUPTI. Subscribing later, while another thread
 * makes a context, crashes that thread in CUPTI; so where contexts may exist already there are no
 * device times (docs/timing.md). Records cost time even where nothing is transferred, so
 * xfs_timing_attach() switches them on before the first call that can move data; that is safe once
 * CUPTI has seen all contexts being created. From then on every copy, memset and kernel of the
 * process becomes an event of its own (XFT_EVENT_DEVICE_COPY, XFT_EVENT_MEMSET, XFT_EVENT_KERNEL),
 * written by this module's thread a moment after it ran. xfs_timing_finish() once, when the process
 * ends and before recording does. A forked child has no device timing (CUPTI does not survive
 * fork): both functions do nothing there.
 *
 * Threads. The module's own thread (xferscope-gpu) makes all calls of CUPTI but the subscription:
 * a thread of the program makes a request and waits, with no more stack than an ordinary call
 * takes, and without a system call where the program has forbidden itself these.
 *
 * Joining. CUPTI numbers the calls; the number of the call and that of its device records are the
 * same. A hook takes the number of the call it wraps from two inline functions below:
 *
 *     xfs_timing_call_begin();
 *     status = real(...);
 *     event->correlation = xfs_timing_correlation();
 *
 * only in the outermost hook of a call. Both cost one access to thread-local memory.
 *
 * CUPTI serves one client per process, or, from CUDA 13.3 on, several that all ask for it
 * (cupti_client.h). A profiler that subscribes later and wants CUPTI for itself replaces the
 * recorder (other_profiler.c): with XFERSCOPE_TIMING=auto device timing then ends. When another
 * profiler came first, or CUPTI is missing, or it fails, META says timing=host and timing.why, and
 * nothing else changes. libcupti is loaded privately and never unloaded. No error reaches the
 * program. See docs/timing.md.
 */
#ifndef XFS_TIMING_H
#define XFS_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/attributes.h"

/* CUPTI's number of the outermost driver call seen in this thread since it was cleared. */
extern XFS_TLS uint32_t xfs_timing_seen;

/* Before the real call: clears the number, which a call outside any hook may have set. */
static inline void xfs_timing_call_begin(void)
{
    xfs_timing_seen = 0;
}

/* After the real call: the number that joins it to its device records; 0 when there is no device
 * timing. Reading clears it. */
static inline uint32_t xfs_timing_correlation(void)
{
    uint32_t seen = xfs_timing_seen;
    xfs_timing_seen = 0;
    return seen;
}

/*
 * Prepares device timing as XFERSCOPE_TIMING asks, subscribes to CUPTI where it is wanted and sets
 * META timing and timing.why; true when xfs_timing_attach() is to be called. To be called after
 * recording has started, within a first cuInit (`too_late` NULL); later calls pass the reason why
 * CUPTI is not used (`too_late`, one line for timing.why). Needs a large stack. Later calls do
 * nothing. Safe from any thread. Keeps errno.
 */
bool xfs_timing_start(const char *too_late);

/* Another thread has used CUDA meanwhile: CUPTI is not subscribed to from now on.
 */
void xfs_timing_overtaken(void);

/*
 * Before the first call that can move data: switches the records on, and writes the result to META.
 * Other threads wait for that for a bounded time; later calls do nothing. Keeps errno.
 */
void xfs_timing_attach(void);

/*
 * The process uses managed memory: from its first call on (per process), migrations and faults
 * become events (XFT_EVENT_MIGRATION, XFT_EVENT_FAULT), so that programs without managed memory pay
 * nothing. May be called before timing starts. Later calls cost a load. Keeps errno.
 */
void xfs_timing_managed(void);

/*
 * Another profiler of this process is about to subscribe to CUPTI: collects the records that CUPTI
 * holds, and restores CUPTI's state. Does nothing when device timing is off or was chosen by
 * XFERSCOPE_TIMING=cupti, nor where both are among CUPTI's several clients (`shares`: the other
 * subscribes as one of these; cupti_client.h). Keeps errno.
 */
void xfs_timing_yield(bool shares);

/* CUPTI is or may be used in this process: it needs memory. */
bool xfs_timing_needs_memory(void);

/* The program is about to limit its memory to what it has (limits.c): the same, whatever timing was
 * asked for. */
void xfs_timing_memory_ends(void);

/*
 * Collects what CUPTI still holds, for at most XFS_TIMING_FINISH_MS; later records are lost. No
 * events come after it returns. To be called before CUDA's own exit handlers (register yours after
 * the first cuInit) and before recording ends. Does nothing when timing was not started. Keeps
 * errno.
 */
void xfs_timing_finish(void);

/* The same limit for times from CUDA events. */
#ifndef XFS_PAIRS_FINISH_MS
#define XFS_PAIRS_FINISH_MS 1000
#endif

#ifndef XFS_TIMING_FINISH_MS
#define XFS_TIMING_FINISH_MS 5000
#endif

#endif
