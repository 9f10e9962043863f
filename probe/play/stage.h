/*
 * The resources of a schedule: memory, streams and events of the stage (probe/play.h), a pair of
 * buffers on each GPU for copies of a given duration, and the measured cost of such copies and of
 * spinning kernels.
 */
#ifndef XFP_PLAY_STAGE_H
#define XFP_PLAY_STAGE_H

#include "probe/device/buffer.h"
#include "probe/play.h"

#define XFP_STAGING_BYTES (8u << 20)

enum xfp_play_way { XFP_WAY_IN, XFP_WAY_OUT, XFP_WAY_PEER, XFP_WAYS };

/* A copy of k bytes that is queued after another takes fixed + k * per_byte ns. */
struct xfp_pace {
    double fixed_ns, ns_per_byte; /* 0: not measured */
};

/* A GPU that is on the stage. */
struct xfp_play_gpu {
    bool used;
    struct xfp_device *device;
    struct xfp_buffer host, there; /* XFP_STAGING_BYTES each */
    double kernel_ns; /* cost of a queued spinning kernel in addition to its duration */
    double exclusive_ns;
    unsigned blocks; /* the same for a kernel that occupies the whole GPU */
    struct xfp_pace pace[XFP_WAYS];
};

struct xfp_play_queue {
    xcu_stream handle; /* NULL: the legacy default stream of its GPU */
    int device;
};

struct xfp_play_slot {
    void *host;
    xcu_deviceptr address;
    bool taken;
    uint8_t memory;
};

struct xfp_made_stage {
    struct xfp_system *sys;
    struct xfp_play_gpu *gpus; /* by ordinal */
    struct xfp_buffer *regions;
    size_t region_count;
    struct xfp_play_queue *queues;
    size_t queue_count;
    xcu_event *events;
    int *event_devices;
    size_t event_count;
    struct xfp_play_slot *slots;
    size_t slot_count;
};

/* 0, or -1 with the system's error and nothing held. */
int xfp_stage_make(struct xfp_made_stage *made, struct xfp_system *sys,
                   const struct xfp_play_stage *stage);
void xfp_stage_free(struct xfp_made_stage *made);

/* Frees the slot's memory, if any. */
xcu_result xfp_slot_release(const struct xfp_made_stage *made, uint32_t slot);

/* ---- calibrate.c ---------------------------------------------------------------------------- */

#define XFP_SPIN_THREADS 1024u /* of a block: two blocks fill a multiprocessor */

/* Launches a kernel that spins for ns; blocks 0: one thread. */
xcu_result xfp_launch_spin(struct xfp_system *sys, const struct xfp_device *d, xcu_stream stream,
                           uint64_t ns, unsigned blocks);

/* A copy between the staging buffers; from, to: ordinals, -1 = the host. */
xcu_result xfp_copy_staging(const struct xfp_made_stage *made, int from, int to, uint64_t bytes,
                            xcu_stream stream);
enum xfp_play_way xfp_way_of(int from, int to);

/* Measures how long these take. Peer copies: between the first two GPUs that are used. 0, or -1
 * with the system's error. */
int xfp_stage_calibrate(struct xfp_made_stage *made);

/* Plays a list once: implements xfp_play_run() (probe/play.h). In run.c. 0, or -1 with played->why.
 */
int xfp_stage_play(struct xfp_made_stage *made, const struct xfp_play_list *list,
                   struct xfp_played *played);

#endif
