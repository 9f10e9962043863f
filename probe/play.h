/*
 * Makes a schedule of calls on this machine's GPUs and measures how long it takes. Interface for
 * other parts of the project: `analyze --replay=run` uses it.
 *
 *     play = xfp_play_open(error, sizeof(error));
 *     here = xfp_play_machine(play);
 *     xfp_play_prepare(play, &stage, error, sizeof(error))   memory, streams, events
 *     xfp_play_run(play, &list, &played);                    any number of times
 *     xfp_free(xfp_play_close(play));
 *
 * A schedule has threads; each takes the steps of its list in order. In a step the thread spins for
 * gap_ns, makes the call, and spins until own_ns have passed since the call began. Copies, sets,
 * waits, allocations and registrations are real; kernels spin on the device's clock for their
 * duration. Only XFP_PLAY_AFTER and the GPU's streams and events order the threads.
 *
 * On the simulated GPU all times are its clock's; its threads share one processor.
 *
 * Units: ns, bytes. GPUs are this machine's, by the driver's ordinals. Stages and lists are the
 * caller's; a list is read only while it is played, the stage's arrays only by xfp_play_prepare().
 * One session at a time (of this interface or of measure_transfers.h), from one thread; while it is
 * open SIGINT, SIGTERM and SIGHUP ask it to stop.
 */
#ifndef XFP_PLAY_H
#define XFP_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xferscope/profile.h"

struct xfp_play;

#define XFP_PLAY_NONE UINT32_MAX
#define XFP_PLAY_MOST_THREADS 256

/* ---- the stage: memory, streams and events that exist before the schedule begins ------------- */

/* Memory that copies and sets use: device, pageable (touched), pinned, write-combined, mapped. */
struct xfp_play_region {
    struct xfp_place place; /* numa -1: as the system gives it */
    int device;             /* of host memory: in whose context it is made */
    uint64_t bytes;
};

enum xfp_play_stream_kind { XFP_PLAY_NONBLOCKING, XFP_PLAY_BLOCKING, XFP_PLAY_LEGACY };

struct xfp_play_stream {
    int device;
    enum xfp_play_stream_kind kind;
};

struct xfp_play_stage {
    const struct xfp_play_region *regions;
    size_t region_count;
    const struct xfp_play_stream *streams;
    size_t stream_count;
    const int *events; /* device of each event */
    size_t event_count;
    size_t slots; /* for the results of allocations */
};

/* ---- steps ----------------------------------------------------------------------------------- */

enum xfp_play_what {
    XFP_PLAY_HOST,        /* the thread's own time alone */
    XFP_PLAY_AFTER,       /* until thread `stream` has taken `amount` steps; costs nothing */
    XFP_PLAY_COPY,        /* `amount` bytes from src to dst, which says its direction */
    XFP_PLAY_COPY_FOR,    /* as much page-locked memory as takes `amount` ns without other traffic:
                             from device src to the host (dst NONE), to device dst (src NONE), or
                             from one to the other */
    XFP_PLAY_SET,         /* `amount` bytes of dst */
    XFP_PLAY_KERNEL,      /* `amount` ns from the end of the work before it, in a busy stream */
    XFP_PLAY_RECORD,      /* event */
    XFP_PLAY_WAIT,        /* the stream, for the event */
    XFP_PLAY_SYNC_STREAM, /* the thread waits */
    XFP_PLAY_SYNC_EVENT,
    XFP_PLAY_SYNC_DEVICE,
    XFP_PLAY_ASK_STREAM, /* it asks until that is done */
    XFP_PLAY_ASK_EVENT,
    XFP_PLAY_ALLOC,      /* slot dst: `amount` bytes of `memory` */
    XFP_PLAY_FREE,       /* slot dst; nothing if it is empty */
    XFP_PLAY_REGISTER,   /* `amount` bytes of pageable memory, dst */
    XFP_PLAY_UNREGISTER, /* dst */
    XFP_PLAY_PIN,        /* both at once */
};

enum xfp_play_flags {
    XFP_PLAY_BLOCKS = 1,    /* a copy: by the blocking call */
    XFP_PLAY_EXCLUSIVE = 2, /* a kernel: occupies the whole GPU */
};

struct xfp_play_step {
    uint8_t what; /* enum xfp_play_what */
    uint8_t flags;
    uint8_t memory; /* enum xft_memory: of what is allocated */
    int8_t device;
    uint32_t stream; /* number in the stage */
    uint32_t event;  /* number in the stage; recorded after the work; XFP_PLAY_NONE = none */
    uint32_t own_ns; /* least duration of the call */
    uint64_t gap_ns; /* the thread's own time before the call */
    uint64_t amount;
    uint32_t row_bytes; /* a copy: bytes of a row; the host's pitch is twice that; 0 = contiguous */
    uint32_t src, dst;  /* regions, slots, or devices */
    uint32_t reserved;  /* 0 */
    uint64_t src_at, dst_at; /* where in their regions */
};

struct xfp_play_thread {
    const struct xfp_play_step *steps;
    size_t count;
};

/* Peer access of copies and kernels: `from` to the memory of `to`. */
struct xfp_play_pair {
    int from, to;
};

struct xfp_play_list {
    const struct xfp_play_thread *threads; /* at most XFP_PLAY_MOST_THREADS */
    size_t thread_count;
    const struct xfp_play_pair *pairs; /* pairs not listed have no access during the run */
    size_t pair_count;
    uint64_t give_up_ns; /* limit of wall time */
};

struct xfp_played {
    double wall_ns;  /* from its beginning until the last thread's last step */
    double late_ns;  /* ns by which calls that do not wait took longer than own_ns */
    uint64_t steps;  /* that were taken */
    uint64_t failed; /* allocations and registrations that failed: the thread spun for own_ns */
    char why[240];   /* why it ended early; "" = it did not */
};

/* ---- the session ----------------------------------------------------------------------------- */

/* The driver, its GPUs and this machine's description. NULL with one line in error: no driver, no
 * GPU, no kernels built in. */
struct xfp_play *xfp_play_open(char *error, size_t error_bytes);
/* Releases everything except this machine's description, which the caller frees (xfp_free()). */
struct xfp_profile *xfp_play_close(struct xfp_play *play);
const struct xfp_profile *xfp_play_machine(const struct xfp_play *play);
bool xfp_play_stopped(const struct xfp_play *play); /* by the user */

/* Makes the stage, which replaces an earlier one, and measures the cost of a spinning kernel in
 * addition to its duration. 0; -1 with one line in error (not enough memory, ...) and an empty
 * stage. */
int xfp_play_prepare(struct xfp_play *play, const struct xfp_play_stage *stage, char *error,
                     size_t error_bytes);

/* Plays it once. Afterwards frees and unregisters what the schedule left. 0, or -1 with
 * played->why. */
int xfp_play_run(struct xfp_play *play, const struct xfp_play_list *list,
                 struct xfp_played *played);

#endif
