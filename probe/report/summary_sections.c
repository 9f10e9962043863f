#include "probe/report/summary.h"

#include <math.h>

#include "probe/progress.h"
#include "probe/report/network.h"
#include "common/text.h"

static double error_of(const struct xfp_fit *fit, const struct xfp_stream_point *p)
{
    return xfp_streams_ns(fit, p->bytes, p->streams) / p->median_ns - 1;
}

static void print_streams(const struct xfp_streams *s, FILE *out)
{
    const struct xfp_stream_point *worst = s->points;
    uint64_t least = UINT64_MAX, most = 0;
    uint32_t streams = 1;
    char size[3][32];

    for (size_t i = 0; i < s->point_count; i++) {
        const struct xfp_stream_point *p = &s->points[i];

        if (fabs(error_of(&s->fit, p)) > fabs(error_of(&s->fit, worst)))
            worst = p;
        least = p->bytes < least ? p->bytes : least;
        most = p->bytes > most ? p->bytes : most;
        streams = p->streams > streams ? p->streams : streams;
    }
    if (!s->point_count)
        return;
    xfc_print(out,
              "%s: transfer model in error by at most %.2f %% from %s to %s on 1 to %u streams "
              "(%s on %u: %+.2f %%)\n",
              s->name, s->fit.max_error * 100, xfp_size_text(least, size[0], sizeof(size[0])),
              xfp_size_text(most, size[1], sizeof(size[1])), streams,
              xfp_size_text(worst->bytes, size[2], sizeof(size[2])), worst->streams,
              error_of(&s->fit, worst) * 100);
}

static void print_overlap(const struct xfp_overlap *o, FILE *out)
{
    xfc_print(out, "%s: copies run in %d direction(s) at once, %s implicit synchronisation",
              o->name, o->copy_engines, o->implicit_sync ? "with" : "no");
    if (o->category)
        xfc_print(out, " (category %d)\n", o->category);
    else
        xfc_print(out, " (none of the three categories)\n");
}

static void print_staged(const struct xfp_staged *s, FILE *out)
{
    const struct xfp_staged_point *p;
    char size[2][32];

    if (!s->point_count)
        return;
    p = &s->points[s->point_count - 1];
    xfc_print(out,
              "%s: %s through the host at %.1f GB/s with %u buffers of %s (3B %.1f, 2B %.1f), the "
              "driver's copy %.1f GB/s: %.2f times as fast; ",
              s->name, xfp_size_text(p->bytes, size[0], sizeof(size[0])),
              xfp_gbps(p->bytes, p->adaptive_ns), p->buffers,
              xfp_size_text(p->buffer_bytes, size[1], sizeof(size[1])),
              xfp_gbps(p->bytes, p->pipelined_ns), xfp_gbps(p->bytes, p->unpipelined_ns),
              xfp_gbps(p->bytes, p->peer_ns), p->peer_ns / p->adaptive_ns);
    if (s->hybrid_bytes)
        xfc_print(out, "from %s on\n", xfp_size_text(s->hybrid_bytes, size[0], sizeof(size[0])));
    else
        xfc_print(out, "never for good\n");
}

static void print_concurrent(const struct xfp_concurrent *c, FILE *out)
{
    const struct xfp_point *p;
    char size[32];

    if (!c->point_count)
        return;
    p = &c->points[c->point_count - 1];
    xfc_print(out, "%s: %zu transfers of %s at once, together %.1f GB/s\n", c->name, c->flow_count,
              xfp_size_text(p->bytes, size, sizeof(size)),
              xfp_gbps(c->flow_count * p->bytes, p->median_ns));
}

int xfp_print_sections(const struct xfp_profile *p, FILE *out)
{
    if (p->streams_count || p->overlap_count || p->staged_count || p->concurrent_count)
        fputc('\n', out);
    for (size_t i = 0; i < p->streams_count; i++)
        print_streams(&p->streams[i], out);
    for (size_t i = 0; i < p->overlap_count; i++)
        print_overlap(&p->overlap[i], out);
    for (size_t i = 0; i < p->staged_count; i++)
        print_staged(&p->staged[i], out);
    for (size_t i = 0; i < p->concurrent_count; i++)
        print_concurrent(&p->concurrent[i], out);
    xfp_print_network_words(p, out);
    return ferror(out) ? -1 : 0;
}
