/*
 * The kind of memory at an address, and where it is.
 *
 * Sources, in this order: a cache of this thread, the ranges the program allocated (ranges.h), the
 * driver (cuPointerGetAttributes, which is safe during stream capture), and for host memory the
 * kernel, for the NUMA node of the page. "unknown" when none of them knows.
 */
#ifndef XFS_CLASSIFY_H
#define XFS_CLASSIFY_H

#include <stdint.h>

#include "preload/base/attributes.h"
#include "preload/intercept/ranges.h"
#include "xferscope/cuda_abi.h"
#include "xferscope/terms.h"

struct xfs_place {
    uint8_t memory; /* enum xft_memory */
    int16_t place;  /* device ordinal, NUMA node, or XFT_PLACE_UNKNOWN */
};

/*
 * An entry of the thread's cache is valid for [low, high): a tracked range, or the part of one page
 * that lies between tracked ranges, and as long as the set of ranges is unchanged.
 */
struct xfs_place_entry {
    uint64_t low, high;
    uint32_t epoch;
    struct xfs_place answer;
} __attribute__((aligned(32)));
#define XFS_PLACE_ENTRIES 16
extern XFS_TLS struct xfs_place_entry xfs_places[XFS_PLACE_ENTRIES];

/* Reads what never changes. When a session starts. */
void xfs_classify_start(void);

/* Keeps errno. */
struct xfs_place xfs_classify_slowly(struct xfs_place_entry *entry, uint64_t address,
                                     uint32_t epoch);

static inline __attribute__((always_inline)) struct xfs_place xfs_classify_in_line(uint64_t address)
{
    /* Read before the look-up: a change in between makes the entry stale, never wrong. */
    uint32_t epoch = xfs_ranges_epoch();
    /* Allocations start at round addresses: the low bits alone would put them all in one place. */
    struct xfs_place_entry *entry = &xfs_places[(address >> 12) * 0x9e3779b97f4a7c15u >> 60];
    _Static_assert(XFS_PLACE_ENTRIES == 16, "four bits are taken");
    if (__builtin_expect(entry->epoch != epoch || address < entry->low || address >= entry->high,
                         0))
        return xfs_classify_slowly(entry, address, epoch);
    return entry->answer;
}

static inline struct xfs_place xfs_classify(uint64_t address)
{
    return xfs_classify_in_line(address);
}

/* The calling thread's current device, or XFT_PLACE_UNKNOWN. Creates no context. */
int16_t xfs_current_device(void);

/* The only device of the process; XFT_PLACE_UNKNOWN when there are several, or before
 * xfs_classify_start(). */
extern int16_t xfs_only_device;

/* A default stream, which every context has: its handle does not identify the context. */
static inline bool xfs_stream_is_default(uint64_t stream)
{
    return stream <= (uintptr_t)XCU_STREAM_PER_THREAD;
}

/* The device that is current for this thread, whose default stream its calls mean. The driver is
 * asked only where there are several. */
static inline int16_t xfs_default_device(void)
{
    return (int16_t)(__builtin_expect(xfs_only_device >= 0, 1) ? xfs_only_device
                                                               : xfs_current_device());
}

/* What the driver knows of a stream; fields that it does not know stay unchanged. */
struct xfs_stream_answer {
    int priority;
    xcu_device device;
    unsigned long long number; /* CUPTI's (xfs_stream_look in classify.c) */
};
void xfs_stream_look(void *stream, struct xfs_stream_answer *answer);

/* The device of a context, or XFT_PLACE_UNKNOWN. */
int16_t xfs_context_device(void *context);

/* The context of a stream; NULL: not known. */
void *xfs_stream_context(void *stream);

/* A device's primary context, and whether there is one. Makes none. */
void *xfs_primary_context(int device);
bool xfs_has_primary_context(int device);

/* Bytes of one element of an array, 0 when the driver does not say. */
unsigned xfs_array_element_bytes(void *array);

/* Whether work submitted to this stream is captured into a graph. */
int xfs_stream_captured(void *stream, int per_thread);

/* The same, and also true for an invalidated capture that was not ended, and where the driver
 * cannot be asked. */
bool xfs_stream_in_capture(void *stream, int per_thread);

#endif
