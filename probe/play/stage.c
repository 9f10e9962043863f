#include "probe/play/stage.h"

#include <stdlib.h>
#include <string.h>

#include "probe/device/launch.h"

/* ---- GPUs ----------------------------------------------------------------------------------- */

/* The context of a GPU that the stage uses; the other GPUs have none. */
static void make_current(const struct xfp_made_stage *made, int number)
{
    const struct xfp_device *device = made->gpus[number].device;

    if (device)
        made->sys->cu->cuCtxSetCurrent(device->context);
}

static int need_gpu(struct xfp_made_stage *made, int ordinal)
{
    struct xfp_system *sys = made->sys;

    if (ordinal < 0 || (size_t)ordinal >= sys->device_count)
        return xfp_fail(sys, "there is no GPU %d", ordinal);
    made->gpus[ordinal].used = true;
    return 0;
}

static int need_gpus(struct xfp_made_stage *made, const struct xfp_play_stage *stage)
{
    int bad = 0;

    for (size_t i = 0; i < stage->region_count && !bad; i++)
        bad = need_gpu(made, stage->regions[i].device);
    for (size_t i = 0; i < stage->stream_count && !bad; i++)
        bad = need_gpu(made, stage->streams[i].device);
    for (size_t i = 0; i < stage->event_count && !bad; i++)
        bad = need_gpu(made, stage->events[i]);
    return bad;
}

static int open_gpu(struct xfp_made_stage *made, int ordinal)
{
    const int threads_of_processor = 39; /* CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR */
    struct xfp_system *sys = made->sys;
    struct xfp_play_gpu *gpu = &made->gpus[ordinal];
    const struct xfp_place host = {XFT_MEM_PINNED, -1, -1};
    const struct xfp_place there = {XFT_MEM_DEVICE, ordinal, -1};
    int processors = xfp_attribute(sys, ordinal, XFP_ATTR_MULTIPROCESSORS);
    int threads = xfp_attribute(sys, ordinal, threads_of_processor);
    unsigned each = threads > (int)XFP_SPIN_THREADS ? (unsigned)threads / XFP_SPIN_THREADS : 1;

    gpu->device = &sys->devices[ordinal];
    gpu->blocks = (processors > 0 ? (unsigned)processors : 1) * each;
    if (xfp_device_open_kernels(sys, gpu->device) ||
        xfp_buffer_make(sys, gpu->device, host, XFP_STAGING_BYTES, &gpu->host))
        return -1;
    return xfp_buffer_make(sys, gpu->device, there, XFP_STAGING_BYTES, &gpu->there);
}

/* ---- memory, streams, events ---------------------------------------------------------------- */

static int make_regions(struct xfp_made_stage *made, const struct xfp_play_stage *stage)
{
    int bad = 0;

    made->regions = calloc(stage->region_count + 1, sizeof(*made->regions));
    if (!made->regions)
        return xfp_fail(made->sys, "out of memory");
    for (size_t i = 0; i < stage->region_count && !bad; i++) {
        const struct xfp_play_region *r = &stage->regions[i];

        bad = xfp_buffer_make(made->sys, made->gpus[r->device].device, r->place, r->bytes,
                              &made->regions[i]);
        made->region_count += !bad;
    }
    xfp_unbind(made->sys);
    return bad;
}

static int make_queues(struct xfp_made_stage *made, const struct xfp_play_stage *stage)
{
    struct xfp_system *sys = made->sys;
    int bad = 0;

    made->queues = calloc(stage->stream_count + 1, sizeof(*made->queues));
    if (!made->queues)
        return xfp_fail(sys, "out of memory");
    for (size_t i = 0; i < stage->stream_count && !bad; i++) {
        const struct xfp_play_stream *s = &stage->streams[i];
        struct xfp_play_queue *queue = &made->queues[i];

        queue->device = s->device;
        made->queue_count++;
        if (s->kind == XFP_PLAY_LEGACY)
            continue;
        make_current(made, s->device);
        bad = xfp_check(
            sys, sys->cu->cuStreamCreate(&queue->handle, s->kind == XFP_PLAY_NONBLOCKING ? 1 : 0),
            "making streams");
    }
    return bad;
}

static int make_events(struct xfp_made_stage *made, const struct xfp_play_stage *stage)
{
    const unsigned int no_timing = 2;
    struct xfp_system *sys = made->sys;
    int bad = 0;

    made->events = calloc(stage->event_count + 1, sizeof(*made->events));
    made->event_devices = calloc(stage->event_count + 1, sizeof(*made->event_devices));
    made->slots = calloc(stage->slots + 1, sizeof(*made->slots));
    if (!made->events || !made->event_devices || !made->slots)
        return xfp_fail(sys, "out of memory");
    made->slot_count = stage->slots;
    for (size_t i = 0; i < stage->event_count && !bad; i++) {
        made->event_devices[i] = stage->events[i];
        make_current(made, stage->events[i]);
        bad = xfp_check(sys, sys->cu->cuEventCreate(&made->events[i], no_timing), "making events");
        made->event_count += !bad;
    }
    return bad;
}

int xfp_stage_make(struct xfp_made_stage *made, struct xfp_system *sys,
                   const struct xfp_play_stage *stage)
{
    int bad;

    *made = (struct xfp_made_stage){.sys = sys};
    made->gpus = calloc(sys->device_count + 1, sizeof(*made->gpus));
    if (!made->gpus)
        return xfp_fail(sys, "out of memory");
    bad = need_gpus(made, stage);
    for (size_t i = 0; i < sys->device_count && !bad; i++)
        if (made->gpus[i].used)
            bad = open_gpu(made, (int)i);
    bad = bad || make_regions(made, stage) || make_queues(made, stage) ||
          make_events(made, stage) || xfp_stage_calibrate(made);
    if (bad)
        xfp_stage_free(made);
    return bad ? -1 : 0;
}

void xfp_stage_free(struct xfp_made_stage *made)
{
    struct xfp_system *sys = made->sys;

    for (size_t i = 0; i < made->event_count; i++) {
        make_current(made, made->event_devices[i]);
        sys->cu->cuEventDestroy(made->events[i]);
    }
    for (size_t i = 0; i < made->queue_count; i++) {
        make_current(made, made->queues[i].device);
        if (made->queues[i].handle)
            sys->cu->cuStreamDestroy(made->queues[i].handle);
    }
    for (size_t i = 0; i < made->region_count; i++)
        xfp_buffer_free(sys, &made->regions[i]);
    for (size_t i = 0; made->gpus && i < sys->device_count; i++) {
        xfp_buffer_free(sys, &made->gpus[i].host);
        xfp_buffer_free(sys, &made->gpus[i].there);
    }
    free(made->regions);
    free(made->queues);
    free(made->events);
    free(made->event_devices);
    free(made->slots);
    free(made->gpus);
    *made = (struct xfp_made_stage){0};
}

/* ---- slots ---------------------------------------------------------------------------------- */

xcu_result xfp_slot_release(const struct xfp_made_stage *made, uint32_t number)
{
    const struct xfp_driver *cu = made->sys->cu;
    struct xfp_play_slot *slot = &made->slots[number];
    bool device = slot->memory == XFT_MEM_DEVICE || slot->memory == XFT_MEM_MANAGED;

    if (!slot->taken)
        return XCU_SUCCESS;
    slot->taken = false;
    return device ? cu->cuMemFree(slot->address) : cu->cuMemFreeHost(slot->host);
}
