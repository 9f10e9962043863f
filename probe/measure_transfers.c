#include "probe/measure_transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/bench/bench_peer.h"
#include "probe/interrupt.h"
#include "probe/machine/machine_host.h"
#include "probe/measure/measure.h"
#include "probe/measure/pitched.h"
#include "probe/measure/sample.h"
#include "probe/session.h"

struct xfp_transfers {
    struct xfp_session s;
    struct xfp_probe_options options;
};

/* ---- the session ---------------------------------------------------------------------------- */

/* Pattern, result, a buffer of the host and one of rows, which is twice as large. */
static uint64_t that_fits(uint64_t bytes)
{
    uint64_t most = xfp_available_memory("") / 6;

    return bytes < most ? bytes : most;
}

struct xfp_transfers *xfp_transfers_open(const struct xfp_transfers_settings *settings, char *error,
                                         size_t error_bytes)
{
    struct xfp_transfers *t = calloc(1, sizeof(*t));
    int bad;

    if (!t) {
        snprintf(error, error_bytes, "out of memory");
        return NULL;
    }
    t->options = (struct xfp_probe_options){.min_bytes = 1,
                                            .max_bytes = that_fits(settings->most_bytes),
                                            .device = -1,
                                            .quick = true,
                                            .quiet = true,
                                            .verify = true,
                                            .flush = settings->flush};
    bad = xfp_session_open(&t->s, &t->options);
    if (!bad && t->options.max_bytes)
        bad = xfp_session_make_pattern(&t->s);
    if (!bad) {
        xfp_catch_signals();
        return t;
    }
    snprintf(error, error_bytes, "%s", t->s.sys.error);
    xfp_session_close(&t->s);
    xfp_free(t->s.profile);
    free(t);
    return NULL;
}

struct xfp_profile *xfp_transfers_close(struct xfp_transfers *t)
{
    struct xfp_profile *profile = t->s.profile;

    xfp_release_signals();
    xfp_session_close(&t->s);
    free(t);
    return profile;
}

bool xfp_transfers_stopped(const struct xfp_transfers *t)
{
    return xfp_interrupted();
}

const struct xfp_profile *xfp_transfers_machine(const struct xfp_transfers *t)
{
    return t->s.profile;
}

/* ---- one copy ------------------------------------------------------------------------------- */

static struct xfp_device *device_of(struct xfp_session *s, const struct xfp_place *place)
{
    bool there = place->device >= 0 && (size_t)place->device < s->sys.device_count;

    return there ? &s->sys.devices[place->device] : NULL;
}

static void set_cache(struct xfp_session *s, enum xfp_cache cache)
{
    s->sys.warm = cache == XFP_WARM;
    if (s->sys.cu->simulated_warm)
        s->sys.cu->simulated_warm(s->sys.warm);
}

/* Between buffers that are made for it. kind: a copy's properties, without its ends. */
static int measure_between(struct xfp_session *s, const struct xfp_transfer_spec *spec,
                           const struct xfp_copy *kind, struct xfp_device *from,
                           struct xfp_device *to, struct xfp_point *point)
{
    struct xfp_buffer src = {0}, dst = {0};
    struct xfp_copy copy = *kind;
    bool blocking = spec->blocking && (spec->src.device < 0 || spec->dst.device < 0);
    int bad = xfp_buffer_make(&s->sys, from, spec->src, spec->bytes, &src);

    if (!bad)
        bad = xfp_buffer_make(&s->sys, to, spec->dst, spec->bytes, &dst);
    if (!bad)
        bad = xfp_buffer_fill(&s->sys, &src, spec->bytes);
    copy.src = &src;
    copy.dst = &dst;
    if (!bad)
        bad = xfp_measure_copy(s, &copy, blocking, spec->slice_ns, point);
    xfp_buffer_free(&s->sys, &src);
    xfp_buffer_free(&s->sys, &dst);
    xfp_unbind(&s->sys);
    return bad;
}

static int measure_rows(struct xfp_session *s, const struct xfp_transfer_spec *spec,
                        struct xfp_device *d, struct xfp_point *point)
{
    struct xfp_pitched_copy rows = {.device = d,
                                    .to_device = spec->direction == XFT_DIR_H2D,
                                    .total = spec->bytes,
                                    .row = spec->row_bytes};
    struct xfp_place host = rows.to_device ? spec->src : spec->dst;
    struct xfp_place device = rows.to_device ? spec->dst : spec->src;
    struct xfp_stats stats;
    int bad;

