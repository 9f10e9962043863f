/*
 * Events of the calling thread: its lane, writing to it, and what events refer to (stacks, names,
 * arguments). What every event passes is compiled into its users; what cannot be decided there is
 * left to the slow paths.
 */
#ifndef XFS_EVENTS_H
#define XFS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/attributes.h"
#include "preload/record/lanes.h"
#include "xferscope/trace.h"

/* Writes an event of the calling thread. It is lost, and counted, when recording is off or a signal
 * handler interrupted this thread while it wrote another one. */
void xfs_event_write(const struct xft_event *event);

/* Id of the calling thread's stack, 0 when stacks are off or could not be kept. New stacks are in
 * the file before this returns. Frames of this library are left out. `called_from`: the program's
 * return address, by which a stack that this thread had before is found again (remembered.h); 0:
 * not looked for. */
__attribute__((hot, noinline)) uint32_t xfs_stack_capture(uintptr_t called_from);

/* The same of a stack that begins at these registers, of a function that has not returned. */
uint32_t xfs_stack_capture_from(const struct xfs_registers *from, uintptr_t called_from);

/* Id of a stack of one frame, at this instruction: a place in the program that is not on this
 * thread's stack. 0 as above, and for address 0. */
uint32_t xfs_stack_of(uint64_t instruction);

/* Id of a text in NAMES (a kernel's, an NVTX range's); 0 when it is empty or could not be kept. A
 * new text is in the file before this returns. A known one costs a hash and a look-up. */
uint32_t xfs_name(const char *text, size_t bytes);

/* Id in ARGUMENTS of these pointers (at most XFT_ARGUMENTS_MOST) in this order; 0 when they could
 * not be kept, which has been counted. A new set is in the file before this returns. */
uint32_t xfs_arguments_id(const uint64_t *pointers, uint32_t count);

/* Adds or replaces a META pair (at once in the file). */
void xfs_meta_set(const char *key, const char *value);

/* Runs `work` in the recorder's thread, which has a descriptor table of its own, and waits for it.
 * False when it did not run: nothing is recorded, or the thread is late. */
bool xfs_do_apart(void (*work)(void *), void *argument);

/* This thread has left a call by a jump: it is not inside the recorder any more, and the call's
 * event is lost. */
void xfs_record_left(void);

/* By hand: the compiler would use a string instruction, whose start-up alone takes longer. */
static inline void xfs_event_clear(struct xft_event *event)
{
    typedef long long vector __attribute__((vector_size(16), may_alias, aligned(8)));
    vector *parts = (vector *)event;
    _Static_assert(sizeof *event % sizeof *parts == 0, "parts make up an event");
#pragma GCC unroll 6
    for (size_t i = 0; i < sizeof *event / sizeof *parts; i++)
        parts[i] = (vector){0};
}

/* ---- in line ----------------------------------------------------------------------------- */

struct xfs_lane *xfs_take_lane_slowly(void);
void xfs_not_appended(void);

/* This thread's lane with room for an event, marked busy; NULL when there is none, and the loss has
 * been counted. */
static inline struct xfs_lane *xfs_take_lane(void)
{
    struct xfs_lane *lane = xfs_self;
    if (__builtin_expect(
            lane == NULL || lane->busy || lane->next >= lane->room || !xfs_lane_current(lane), 0))
        return xfs_take_lane_slowly();
    lane->busy = true;
    return lane;
}

/* The event goes to the mapping only here, and only while it is this process's: a handler that
 * forked after the lane was taken must not make the child write to the parent's file. */
static inline void xfs_lane_append(struct xfs_lane *lane, const struct xft_event *event,
                                   uint32_t stack)
{
    xfs_lane_claim(lane);
    bool current = xfs_lane_current(lane);
    if (__builtin_expect(current, 1)) {
        struct xft_event *row = &lane->rows[lane->next];
        *row = *event;
        if (stack)
            row->stack = stack;
        lane->next++;
        __atomic_store_n(lane->committed, lane->next, __ATOMIC_RELEASE);
    }
    xfs_lane_done(lane);
    if (__builtin_expect(!current, 0))
        xfs_not_appended();
    lane->busy = false;
}

/*
 * For a short event that is filled in where it will lie: the thread's lane, whose next row is
 * zeroed and may be filled, or NULL (the loss has been counted). Between open and close the caller
 * only stores to that row. It does not look up the lane again: a signal handler may have forked in
 * between, and the child has none.
 */
static inline struct xfs_lane *xfs_row_open(void)
{
    struct xfs_lane *lane = xfs_take_lane();
    if (lane == NULL)
        return NULL;
    xfs_lane_claim(lane);
    if (__builtin_expect(!xfs_lane_current(lane), 0)) {
        xfs_lane_done(lane);
        xfs_not_appended();
        lane->busy = false;
        return NULL;
    }
    xfs_event_clear(&lane->rows[lane->next]);
    return lane;
}

static inline void xfs_row_close(struct xfs_lane *lane)
{
    lane->next++;
    __atomic_store_n(lane->committed, lane->next, __ATOMIC_RELEASE);
    xfs_lane_done(lane);
    lane->busy = false;
}

/* As xfs_event_write_now(), of an event without a stack that is to have this one. Whole words are
 * copied that were written before: one that has just been written in part would be waited for. */
static inline struct xfs_lane *xfs_event_write_with_stack(const struct xft_event *event,
                                                          uint32_t stack)
{
    struct xfs_lane *lane = xfs_take_lane();
    if (lane)
        xfs_lane_append(lane, event, stack);
    return lane;
}

/* As xfs_event_write(). The lane that has the event; NULL: none, which was counted. */
static inline struct xfs_lane *xfs_event_write_now(const struct xft_event *event)
{
    struct xfs_lane *lane = xfs_take_lane();
    if (lane)
        xfs_lane_append(lane, event, 0);
    return lane;
}

/* Stacks are recorded, as far as this thread knows. */
static inline bool xfs_stacks_wanted(void)
{
    return xfs_self == NULL || xfs_self->stacks;
}

#endif
