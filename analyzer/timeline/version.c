#include "analyzer/timeline/version.h"

void xfa_version_init(struct xfa_version *version, size_t budget)
{
    *version = (struct xfa_version){.draws = true};
    xfa_tracks_init(&version->tracks, budget);
}

void xfa_version_free(struct xfa_version *version)
{
    xfa_tracks_free(&version->tracks);
    xfa_order_free(&version->order);
}

void xfa_version_begin(struct xfa_version *version, uint32_t process)
{
    version->times.tracks = version->draws ? &version->tracks : NULL;
    version->process_latest = 0;
    xfa_shares_begin(&version->times, process);
}

static void take(struct xfa_version *version, bool all)
{
    struct xfa_span span;
    while (xfa_order_take(&version->order, all, &span)) {
        struct xfa_slice slice = {span.start, span.end, 1, span.bytes, span.end - span.start,
                                  span.name};
        if (span.drawn)
            xfa_tracks_add(&version->tracks, &span.track, &slice);
        xfa_shares_add(&version->times, &span);
    }
}

void xfa_version_add(struct xfa_version *version, const struct xfa_span *span)
{
    if (span->end < span->start)
        return;
    if (span->end > version->process_latest)
        version->process_latest = span->end;
    if (span->end > version->latest)
        version->latest = span->end;
    xfa_order_put(&version->order, span);
    take(version, false);
}

void xfa_version_mark(struct xfa_version *version, uint32_t phase, bool closes, uint64_t at)
{
    struct xfa_span span = {.activity = closes ? XFA_PHASE_CLOSES : XFA_PHASE_OPENS,
                            .gpu = -1,
                            .name = phase,
                            .start = at,
                            .end = at};
    xfa_order_put(&version->order, &span);
    take(version, false);
}

void xfa_version_end(struct xfa_version *version, uint64_t end_ns)
{
    take(version, true);
    xfa_shares_end(&version->times, end_ns ? end_ns : version->process_latest);
}

void xfa_version_finish(struct xfa_version *version, double wall_ns)
{
    xfa_tracks_finish(&version->tracks);
    version->wall_ns = wall_ns;
    xfa_shares_of_run(&version->times, wall_ns, version->shares);
}