    if (!s->sys.cu->cuMemcpy2DAsync)
        return xfp_fail(&s->sys, "this driver has no copies of rows");
    bad = xfp_buffer_make(&s->sys, d, device, rows.total, &rows.there);
    if (!bad)
        bad = xfp_buffer_make(&s->sys, d, host, xfp_pitched_host_bytes(&rows), &rows.host);
    if (!bad)
        bad = xfp_measure_pitched(s, &rows, spec->slice_ns, &stats);
    if (!bad)
        xfp_set_point(point, &stats);
    xfp_buffer_free(&s->sys, &rows.host);
    xfp_buffer_free(&s->sys, &rows.there);
    xfp_unbind(&s->sys);
    return bad;
}

static int measure_host(struct xfp_session *s, const struct xfp_transfer_spec *spec,
                        struct xfp_point *point)
{
    bool up = spec->direction == XFT_DIR_H2D;
    struct xfp_device *d = device_of(s, up ? &spec->dst : &spec->src);
    enum xft_memory memory = up ? spec->src.memory : spec->dst.memory;
    struct xfp_copy copy = {.device = d, .gated = memory != XFT_MEM_PAGEABLE};

    if (!d)
        return xfp_fail(&s->sys, "no such GPU here");
    if (xfp_device_open(&s->sys, d))
        return -1;
    return spec->row_bytes ? measure_rows(s, spec, d, point)
                           : measure_between(s, spec, &copy, d, d, point);
}

/* Within a device, or between two; as bench_device_copy.c does. */
static int measure_devices(struct xfp_session *s, const struct xfp_transfer_spec *spec,
                           struct xfp_point *point)
{
    struct xfp_device *from = device_of(s, &spec->src), *to = device_of(s, &spec->dst);
    struct xfp_copy copy = {.device = from, .gated = true};
    int bad;

    if (!from || !to)
        return xfp_fail(&s->sys, "no such GPU here");
    if (xfp_device_open(&s->sys, to) || xfp_device_open(&s->sys, from))
        return -1;
    if (from == to)
        return measure_between(s, spec, &copy, from, to, point);
    copy.peer = true;
    copy.gated = spec->peer_access;
    bad = xfp_set_peer_access(s, from, to, spec->peer_access);
    if (!bad)
        bad = measure_between(s, spec, &copy, from, to, point);
    xfp_set_peer_access(s, from, to, false);
    return bad;
}

static int refuse(struct xfp_session *s, const struct xfp_transfer_spec *spec)
{
    bool host = spec->direction == XFT_DIR_H2D || spec->direction == XFT_DIR_D2H;

    if (!spec->bytes || (spec->row_bytes && (!host || spec->bytes % spec->row_bytes)))
        return xfp_fail(&s->sys, "not a copy");
    if (spec->bytes > s->sys.most_bytes)
        return xfp_fail(&s->sys, "not enough memory");
    return 0;
}

static int measure(struct xfp_session *s, const struct xfp_transfer_spec *spec,
                   struct xfp_point *point)
{
    if (refuse(s, spec))
        return -1;
    switch (spec->direction) {
    case XFT_DIR_H2D:
    case XFT_DIR_D2H:
        return measure_host(s, spec, point);
    case XFT_DIR_D2D:
    case XFT_DIR_P2P:
        return measure_devices(s, spec, point);
    default:
        return xfp_fail(&s->sys, "not a copy between host and device, or of devices");
    }
}

static void measure_one(struct xfp_session *s, const struct xfp_transfer_spec *spec,
                        struct xfp_transfer_point *out)
{
    int bad;

    *out = (struct xfp_transfer_point){.point.bytes = spec->bytes};
    if (xfp_interrupted())
        return;
    s->sys.error[0] = '\0';
    set_cache(s, spec->cache);
    bad = measure(s, spec, &out->point);
    set_cache(s, XFP_COLD);
    if (!bad && out->point.n && !xfp_interrupted())
        out->basis = XFP_MEASURED;
    else if (!xfp_interrupted())
        snprintf(out->why, sizeof(out->why), "%s",
                 bad ? s->sys.error : "too short for the GPU's clock");
}

size_t xfp_measure_transfers(struct xfp_transfers *t, const struct xfp_transfer_spec *specs,
                             size_t n, struct xfp_transfer_point *points)
{
    size_t measured = 0;

    for (size_t i = 0; i < n; i++) {
        measure_one(&t->s, &specs[i], &points[i]);
        measured += points[i].basis == XFP_MEASURED;
    }
    return measured;
}
