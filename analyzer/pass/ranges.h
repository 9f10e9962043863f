/*
 * Which ranges of the program (NVTX) are open: the one place where beginnings meet their ends. The
 * walk (pass.h) has one of these for each process and passes on what it finds: with each range
 * event its range, with each transfer the innermost range of its thread, and the ranges whose end
 * was not recorded (observer.h). Nobody else matches ends.
 *
 * The rules, which are NVTX's:
 * - push and pop: a pop ends the innermost open range of its domain that its own thread has,
 * whatever lies inside it. A thread is what goes on with a lane by one tid; when another one goes
 * on with the lane, the ranges before end with that thread's last range or transfer.
 * - start and end: by an id, from any thread of the process, in any order. An id that begins again
 *   ends the range that had it.
 * - an end without a beginning changes nothing, and is counted.
 * - a beginning without an end lasts until the process's last call, and is counted.
 *
 * Memory: XFA_OPEN_RANGES at one time, about 100 bytes each (100 MiB); what has ended costs
 * nothing. Further ranges are not followed, but counted. Their ends are recognised, so that they
 * end no other range: in a thread and domain with ranges that are not followed, ends belong to
 * these first, and no new range is followed until all of them have ended.
 *
 * Numbers are the same each time that a trace is read.
 */
#ifndef XFA_RANGES_H
#define XFA_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XFA_OPEN_RANGES (1u << 20)

struct xfa_range {
    uint64_t number;       /* in the process, as they began, from 0 on */
    uint64_t id;           /* 0: of its thread (push), else of the process (start) */
    uint64_t domain, name; /* ids in NAMES; 0: the default domain, no name */
    uint64_t start_ns;
    uint32_t lane; /* that began it, as the next two */
    int32_t tid;
    uint32_t slot;  /* below XFA_OPEN_RANGES, no other open range has it: for what is kept beside */
    uint32_t outer; /* when it began: slot + 1 of the thread's range around it; 0: none, or of the
                       process */
    uint32_t depth; /* of a thread's: no other open range of the thread has it; outer ones less */
};

/* Why a range ends without an end of its own. */
enum xfa_unended { XFA_THREAD_ENDED, XFA_BEGUN_AGAIN, XFA_PROCESS_ENDED };
typedef void xfa_unended_fn(void *self, const struct xfa_range *range, enum xfa_unended why,
                            uint64_t end_ns);

struct xfa_range_counts {
    uint64_t stray_ends; /* without a beginning */
    uint64_t unended;    /* beginnings without an end */
    uint64_t beyond;     /* not followed: more than XFA_OPEN_RANGES were open */
};

struct xfa_ranges;
struct xfa_ranges *xfa_ranges_new(xfa_unended_fn *unended, void *self);
/* With room for so many; for tests. */
struct xfa_ranges *xfa_ranges_within(size_t most, xfa_unended_fn *unended, void *self);
void xfa_ranges_free(struct xfa_ranges *ranges);

/* A RANGE_BEGIN or RANGE_END: its range, until the next call of any of these functions. NULL: an
 * end without a beginning, or a range that is not followed. */
struct xfa_event;
const struct xfa_range *xfa_ranges_take(struct xfa_ranges *ranges, const struct xfa_event *event);

/* The thread makes this call: the innermost range of its own that is open, as above; NULL: none. */
const struct xfa_range *xfa_ranges_around(struct xfa_ranges *ranges, const struct xfa_event *event);

/* The process is through, end_ns was its last call: ends what is open, the latest first, and is
 * ready for another process. */
void xfa_ranges_end(struct xfa_ranges *ranges, uint64_t end_ns);

size_t xfa_ranges_open(const struct xfa_ranges *ranges);                    /* now */
struct xfa_range_counts xfa_ranges_counts(const struct xfa_ranges *ranges); /* of all processes */

#endif
