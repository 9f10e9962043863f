/*
 * Copies of two and three dimensions by the length of a row: the same bytes, in ever longer rows
 * (measure/pitched.h).
 */
#include "probe/bench/bench.h"
#include "probe/measure/budget.h"
#include "probe/measure/results.h"
#include "probe/progress.h"
#include "probe/measure/pitched.h"

#include <stdio.h>

enum { LEAST_ROW = 64, MOST_ROW = 1 << 20 };
#define TOTAL ((size_t)4 << 20)

static int run(struct xfp_session *s, const struct xfp_bench *bench, struct xfp_path *path)
{
    bool to_device = bench->direction == XFT_DIR_H2D;
    struct xfp_place host = to_device ? bench->src : bench->dst;
    struct xfp_place device = to_device ? bench->dst : bench->src;
    struct xfp_pitched_copy p = {.device = &s->sys.devices[device.device],
                                 .to_device = to_device,
                                 .layers = bench->variant == 3,
                                 .total = TOTAL};
    struct xfp_rows rows = {0};
    int shift = s->options->quick ? 4 : 2;
    int bad = xfp_device_open(&s->sys, p.device);

    if (!bad)
        bad = xfp_buffer_make(&s->sys, p.device, device, TOTAL, &p.there);
    if (!bad)
        bad = xfp_buffer_make(&s->sys, p.device, host, xfp_pitched_host_bytes(&p), &p.host);
    for (p.row = LEAST_ROW; p.row <= MOST_ROW && !bad && !xfp_interrupted(); p.row <<= shift) {
        struct xfp_stats stats;
        size_t left = 0;

        for (size_t row = p.row; row <= MOST_ROW; row <<= shift)
            left++;
        xfp_progress(s, path->name, p.row);
        bad = xfp_measure_pitched(s, &p, xfp_share_ns(s, left), &stats);
        if (!bad)
            xfp_add_row(&rows, p.row, &stats);
    }
    xfp_buffer_free(&s->sys, &p.host);
    xfp_buffer_free(&s->sys, &p.there);
    xfp_unbind(&s->sys);
    return xfp_add_table(s, &rows, bench->family->by, TOTAL, "%s", path->name) || bad ? -1 : 0;
}

static void add(struct xfp_session *s, const struct xfp_family *family, struct xfp_bench_list *list,
                int dimensions, int ordinal, int numa)
{
    struct xfp_place host = {XFT_MEM_PINNED, -1, numa}, device = {XFT_MEM_DEVICE, ordinal, -1};
    char node[XFP_NODE_TEXT];

    for (int back = 0; back < 2; back++) {
        struct xfp_bench bench = {.family = family,
                                  .direction = back ? XFT_DIR_D2H : XFT_DIR_H2D,
                                  .variant = dimensions,
                                  .src = back ? device : host,
                                  .dst = back ? host : device};

        snprintf(bench.name, sizeof(bench.name), "copy-%dd/pinned/%s/%sgpu%d", dimensions,
                 back ? "d2h" : "h2d", xfp_node_text(s, numa, node), ordinal);
        xfp_bench_add(list, &bench);
    }
}

static void enumerate(struct xfp_session *s, const struct xfp_family *family,
                      struct xfp_bench_list *list)
{
    for (size_t d = 0; d < s->sys.device_count; d++)
        for (int n = 0; n < s->sys.numa_count; n++) {
            if (s->sys.cu->cuMemcpy2DAsync)
                add(s, family, list, 2, s->sys.devices[d].ordinal, s->sys.numa_nodes[n]);
            if (s->sys.cu->cuMemcpy3DAsync)
                add(s, family, list, 3, s->sys.devices[d].ordinal, s->sys.numa_nodes[n]);
        }
}

const struct xfp_family xfp_family_shape = {
    .name = "shape",
    .summary = "2D and 3D copies of 4 MiB, by the length of a row",
    .names =
        {
            {"copy-2d/pinned/{h2d,d2h}/[nodeN-]gpuN",
             "a copy of `bytes` in rows that on the host are twice their length apart"},
            {"copy-3d/pinned/{h2d,d2h}/[nodeN-]gpuN",
             "the same in layers of 16 rows that on the host are twice their height apart"},
        },
    .part = XFP_PART_TABLES,
    .by = XFP_BY_ROW_BYTES,
    .bytes = TOTAL,
    .from_bytes = TOTAL,
    .method = XFP_COPY,
    .budget_s = 0.5,
    .quick_budget_s = 0.06,
    .enumerate = enumerate,
    .run = run,
};
