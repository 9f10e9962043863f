/*
 * Explicit copies within a device and between devices, with and without peer access
 * (Comm|Scope's Table 1, "explicit / peer" and "explicit / no peer").
 */
#include "probe/bench/bench.h"
#include "probe/bench/bench_peer.h"
#include "probe/device/launch.h"
#include "probe/measure/measure.h"

#include <stdio.h>

static struct xfp_place on_device(const struct xfp_device *d)
{
    return (struct xfp_place){XFT_MEM_DEVICE, d->ordinal, -1};
}

static void enumerate_within(struct xfp_session *s, const struct xfp_family *family,
                             struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++) {
        struct xfp_place place = on_device(&s->sys.devices[i]);
        struct xfp_bench bench = {
            .family = family, .direction = XFT_DIR_D2D, .src = place, .dst = place};

        snprintf(bench.name, sizeof(bench.name), "copy/device/d2d/gpu%d", place.device);
        xfp_bench_add(list, &bench);
    }
}

/* With peer access first: a look-up by places finds the first of two equal ones. */
static void enumerate_between(struct xfp_session *s, const struct xfp_family *family,
                              struct xfp_bench_list *list)
{
    for (size_t i = 0; i < s->sys.device_count; i++)
        for (size_t j = 0; j < s->sys.device_count; j++) {
            const struct xfp_device *from = &s->sys.devices[i], *to = &s->sys.devices[j];

            for (int peer = xfp_can_access(&s->sys, from->ordinal, to->ordinal);
                 i != j && peer >= 0; peer--) {
                struct xfp_bench bench = {.family = family,
                                          .direction = XFT_DIR_P2P,
                                          .src = on_device(from),
                                          .dst = on_device(to),
                                          .peer_access = peer};

                snprintf(bench.name, sizeof(bench.name), "copy/%s/p2p/gpu%d-gpu%d",
                         peer ? "peer" : "no-peer", from->ordinal, to->ordinal);
                xfp_bench_add(list, &bench);
            }
        }
}

/* kind: the copy's properties, without its two ends. */
static int run_copy(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path,
                    const struct xfp_copy *kind)
{
    struct xfp_device *from = &s->sys.devices[bench->src.device],
                      *to = &s->sys.devices[bench->dst.device];
    size_t most = s->sys.most_bytes, least = s->options->min_bytes;
    struct xfp_buffer src = {0}, dst = {0};
    struct xfp_copy copy = *kind;
    int bad = xfp_buffer_make_fitting(&s->sys, from, bench->src, least, &most, &src);

    if (!bad)
        bad = xfp_buffer_make_fitting(&s->sys, to, bench->dst, least, &most, &dst);
    copy.device = from;
    copy.src = &src;
    copy.dst = &dst;
    if (!bad)
        bad = xfp_sweep_copy(s, &copy, path, most);
    xfp_buffer_free(&s->sys, &src);
    xfp_buffer_free(&s->sys, &dst);
    return bad;
}

static int run_within(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_copy copy = {.gated = true};

    if (xfp_device_open(&s->sys, &s->sys.devices[bench->src.device]))
        return -1;
    return run_copy(s, bench, path, &copy);
}

int xfp_set_peer_access(struct xfp_session *s, struct xfp_device *a, struct xfp_device *b, bool on)
{
    struct xfp_device *ends[] = {a, b};

    if (xfp_device_open(&s->sys, a) || xfp_device_open(&s->sys, b))
        return -1;
    for (int i = 0; i < 2; i++) {
        xcu_context peer = ends[1 - i]->context;
        xcu_result result;

        if (xfp_device_open(&s->sys, ends[i]))
            return -1;
        result = on ? s->sys.cu->cuCtxEnablePeerAccess(peer, 0)
                    : s->sys.cu->cuCtxDisablePeerAccess(peer);
        if (result == XCU_ERROR_PEER_ACCESS_ALREADY_ENABLED ||
            result == XCU_ERROR_PEER_ACCESS_NOT_ENABLED)
            result = XCU_SUCCESS;
        if (on && xfp_check(&s->sys, result, "enabling peer access"))
            return -1;
    }
    return 0;
}

/* Without peer access the driver stages through the host and may wait while submitting: no gate. */
static int run_between(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    struct xfp_device *from = &s->sys.devices[bench->src.device],
                      *to = &s->sys.devices[bench->dst.device];
    struct xfp_copy copy = {.peer = true, .gated = bench->peer_access};
    int bad = xfp_device_open(&s->sys, to) || xfp_device_open(&s->sys, from);

    if (!bad)
        bad = xfp_set_peer_access(s, from, to, bench->peer_access);
    if (!bad)
        bad = run_copy(s, bench, path, &copy);
    if (from->context && to->context)
        xfp_set_peer_access(s, from, to, false);
    return bad ? -1 : 0;
}

const struct xfp_family xfp_family_device_copy = {
    .name = "device-copy",
    .summary = "explicit copies within a device",
    .names =
        {
            {"copy/device/d2d/gpuN", NULL},
        },
    .part = XFP_PART_PATHS,
    .method = XFP_COPY,
    .enumerate = enumerate_within,
    .run = run_within,
};

const struct xfp_family xfp_family_peer_copy = {
    .name = "peer-copy",
    .summary = "explicit copies between devices, with and without peer access",
    .names =
        {
            {"copy/{peer,no-peer}/p2p/gpuN-gpuM", NULL},
        },
    .part = XFP_PART_PATHS,
    .needs = XFP_NEED_TWO_GPUS,
    .method = XFP_COPY,
    .enumerate = enumerate_between,
    .run = run_between,
};
